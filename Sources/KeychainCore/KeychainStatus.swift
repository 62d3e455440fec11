// KeychainStatus: what a person wants to know about a keychain, without its items.

package struct KeychainStatus: Hashable, Sendable {
    /// ":memory:" for a keychain in memory.
    package let directory: String
    package let formatVersion: Int
    /// How many commits there were.
    package let generation: UInt64
    package let itemCount: UInt64
    package let setAsideCount: UInt64
    package let hasPasscode: Bool
    package let lockState: LockState
    /// Whether all key material of this process is locked in memory.
    package let isMemoryLocked: Bool
    /// Size of the database with its log, in bytes; 0 for a keychain in memory.
    package let byteCount: Int
    /// Empty for a keychain in memory.
    package let deviceKeyPath: String
    /// What keeps the device key, as its file says now.
    package let deviceKeyProtection: DeviceKeyProtection
    package let verification: VerificationState
    /// Whether what stays on this device opens here.
    package let machine: MachineState
    /// Why nothing can be bound to this machine; nil: it can.
    package let whyNotBindable: String?
    /// How many items are of a class that stays on this device.
    package let deviceItemCount: UInt64
    /// Whether a recovery code opens all that a passcode and the machine do.
    package let hasRecoveryCode: Bool

    package init(
        directory: String, formatVersion: Int, generation: UInt64, itemCount: UInt64,
        setAsideCount: UInt64, hasPasscode: Bool, lockState: LockState, isMemoryLocked: Bool,
        byteCount: Int, deviceKeyPath: String, deviceKeyProtection: DeviceKeyProtection = .file,
        verification: VerificationState = VerificationState(.unneeded),
        machine: MachineState = .notBound, whyNotBindable: String? = nil,
        deviceItemCount: UInt64 = 0, hasRecoveryCode: Bool = false
    ) {
        self.directory = directory
        self.formatVersion = formatVersion
        self.generation = generation
        self.itemCount = itemCount
        self.setAsideCount = setAsideCount
        self.hasPasscode = hasPasscode
        self.lockState = lockState
        self.isMemoryLocked = isMemoryLocked
        self.byteCount = byteCount
        self.deviceKeyPath = deviceKeyPath
        self.deviceKeyProtection = deviceKeyProtection
        self.verification = verification
        self.machine = machine
        self.whyNotBindable = whyNotBindable
        self.deviceItemCount = deviceItemCount
        self.hasRecoveryCode = hasRecoveryCode
    }
}

package enum LockState: String, CaseIterable, Hashable, Sendable {
    case beforeFirstUnlock = "before first unlock"
    case locked
    case unlocked
}

/// What keeps the device key from an attacker with a copy of the folder.
package enum DeviceKeyProtection: CaseIterable, Hashable, Sendable {
    /// Nothing: only who may read its file.
    case file
    /// The file is of no use without this machine's hardware.
    case hardware
    /// There is no file: the keychain is in memory.
    case memory
}
