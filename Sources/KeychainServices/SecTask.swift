// SecTask: the entitlements of this program, from its entitlements file or the keychain service,
// and declarations for code signatures.
//   (1) Programs have no code signatures here, so no signature is ever reported as valid.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore
internal import KeychainEngine
internal import KeychainRuntime

/// This process, with its entitlements or the reason why they can't be read. A task is immutable:
/// the entitlements are those at the time of its creation or, with a keychain service, those that
/// the service reported when this process last connected to it.
///
/// Create one with ``SecTaskCreateFromSelf(_:)``. It corresponds to `SecTaskRef`.
public final class SecTask: NSObject, Sendable {
    /// The entitlements, or the reason why they can't be read.
    fileprivate let entitlements: Result<Entitlements, KeychainFailure>

    init(_ entitlements: Result<Entitlements, KeychainFailure>) {
        self.entitlements = entitlements
    }
}

extension SecTask: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.task
}

/// Returns the type identifier of tasks, for comparison with ``CFGetTypeID(_:)``.
public func SecTaskGetTypeID() -> CFTypeID { CoreFoundationType.task.rawValue }

/// Creates a task for this process.
///
/// - Parameter allocator: Ignored.
/// - Returns: The task, never `nil`. If the entitlements can't be read,
///   ``SecTaskCopyValueForEntitlement(_:_:_:)`` reports the error.
///
/// It corresponds to Apple's function of the same name. On Apple platforms the entitlements are
/// part of the code signature. Here they are a property list: the file that the environment
/// variable `KEYCHAIN_ENTITLEMENTS` names or, if it is not set, the file beside the executable
/// whose name is that of the executable with `.entitlements` appended. If a keychain service is in
/// use, the service determines the entitlements.
public func SecTaskCreateFromSelf(_ allocator: CFAllocator?) -> SecTask? {
    SecTask(Result { () throws(KeychainFailure) in try KeychainContext.entitlements() })
}

/// Returns the value of an entitlement.
///
/// - Parameters:
///   - task: The process.
///   - entitlement: The key in the property list, such as `keychain-access-groups`.
///   - error: Receives an error with ``errSecMissingEntitlement`` if the property list can't be
///     read, with ``errSecNotAvailable`` if the keychain service can't be used, with
///     ``errSecWrongSecVersion`` if the service uses an unknown version of the protocol, or with
///     ``errSecParam`` if the settings that select the keychain are not valid. The caller owns the
///     error. On success, the pointer's target is unchanged.
/// - Returns: The value, with `$(AppIdentifierPrefix)` and `$(TeamIdentifierPrefix)` expanded.
///   `nil` if the property list doesn't contain the key, if there is no property list, or after an
///   error.
///
/// It corresponds to Apple's function of the same name.
public func SecTaskCopyValueForEntitlement(
    _ task: SecTask, _ entitlement: CFString,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFTypeRef? {
    switch task.entitlements {
    case .success(let entitlements):
        return entitlements.values[entitlement as String]?.object
    case .failure(let failure):
        // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function
        // requires.
        unsafe CFError(status: failure.status.rawValue, reason: failure.reason).store(in: error)
        return nil
    }
}

extension PropertyListValue {
    /// The value as a Foundation object.
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

/// A running program with a code signature. This type has no values.
public final class SecCode: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

extension SecCode: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.code
}

/// A condition that a code signature must satisfy. This type has no values.
public final class SecRequirement: NSObject, Sendable {
    private init(_ impossible: Never) {}
}

/// Options for functions on code signatures.
public struct SecCSFlags: OptionSet, Sendable {
    /// The bits of the options.
    public let rawValue: UInt32

    /// Creates options from their bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

/// Returns the type identifier of ``SecCode``. No object has this type.
public func SecCodeGetTypeID() -> CFTypeID { CoreFoundationType.code.rawValue }

/// Not implemented: checks the code signature of a running program.
///
/// - Parameters:
///   - code: The program.
///   - flags: The options.
///   - requirement: The condition that the signature must satisfy.
/// - Returns: ``errSecUnimplemented``.
///
/// It corresponds to Apple's function of the same name.
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
