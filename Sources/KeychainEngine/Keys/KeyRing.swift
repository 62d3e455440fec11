// KeyRing: which class keys are in memory, and so what can be read.
//   (1) Keys of always-available classes are there as long as the engine is.
//   (2) Keys of after-first-unlock classes come with the first unlock and stay until `lockAll`.
//   (3) Keys of when-unlocked classes go with `lock`.
//   (4) Without a passcode all keys but those of the when-passcode-set class are there.

import KeychainCrypto
import KeychainCore

struct KeyRing: Sendable {
    private(set) var hierarchy: KeyHierarchy
    private var classes: [ProtectionClass: ClassKeys]
    private(set) var lockState: LockState
    /// How often it was locked.
    private(set) var lockCount = 0

    /// - Throws: `invalidKeychain` when the keybag doesn't open.
    init(_ hierarchy: KeyHierarchy, deviceKeys: DeviceKeys) {
        self.hierarchy = hierarchy
        classes = deviceKeys.classes
        lockState = hierarchy.keybag.hasPasscode ? .beforeFirstUnlock : .unlocked
    }

    var keybagGeneration: UInt64 { hierarchy.keybag.generation }

    func keys(for protection: ProtectionClass) throws(KeychainFailure) -> ClassKeys {
        if let keys = classes[protection] { return keys }
        if protection == .whenPasscodeSetThisDeviceOnly, !hierarchy.keybag.hasPasscode {
            throw KeychainFailure(
                .authFailed,
                "An item that is there only while a passcode is set needs a passcode. Set one with "
                    + "`keychainctl passcode set`.")
        }
        throw .locked(protection)
    }

    mutating func unlock(_ passcode: SecretBytes) throws(KeychainFailure) {
        unlock(try hierarchy.openPasscodeKeys(passcode))
    }

    mutating func unlock(_ opened: PasscodeKeys) {
        classes.merge(opened.classes) { _, new in new }
        lockState = .unlocked
    }

    /// - Throws: `param` where no passcode is set: nothing would keep it locked.
    mutating func lock() throws(KeychainFailure) {
        guard hierarchy.keybag.hasPasscode else {
            throw .param("Without a passcode a keychain can't be locked. Set one first.")
        }
        if lockState == .unlocked { lockState = .locked }
        keepClasses { $0.availability != .whileUnlocked }
    }

    /// Goes back to before the first unlock.
    /// - Throws: `param` where no passcode is set: nothing would keep it locked.
    mutating func lockAll() throws(KeychainFailure) {
        try lock()
        lockState = .beforeFirstUnlock
        keepClasses { $0.availability == .always }
    }

    private mutating func keepClasses(_ isKept: (ProtectionClass) -> Bool) {
        lockCount += 1
        classes = classes.filter { isKept($0.key) }
        Residue.eraseFreedMemory()
    }

    /// Takes the place of the ring that a change of the passcode began with. If it was locked
    /// meanwhile, it stays locked.
    mutating func become(_ new: KeyRing, unlessLockedSince count: Int) {
        let (locks, state) = (lockCount, lockState)
        self = new
        lockCount = locks
        guard locks != count else { return }
        if state == .beforeFirstUnlock { try? lockAll() } else { try? lock() }
    }

    /// Takes over a keybag that this or another process wrote.
    ///
    /// Class keys stay the same under a new passcode, so those in memory are kept; the key of
    /// the when-passcode-set class may be another one and is dropped.
    ///
    /// - Returns: Whether it is another one than before.
    mutating func adopt(_ hierarchy: KeyHierarchy, deviceKeys: DeviceKeys) -> Bool {
        guard hierarchy.keybag.generation != keybagGeneration else { return false }
        self.hierarchy = hierarchy
        classes[.whenPasscodeSetThisDeviceOnly] = nil
        classes.merge(deviceKeys.classes) { _, new in new }
        if !hierarchy.keybag.hasPasscode { lockState = .unlocked }
        return true
    }
}
