// SecTask: what this program is entitled to, as its entitlements file says, and code signatures, as
// declarations.
//   (1) Programs carry no code signatures here, so nothing is ever called valid.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore
internal import KeychainEngine
internal import KeychainRuntime

/// A process, for asking about its entitlements. It never changes: the entitlements are those of the
/// time when it was made.
///
/// Make one with ``SecTaskCreateFromSelf(_:)``. It corresponds to `SecTaskRef`.
public final class SecTask: NSObject, Sendable {
    /// The entitlements, or why they can't be read.
    fileprivate let entitlements: Result<Entitlements, KeychainFailure>

    init(_ entitlements: Result<Entitlements, KeychainFailure>) {
        self.entitlements = entitlements
    }
}

extension SecTask: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.task
}

/// Returns the identifier of tasks, for comparison with ``CFGetTypeID(_:)``.
public func SecTaskGetTypeID() -> CFTypeID { CoreFoundationType.task.rawValue }

/// Makes a task for this process.
///
/// - Parameter allocator: Ignored.
/// - Returns: The task, never nil. Where the entitlements can't be read,
///   ``SecTaskCopyValueForEntitlement(_:_:_:)`` says why.
///
/// It corresponds to the function of the same name. At Apple the entitlements are part of the code
/// signature; here they are the property list beside the executable, or the one that the variable
/// `KEYCHAIN_ENTITLEMENTS` names. Where a keychain service is at work, they are what it says.
public func SecTaskCreateFromSelf(_ allocator: CFAllocator?) -> SecTask? {
    SecTask(Result { () throws(KeychainFailure) in try KeychainContext.entitlements() })
}

/// Returns the value of an entitlement.
///
/// - Parameters:
///   - task: The process.
///   - entitlement: The key in the property list, such as `keychain-access-groups`.
///   - error: Receives an error with ``errSecMissingEntitlement`` where there is a list that can't be
///     read, or ``errSecNotAvailable`` where the keychain service didn't say; the caller owns it. It
///     is left alone otherwise.
/// - Returns: The value, with `$(AppIdentifierPrefix)` and `$(TeamIdentifierPrefix)` expanded. Nil if
///   the list doesn't have the key, if there is no list, or with an error.
///
/// It corresponds to the function of the same name.
public func SecTaskCopyValueForEntitlement(
    _ task: SecTask, _ entitlement: CFString,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFTypeRef? {
    switch task.entitlements {
    case .success(let entitlements):
        return entitlements.values[entitlement as String]?.object
    case .failure(let failure):
        // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
        unsafe CFError(status: failure.status.rawValue, reason: failure.reason).store(in: error)
        return nil
    }
}

extension PropertyListValue {
    /// The value as Foundation's object.
    fileprivate var object: NSObject {
        switch self {
        case .text(let text): text as NSString
        case .boolean(let boolean): NSNumber(value: boolean)
        case .integer(let integer): NSNumber(value: integer)
        case .real(let real): NSNumber(value: real)
        case .date(let date): date as NSDate
        case .data(let data): data as NSData
        case .array(let values): values.map(\.object) as NSArray
        case .dictionary(let values): values.mapValues(\.object) as NSDictionary
        }
    }
}

// MARK: - Code signatures

/// A running program with a code signature. No value of this type exists.
public final class SecCode: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecCode: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.code
}

/// What a code signature has to say to count. No value of this type exists.
public final class SecRequirement: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

/// Options of functions on code signatures.
public struct SecCSFlags: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt32

    /// Creates options from their bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

/// Returns the identifier of running programs with a code signature, which no object has.
public func SecCodeGetTypeID() -> CFTypeID { CoreFoundationType.code.rawValue }

/// Not implemented: checks the code signature of a running program.
///
/// - Parameters:
///   - code: The program.
///   - flags: Options.
///   - requirement: What the signature has to say.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to the function of the same name.
@available(
    *, deprecated,
    message: "Programs carry no code signature. SecTaskCopyValueForEntitlement reads entitlements."
)
@discardableResult
public func SecCodeCheckValidity(
    _ code: SecCode, _ flags: SecCSFlags, _ requirement: SecRequirement?
) -> OSStatus {
    errSecUnimplemented
}

#endif
