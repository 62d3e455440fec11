// ProtectionClass: when an item can be read, as in Apple's `kSecAttrAccessible…` constants.

/// A protection class. The raw value is Apple's number for the protection class. Each row stores
/// this number unencrypted.
package enum ProtectionClass: UInt8, CaseIterable, Hashable, Sendable {
    case whenUnlocked = 6
    case afterFirstUnlock = 7
    case always = 8
    case whenUnlockedThisDeviceOnly = 9
    case afterFirstUnlockThisDeviceOnly = 10
    case alwaysThisDeviceOnly = 11
    case whenPasscodeSetThisDeviceOnly = 12

    /// The value of `kSecAttrAccessible` for this class.
    package var code: String {
        switch self {
        case .whenUnlocked: "ak"
        case .afterFirstUnlock: "ck"
        case .always: "dk"
        case .whenUnlockedThisDeviceOnly: "aku"
        case .afterFirstUnlockThisDeviceOnly: "cku"
        case .alwaysThisDeviceOnly: "dku"
        case .whenPasscodeSetThisDeviceOnly: "akpu"
        }
    }

    /// A phrase for users that describes the items of the class, such as "readable when unlocked".
    package var words: String {
        let moment =
            switch self {
            case .whenUnlocked, .whenUnlockedThisDeviceOnly: "readable when unlocked"
            case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly:
                "readable after the first unlock"
            case .always, .alwaysThisDeviceOnly: "readable always"
            case .whenPasscodeSetThisDeviceOnly: "available while a passcode is set"
            }
        return isThisDeviceOnly ? moment + ", on this device only" : moment
    }

    package init?(code: String) {
        guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = match
    }

    /// When the keys of a class are in memory.
    package enum Availability: Hashable, Sendable {
        case whileUnlocked
        case afterFirstUnlock
        case always
    }

    package var availability: Availability {
        switch self {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly:
            .whileUnlocked
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: .afterFirstUnlock
        case .always, .alwaysThisDeviceOnly: .always
        }
    }

    /// The tier whose index key and integrity key are used for the items of the class.
    package var tier: Tier { availability == .always ? .open : .guarded }

    /// Whether the items of the class are *this device only*.
    package var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .always: false
        default: true
        }
    }
}

/// The classes that share an index key and an integrity key.
package enum Tier: CaseIterable, Hashable, Sendable {
    /// Always available. Only the device key is needed.
    case open
    /// If a passcode or another way to unlock the keychain is set, available from the first unlock
    /// until all keys are erased (`lock --all`); otherwise always.
    case guarded
}
