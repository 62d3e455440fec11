// SecAccessControl: a protection class together with conditions for opening the secret.
//   (1) A value that exists passed every check: it is checked once, in its initializer.
//   (2) It never changes, and two with the same protection and flags are equal.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore

/// The protection class of an item and the conditions for opening its secret.
///
/// Make one with ``SecAccessControlCreateWithFlags(_:_:_:_:)`` and pass it as
/// ``kSecAttrAccessControl``. It corresponds to `SecAccessControlRef`; equality is by content.
public final class SecAccessControl: NSObject, Sendable {
    /// The protection class: the value of a `kSecAttrAccessible…` constant.
    package let protection: String

    /// The conditions.
    package let flags: SecAccessControlCreateFlags

    /// Checks the conditions against each other and makes the access control.
    ///
    /// - Parameters:
    ///   - protection: The value of a `kSecAttrAccessible…` constant.
    ///   - flags: The conditions; none is valid.
    /// - Throws: ``Rejection`` with the first rule that is broken.
    package init(
        protection: String, flags: SecAccessControlCreateFlags
    ) throws(Rejection) {
        guard Self.protections.contains(protection) else { throw .unknownProtection }
        // A departure from Apple, which ignores flags it does not know: an item would be stored
        // with less protection than its owner asked for.
        guard flags.isSubset(of: .known) else { throw .unknownFlag }
        guard !flags.isSuperset(of: [.or, .and]) else { throw .orTogetherWithAnd }
        guard !flags.isSuperset(of: [.biometryAny, .biometryCurrentSet]) else {
            throw .bothKindsOfBiometry
        }
        let besidesPresence: SecAccessControlCreateFlags = [.applicationPassword, .privateKeyUsage]
        if flags.contains(.userPresence),
            !flags.subtracting(.userPresence).isSubset(of: besidesPresence)
        {
            throw .userPresenceNotAlone
        }
        self.protection = protection
        self.flags = flags
    }

    /// Whether a condition must be satisfied before the secret is opened.
    package var hasConstraints: Bool {
        !flags.isDisjoint(with: .constraints)
    }

    /// Whether the protection class alone decides about the secret: the contrary of
    /// ``hasConstraints``. Apple's private `SecAccessControlIsBound`.
    package var isBound: Bool {
        !hasConstraints
    }

    /// Equality by content.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecAccessControl else { return false }
        return protection == other.protection && flags == other.flags
    }

    /// A hash of the content.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(protection)
        hasher.combine(flags)
        return hasher.finalize()
    }

    /// The protection class and the bits of the conditions.
    public override var description: String {
        "<SecAccessControl: \(protection), flags 0x\(String(flags.rawValue, radix: 16))>"
    }

    private static let protections = Set(ProtectionClass.allCases.map(\.code))
}

extension SecAccessControl {
    /// The rule that a protection class or a set of conditions breaks.
    package enum Rejection: String, Error {
        case unknownProtection = "The protection class of an access control is unknown."
        case unknownFlag = "An access control flag is unknown."
        case orTogetherWithAnd = "The flags or and and exclude each other."
        case bothKindsOfBiometry =
            "The flags biometryAny and biometryCurrentSet exclude each other."
        case userPresenceNotAlone =
            "The flag userPresence goes with applicationPassword and privateKeyUsage only."
    }
}

extension SecAccessControl: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.accessControl
}

/// Makes an access control.
///
/// - Parameters:
///   - allocator: Ignored.
///   - protection: The protection class, one of the `kSecAttrAccessible…` constants.
///   - flags: The conditions. None is valid: the protection class alone then decides.
///   - error: Receives an error with ``errSecParam`` if the result is nil; the caller owns it. It is
///     left alone otherwise.
/// - Returns: The access control, or nil if the protection class or a flag is unknown, if
///   ``SecAccessControlCreateFlags/or`` and ``SecAccessControlCreateFlags/and`` come together, if
///   both kinds of biometry do, or if ``SecAccessControlCreateFlags/userPresence`` stands with
///   another condition than an application password.
///
/// It corresponds to the function of the same name, which ignores unknown flags.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    do throws(SecAccessControl.Rejection) {
        guard let protection = protection as? NSString else { throw .unknownProtection }
        return try SecAccessControl(protection: protection as String, flags: flags)
    } catch let rejection {
        // SAFETY: the pointer is the caller's, valid or nil as Apple's function asks for.
        unsafe CFError(status: errSecParam, reason: rejection.rawValue).store(in: error)
        return nil
    }
}

/// Returns the identifier of access controls, for comparison with ``CFGetTypeID(_:)``.
public func SecAccessControlGetTypeID() -> CFTypeID {
    CoreFoundationType.accessControl.rawValue
}

#endif
