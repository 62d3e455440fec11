// SecAccessControl: a protection class together with conditions for opening the secret, the flags
// for the conditions, and the evaluation of an access control independently of an item.
//   (1) The initializer performs all checks, so every instance has passed them.
//   (2) An instance is immutable, and two instances with the same protection class and flags are
//       equal.
//   (3) The evaluation by an `LAContext` is here and not with `LAContext`, because access controls
//       are declared in this module. A file that uses access controls and `LAContext` imports two
//       modules, as on Apple platforms.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
public import KeychainAuthentication
internal import KeychainCore

/// The protection class of an item and the conditions for opening its secret.
///
/// Create one with ``SecAccessControlCreateWithFlags(_:_:_:_:)`` and pass it as
/// ``kSecAttrAccessControl``. It corresponds to `SecAccessControlRef`; equality is by content.
public final class SecAccessControl: NSObject, Sendable {
    /// The protection class: the value of a `kSecAttrAccessible…` constant.
    package let protection: String

    /// The conditions.
    package let flags: SecAccessControlCreateFlags

    /// Creates an access control after checking that its conditions can be combined.
    ///
    /// - Parameters:
    ///   - protection: The value of a `kSecAttrAccessible…` constant.
    ///   - flags: The conditions. There may be none.
    /// - Throws: ``Rejection`` for the first rule that is violated.
    package init(
        protection: String, flags: SecAccessControlCreateFlags
    ) throws(Rejection) {
        guard Self.protections.contains(protection) else { throw .unknownProtection }
        // Apple's function ignores unknown flags. They are rejected here, because an item stored
        // without them would have less protection than its owner requested.
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

    /// Whether a condition must be satisfied before the secret can be opened.
    package var hasConstraints: Bool {
        !flags.isDisjoint(with: .constraints)
    }

    /// Whether only the protection class determines access to the secret: the opposite of
    /// ``hasConstraints``. It corresponds to Apple's private function `SecAccessControlIsBound`.
    package var isBound: Bool {
        !hasConstraints
    }

    /// Whether the other object is an access control with the same protection class and flags.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecAccessControl else { return false }
        return protection == other.protection && flags == other.flags
    }

    /// A hash of the contents.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(protection)
        hasher.combine(flags)
        return hasher.finalize()
    }

    /// The protection class and the flags.
    public override var description: String {
        "<SecAccessControl: \(protection), flags 0x\(String(flags.rawValue, radix: 16))>"
    }

    private static let protections = Set(ProtectionClass.allCases.map(\.code))
}

extension SecAccessControl {
    /// The rule that a protection class or a set of conditions violates.
    package enum Rejection: String, Error {
        case unknownProtection = "The protection class of an access control is unknown."
        case unknownFlag = "An access control flag is unknown."
        case orTogetherWithAnd = "The flags “or” and “and” can't be combined."
        case bothKindsOfBiometry =
            "The flags biometryAny and biometryCurrentSet can't be combined."
        case userPresenceNotAlone =
            "The flag userPresence combines only with applicationPassword and privateKeyUsage."
    }
}

extension SecAccessControl: CoreFoundationTyped {
    package static let coreFoundationType = CoreFoundationType.accessControl
}

/// Creates an access control.
///
/// - Parameters:
///   - allocator: Ignored.
///   - protection: The protection class, one of the `kSecAttrAccessible…` constants.
///   - flags: The conditions. If there are none, only the protection class determines access.
///   - error: Receives an error with ``errSecParam`` if the result is `nil`; the caller owns it.
///     Otherwise `error` is unchanged.
/// - Returns: The access control, or `nil` if the protection class or a flag is unknown, or if the
///   flags can't be combined: ``SecAccessControlCreateFlags/or`` with
///   ``SecAccessControlCreateFlags/and``, the two kinds of biometry with each other, or
///   ``SecAccessControlCreateFlags/userPresence`` with a flag other than
///   ``SecAccessControlCreateFlags/applicationPassword`` and
///   ``SecAccessControlCreateFlags/privateKeyUsage``.
///
/// It corresponds to Apple's function of the same name, which ignores unknown flags.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: CFTypeRef, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    do throws(SecAccessControl.Rejection) {
        guard let protection = protection as? NSString else { throw .unknownProtection }
        return try SecAccessControl(protection: protection as String, flags: flags)
    } catch let rejection {
        // SAFETY: the caller guarantees a pointer that is valid or `nil`, as Apple's function
        // requires.
        unsafe CFError(status: errSecParam, reason: rejection.rawValue).store(in: error)
        return nil
    }
}

/// Returns the type identifier of access controls, for comparison with ``CFGetTypeID(_:)``.
public func SecAccessControlGetTypeID() -> CFTypeID {
    CoreFoundationType.accessControl.rawValue
}

// MARK: - Flags

/// Conditions for opening an item's secret, and how they combine.
public struct SecAccessControlCreateFlags: OptionSet, Hashable, Sendable {
    /// The bits of the conditions, with Apple's values.
    public let rawValue: CFOptionFlags

    /// Creates conditions from their bits.
    public init(rawValue: CFOptionFlags) {
        self.rawValue = rawValue
    }

    /// The user proves presence, by biometry or passcode.
    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)

    /// Biometry, with any enrollment.
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)

    /// The older name of ``biometryAny``.
    public static let touchIDAny = biometryAny

    /// Biometry, with the enrollment that existed when the item was created. After a change of the
    /// enrollment, a recognized user gets `errSecDataNotAvailable` instead of the data, unless the
    /// flags contain ``or`` and ``devicePasscode``.
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)

    /// The older name of ``biometryCurrentSet``.
    public static let touchIDCurrentSet = biometryCurrentSet

    /// The passcode.
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)

    /// A paired device nearby. No such device is supported, so this condition is never satisfied.
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)

    /// The older name of ``companion``.
    public static let watch = companion

    /// One of the conditions is sufficient, except that ``applicationPassword``, if set, is always
    /// required.
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)

    /// All conditions are required. This is the default.
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)

    /// The conditions apply to a private key. A hardware key with an access control can't be used
    /// without this flag, and the conditions apply to every use of it. A software key is read
    /// before it is used, so its conditions apply to reading it, with or without this flag.
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)

    /// An application-specific password, which is used in encrypting the secret. No other condition
    /// can replace it.
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)

    /// All flags that are conditions.
    static let constraints: SecAccessControlCreateFlags = [
        .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
        .applicationPassword,
    ]

    /// All known flags.
    static let known: SecAccessControlCreateFlags = [constraints, .or, .and, .privateKeyUsage]
}

// MARK: - Evaluation

extension LAContext {
    /// Performs the authentication that an access control requires, so that later calls with this
    /// context don't need to prompt the user.
    ///
    /// To use an item or key, the user proves presence as the access control requires, and is
    /// prompted for an application password if one is required and the context has none. Whether
    /// the application password is correct is known only when the item is used.
    ///
    /// To create an item or key, the user's presence isn't required, but a passcode must be set if
    /// the access control accepts the passcode as a proof. If the access control requires an
    /// application password that the context doesn't have, the user is prompted for it twice.
    ///
    /// - Parameters:
    ///   - accessControl: The access control.
    ///   - operation: The operation to be performed.
    ///   - localizedReason: The reason that is shown to the user. If it is empty, only the
    ///     program's name is shown.
    ///   - reply: Called once, on any thread, with true, or with false and an `LAError`.
    ///
    /// It corresponds to Apple's method of the same name.
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

    /// Performs the authentication that an access control requires; see
    /// ``evaluateAccessControl(_:operation:localizedReason:reply:)``.
    ///
    /// - Parameters:
    ///   - accessControl: The access control.
    ///   - operation: The operation to be performed.
    ///   - localizedReason: The reason that is shown to the user.
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
