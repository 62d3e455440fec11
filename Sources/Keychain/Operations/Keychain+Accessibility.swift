// Keychain.Accessibility: when an item can be read.

import KeychainCore

extension Keychain {
    /// When an item can be read, and whether it may leave this device.
    ///
    /// More kinds may exist than are named here; an item of another program can have one of them.
    ///
    /// The raw value is the value of the corresponding `kSecAttrAccessible…` constant.
    public struct Accessibility: RawRepresentable, Hashable, Sendable {
        /// The value of `kSecAttrAccessible`.
        public let rawValue: String

        /// An accessibility by the value of its `kSecAttrAccessible…` constant.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// While the device is unlocked (`kSecAttrAccessibleWhenUnlocked`).
        public static let whenUnlocked = Accessibility(rawValue: "ak")

        /// From the first unlock after a start until the device is switched off
        /// (`kSecAttrAccessibleAfterFirstUnlock`).
        public static let afterFirstUnlock = Accessibility(rawValue: "ck")

        /// While the device is unlocked, and on this device only
        /// (`kSecAttrAccessibleWhenUnlockedThisDeviceOnly`).
        public static let whenUnlockedThisDeviceOnly = Accessibility(rawValue: "aku")

        /// From the first unlock after a start until the device is switched off, and on this
        /// device only (`kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`).
        public static let afterFirstUnlockThisDeviceOnly = Accessibility(rawValue: "cku")

        /// While the device is unlocked, as long as it has a passcode, and on this device only.
        ///
        /// Removing the passcode destroys the item. Saving one without a passcode set fails.
        /// The corresponding constant is `kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly`.
        public static let whenPasscodeSetThisDeviceOnly = Accessibility(rawValue: "akpu")

        /// Whether the item is marked for this device only: it is never synchronized.
        ///
        /// On Apple platforms it can't be read on another device. On Linux a copy of the whole
        /// folder can be, unless a passcode was set or a TPM sealed the device key before any copy
        /// was made.
        public var isThisDeviceOnly: Bool {
            rawValue.hasSuffix("u")
        }
    }
}

extension Keychain.Accessibility: CustomStringConvertible {
    /// The name of the static member, or the raw value of an accessibility without one.
    public var description: String {
        switch self {
        case .whenUnlocked: "whenUnlocked"
        case .afterFirstUnlock: "afterFirstUnlock"
        case .whenUnlockedThisDeviceOnly: "whenUnlockedThisDeviceOnly"
        case .afterFirstUnlockThisDeviceOnly: "afterFirstUnlockThisDeviceOnly"
        case .whenPasscodeSetThisDeviceOnly: "whenPasscodeSetThisDeviceOnly"
        default: rawValue
        }
    }
}

extension Keychain.Accessibility {
    /// The protection class of the accessibility.
    ///
    /// - Throws: `param` where there is none.
    func protection() throws(KeychainFailure) -> ProtectionClass {
        guard let protection = ProtectionClass(code: rawValue) else {
            throw .param("There is no such accessibility.")
        }
        return protection
    }
}
