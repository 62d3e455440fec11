// KeychainStatus: the state of a keychain, without its items, to show to a user.

package struct KeychainStatus: Hashable, Sendable {
    /// ":memory:" for a keychain in memory.
    package let directory: String
    package let formatVersion: Int
    /// The number of the last commit. A rotation or recovery continues the numbering.
    package let generation: UInt64
    package let itemCount: UInt64
    package let setAsideCount: UInt64
    /// Whether a passcode or another way to unlock the keychain is set, so that it can be locked.
    package let hasPasscode: Bool
    package let lockState: LockState
    /// Whether all key material of the process that has the keychain open is locked in memory.
    package let isMemoryLocked: Bool
    /// The size of the database and its log in bytes; 0 for a keychain in memory.
    package let byteCount: Int
    /// Empty for a keychain in memory.
    package let deviceKeyPath: String
    /// How the device key is protected, according to its file's current contents.
    package let deviceKeyProtection: DeviceKeyProtection
    package let verification: VerificationState
    /// Whether *this device only* items can be opened on this machine.
    package let machine: MachineState
    /// The reason why the keychain can't be bound to this machine; `nil` if it can be.
    package let whyNotBindable: String?
    /// The number of items in *this device only* classes.
    package let deviceItemCount: UInt64
    /// Whether a recovery code opens everything that the passcode and the machine open.
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

/// How the device key is protected from an attacker who has a copy of the keychain's folder.
package enum DeviceKeyProtection: CaseIterable, Hashable, Sendable {
    /// Only by the permissions of its file. A copy of the file contains the key.
    case file
    /// By hardware: the file is useless without the hardware of this machine.
    case hardware
    /// There is no file, because the keychain is in memory.
    case memory
}
