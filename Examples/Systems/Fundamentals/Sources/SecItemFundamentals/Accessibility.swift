// Accessibility: when an item's secret can be read, by Apple's constants.

import Foundation
import Security

/// When an item can be read. `kSecAttrAccessibleAlways` is missing: Apple has deprecated it.
public enum Accessibility: CaseIterable, Sendable {
    /// While the device is unlocked.
    case whenUnlocked
    /// From the first unlock after a start on.
    case afterFirstUnlock
    /// As `whenUnlocked`, and never on another device.
    case whenUnlockedThisDeviceOnly
    /// As `afterFirstUnlock`, and never on another device.
    case afterFirstUnlockThisDeviceOnly
    /// While the device is unlocked and has a passcode. The item goes when the passcode goes.
    case whenPasscodeSetThisDeviceOnly

    /// The value of `kSecAttrAccessible`.
    public var attribute: CFString {
        switch self {
        case .whenUnlocked: return kSecAttrAccessibleWhenUnlocked
        case .afterFirstUnlock: return kSecAttrAccessibleAfterFirstUnlock
        case .whenUnlockedThisDeviceOnly: return kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        case .afterFirstUnlockThisDeviceOnly:
            return kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        case .whenPasscodeSetThisDeviceOnly:
            return kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
        }
    }
}
