// Keychain.Accessibility: when an item can be read.

package import KeychainCore

extension Keychain {
    /// When an item can be read, and whether it may leave this device.
    ///
    /// Only the named ones can be asked for. An item that another program stored can be found with
    /// one that has no name here, such as Apple's deprecated `kSecAttrAccessibleAlways`.
    public struct Accessibility: Hashable, Sendable {
        package let protection: ProtectionClass

        package init(_ protection: ProtectionClass) {
            self.protection = protection
        }

        /// The value of the corresponding `kSecAttrAccessible…` constant.
        public var rawValue: String { protection.code }

        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlocked`).
        public static let whenUnlocked = Accessibility(.whenUnlocked)

        /// From the first unlock after a start until the device is switched off
        /// (`kSecAttrAccessibleAfterFirstUnlock`).
        public static let afterFirstUnlock = Accessibility(.afterFirstUnlock)

        /// While the device is unlocked, and on this device only
        /// (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        public static let whenUnlockedThisDeviceOnly = Accessibility(.whenUnlockedThisDeviceOnly)

        /// From the first unlock after a start until the device is switched off, and on this
        /// device only (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`).
        public static let afterFirstUnlockThisDeviceOnly = Accessibility(
            .afterFirstUnlockThisDeviceOnly)

        /// While the device is unlocked, as long as it has a passcode, and on this device only.
        ///
        /// Removing the passcode destroys the item. Saving one without a passcode set fails.
        /// The corresponding constant is `kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`.
        public static let whenPasscodeSetThisDeviceOnly = Accessibility(
            .whenPasscodeSetThisDeviceOnly)

        /// Whether the item is marked for this device only: it is never synchronized.
        ///
        /// On Apple platforms it can't be read on another device. On Linux a copy of the whole
        /// folder can be, unless a passcode was set or a TPM sealed the device key before any copy
        /// was made.
        public var isThisDeviceOnly: Bool {
            protection.isThisDeviceOnly
        }
    }
}

extension Keychain.Accessibility: CustomStringConvertible {
    /// The name of the static member, or "always" and "alwaysThisDeviceOnly".
    public var description: String {
        "\(protection)"
    }
}
