// SecAccessControl: a protection class together with conditions for opening the secret, the flags
// that name the conditions, and evaluating an access control apart from any item.
//   (1) A value that exists passed every check: it is checked once, in its initializer.
//   (2) It never changes, and two with the same protection and flags are equal.
//   (3) The evaluation by an `LAContext` stands here and not with the class because access controls
//       are this module's: files that name both import both modules, as on Apple's systems.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
public import KeychainAuthentication
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

// MARK: - Flags

/// Conditions for opening an item's secret, and how they combine.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits of the conditions, as Apple numbers them.
    public let rawValue: CFOptionFlags

    /// Creates conditions from their bits.
    public init(rawValue: CFOptionFlags) {
        self.rawValue = rawValue
    }

    /// The user proves to be present, by biometry or passcode.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)

    /// Biometry, whatever is enrolled.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)

    /// ``biometryAny`` under its older name.
    public static let touchIDAny = biometryAny

    /// Biometry as enrolled when the item was made. After a change of the enrollment, the data give
    /// `errSecDataNotAvailable` to a person who is recognized.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)

    /// ``biometryCurrentSet`` under its older name.
    public static let touchIDCurrentSet = biometryCurrentSet

    /// The passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)

    /// A paired device nearby.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)

    /// ``companion`` under its older name.
    public static let watch = companion

    /// One of the conditions is enough; ``applicationPassword`` is needed beside it all the same.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)

    /// All conditions are needed. This is the default.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)

    /// The conditions are for a private key. At Apple they guard each use of a key in hardware; a
    /// key in software is its bytes, so here they guard getting it, as without this flag.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)

    /// A password of the application's own, which takes part in the encryption: nothing can stand
    /// in for it.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    /// Every condition that must be satisfied.
    static let constraints: SecAccessControlCreateFlags = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        .applicationPassword,
    ]

    /// Every flag that has a meaning.
    static let known: SecAccessControlCreateFlags = [constraints, .or, .and, .privateKeyUsage]
}

// MARK: - Evaluating

extension LAContext {
    /// Gets what an access control asks for, so that later calls with this context need not ask.
    ///
    /// To use an item or key, a person proves to be present as the access control says, and an
    /// application password is asked for that the context wasn't given; whether it is the right one
    /// shows with the item. To create one, no person has to be present: an application password is
    /// asked for, twice, and the passcode must exist that would be asked for later.
    ///
    /// - Parameters:
    ///   - accessControl: The access control.
    ///   - operation: What is about to be done.
    ///   - localizedReason: Why, for the person. Empty: only the program's name is told.
    ///   - reply: Called once, on any thread, with true, or with false and an `LAError`.
    ///
    /// It corresponds to the method of the same name.
    @preconcurrency
    public func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String, reply: @escaping @Sendable (Bool, (any Error)?) -> Void
    ) {
        let requirement = AccessRequirement(
            AccessConstraints(rawValue: UInt64(accessControl.flags.rawValue)))
        inBackground(reply) { context throws(AuthenticationFailure) in
            switch operation {
            case .createItem, .createKey:
                try context.evaluateCreation(requirement, reason: localizedReason)
            case .useItem, .useKeySign, .useKeyDecrypt, .useKeyKeyExchange:
                try context.evaluate(requirement, reason: localizedReason)
            }
        }
    }

    /// Gets what an access control asks for; see
    /// ``evaluateAccessControl(_:operation:localizedReason:reply:)``.
    ///
    /// - Parameters:
    ///   - accessControl: The access control.
    ///   - operation: What is about to be done.
    ///   - localizedReason: Why, for the person.
    /// - Returns: True.
    /// - Throws: `LAError`.
    @discardableResult
    public func evaluateAccessControl(
        _ accessControl: SecAccessControl, operation: LAAccessControlOperation,
        localizedReason: String
    ) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            evaluateAccessControl(
                accessControl, operation: operation, localizedReason: localizedReason
            ) { isSuccess, error in
                if let error {
                    continuation.resume(throwing: error)
                } else {
                    continuation.resume(returning: isSuccess)
                }
            }
        }
    }
}

#endif
