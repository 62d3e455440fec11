// Accessibility: the values of `kSecAttrAccessible`, which say when an item's secret can be read.

import Foundation
import Security

/// When an item can be read. `kSecAttrAccessibleAlways` is missing because Apple has deprecated it.
public enum Accessibility: CaseIterable, Sendable {
    /// While the device is unlocked.
    case whenUnlocked
    /// From the first unlock after a boot.
    case afterFirstUnlock
    /// The same as `whenUnlocked`, but only on this device.
    case whenUnlockedThisDeviceOnly
    /// The same as `afterFirstUnlock`, but only on this device.
    case afterFirstUnlockThisDeviceOnly
    /// While the device is unlocked and has a passcode. Removing the passcode deletes the item.
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
