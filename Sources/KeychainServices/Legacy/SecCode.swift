// SecCode: code signatures, as declarations. Programs carry none here, so nothing is ever called
// valid.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation

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
