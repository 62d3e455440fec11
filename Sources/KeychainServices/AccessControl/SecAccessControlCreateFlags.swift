// SecAccessControlCreateFlags: the conditions under which the secret of an item is opened.

#if !canImport(Darwin)

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

#endif
