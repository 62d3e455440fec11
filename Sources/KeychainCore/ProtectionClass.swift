// ProtectionClass: when an item can be read, as Apple's `kSecAttrAccessible…` constants say.

/// A protection class. The raw value is Apple's key class number; it stands in the clear in each row.
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

    /// What the items of the class are, in words for people: "readable when unlocked".
    package var words: String {
        let moment =
            switch self {
            case .whenUnlocked, .whenUnlockedThisDeviceOnly: "readable when unlocked"
            case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly:
                "readable after the first unlock"
            case .always, .alwaysThisDeviceOnly: "readable always"
            case .whenPasscodeSetThisDeviceOnly: "there while a passcode is set"
            }
        return isThisDeviceOnly ? moment + ", on this device only" : moment
    }

    package init?(code: String) {
        guard let match = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = match
    }

    /// When the class's keys are in memory.
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

    /// Which keys find an item of the class and vouch for its being there.
    package var tier: Tier { availability == .always ? .open : .guarded }

    /// Whether an item of the class stays on this device.
    package var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlocked, .afterFirstUnlock, .always: false
        default: true
        }
    }
}

/// Classes whose items are found, and counted, with the same keys.
package enum Tier: CaseIterable, Hashable, Sendable {
    /// Always available: the device key suffices.
    case open
    /// From the first unlock on, where a passcode is set.
    case guarded
}
