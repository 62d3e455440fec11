// Keychain.Accessibility: when an item can be read.

package import KeychainCore

extension Keychain {
    /// When an item can be read, and whether it may leave this device.
    ///
    /// On Linux, "unlocked" refers to the database in the process that has it open, instead of the
    /// device. The time after the first unlock ends when that process ends, when another process
    /// replaces the database's keys, or with `keychainctl lock --all`. A database without a
    /// passcode or another way to unlock it is always unlocked.
    ///
    /// A program can create only the values declared here. An item that another program stored may
    /// have a value that isn't declared here, such as Apple's deprecated
    /// `kSecAttrAccessibleAlways`.
    public struct Accessibility: Hashable, Sendable {
        package let protection: ProtectionClass

        package init(_ protection: ProtectionClass) {
            self.protection = protection
        }

        /// The value of the corresponding `kSecAttrAccessible…` constant.
        public var rawValue: String { protection.code }

        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlocked`).
        public static let whenUnlocked = Accessibility(.whenUnlocked)

        /// From the first unlock after a boot until the device is shut down
        /// (`kSecAttrAccessibleAfterFirstUnlock`).
        public static let afterFirstUnlock = Accessibility(.afterFirstUnlock)

        /// While the device is unlocked, and on this device only
        /// (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        public static let whenUnlockedThisDeviceOnly = Accessibility(.whenUnlockedThisDeviceOnly)

        /// From the first unlock after a boot until the device is shut down, and on this device
        /// only (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`).
        public static let afterFirstUnlockThisDeviceOnly = Accessibility(
            .afterFirstUnlockThisDeviceOnly)

        /// While the device is unlocked and has a passcode, and on this device only.
        ///
        /// Removing the passcode destroys the item. Saving an item with this accessibility fails
        /// while there is neither a passcode nor, on Linux, another way to unlock the database. The
        /// corresponding constant is `kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`.
        public static let whenPasscodeSetThisDeviceOnly = Accessibility(
            .whenPasscodeSetThisDeviceOnly)

        /// Whether the item is restricted to this device. Such an item is never synchronized.
        ///
        /// On Apple platforms, the item can't be read on another device. On Linux, if the keychain
        /// is bound to its machine, reading the item also needs that machine's TPM, a key derived
        /// from that machine's identity, or the recovery code. If the keychain isn't bound, as in a
        /// container without a TPM, a copy of its folder is enough, unless a passcode was set or a
        /// TPM sealed the device key before the copy was made.
        public var isThisDeviceOnly: Bool {
            protection.isThisDeviceOnly
        }
    }
}

extension Keychain.Accessibility: CustomStringConvertible {
    /// The name of the static member, or "always" or "alwaysThisDeviceOnly" for the two values that
    /// have no static member.
    public var description: String {
        "\(protection)"
    }
}
