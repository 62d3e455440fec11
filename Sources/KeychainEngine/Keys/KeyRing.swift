// KeyRing: the class keys in memory, which determine the items that can be read.
//   (1) Keys of the *always* classes are in memory for the lifetime of the engine. If the keychain
//       is bound to another machine, or to a chip that can't be used, the keys of
//       `alwaysThisDeviceOnly` are in memory only from an unlock with a recovery code until
//       `lockAll`.
//   (2) Keys of the after-first-unlock classes are in memory from the first unlock until `lockAll`.
//   (3) Keys of the when-unlocked classes and of the when-passcode-set class are in memory from an
//       unlock until `lock` or `lockAll`.
//   (4) While neither a passcode nor another way to unlock the keychain is set, all keys that can
//       be opened on this machine are in memory. The when-passcode-set class has no keys then.
//   (5) The keys that find and count the items of the guarded tier are in memory exactly as long as
//       those of the after-first-unlock classes.

import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct KeyRing: Sendable {
    private(set) var hierarchy: KeyHierarchy
    private(set) var classes: [ProtectionClass: ClassKeys]
    private(set) var tiers: StoreTiers
    private(set) var lockState: LockState
    /// The number of *this device only* items, if they can't be opened on this machine.
    var unreachableCount: UInt64?
    /// Grows whenever the ring is locked, so that a lock in the meantime is noticed.
    private(set) var lockCount = 0
    /// Whether the ring is locked because another process rotated the keys.
    private(set) var isLockedByRotation = false

    /// - Throws: `invalidKeychain` if the keybag doesn't open.
    init(_ hierarchy: KeyHierarchy) throws(KeychainFailure) {
        self.hierarchy = hierarchy
        let open = try hierarchy.openTier()
        classes = open.classes
        tiers = StoreTiers(open: StoreTier(open), guarded: nil)
        lockState = .beforeFirstUnlock
        if let guarded = try hierarchy.guardedTierWithoutPasscode() { take(guarded) }
    }

    /// Adds the keys of the guarded tier.
    private mutating func take(_ guarded: TierKeys) {
        classes.merge(guarded.classes) { _, new in new }
        if tiers.guarded == nil {
            tiers = StoreTiers(open: tiers.open, guarded: StoreTier(guarded))
        }
        lockState = .unlocked
        isLockedByRotation = false
    }

    /// Records that the after-first-unlock keys were in memory before a rotation. If this ring
    /// doesn't have them, the rotation is the reason.
    mutating func noteRotation() { isLockedByRotation = lockState != .unlocked }

    var keybagGeneration: UInt64 { hierarchy.keybag.generation }

    func keys(for protection: ProtectionClass) throws(KeychainFailure) -> ClassKeys {
        if let keys = classes[protection] { return keys }
        if protection == .whenPasscodeSetThisDeviceOnly, !hierarchy.keybag.hasPasscode {
            throw KeychainFailure(
                .authFailed,
                "Items of this protection class exist only while a passcode is set. Set one with "
                    + "`keychainctl passcode set`.")
        }
        if protection.isThisDeviceOnly, !hierarchy.machineState.isOpen, tiers.guarded != nil {
            throw .boundElsewhere(hierarchy.machineState, itemCount: unreachableCount)
        }
        throw .locked(protection)
    }

    mutating func unlock(_ opened: UnlockedTier) {
        classes.merge(opened.openClasses) { known, _ in known }
        take(opened.keys)
    }

    /// - Throws: `param` if neither a passcode nor another way to unlock the keychain is set,
    ///   because a lock would have no effect.
    mutating func lock() throws(KeychainFailure) {
        guard hierarchy.keybag.hasPasscode else {
            throw .param(
                "A keychain without a passcode or credential can't be locked. Set a passcode first."
            )
        }
        if lockState == .unlocked { lockState = .locked }
        keepClasses { $0.availability != .whileUnlocked }
    }

    /// Returns to the state before the first unlock.
    /// - Throws: `param` if neither a passcode nor another way to unlock the keychain is set,
    ///   because a lock would have no effect.
    mutating func lockAll() throws(KeychainFailure) {
        try lock()
        lockState = .beforeFirstUnlock
        tiers = StoreTiers(open: tiers.open, guarded: nil)
        // On another machine, the keys of the *this device only* classes came from a recovery code,
        // so they are erased, too.
        let isHere = hierarchy.machineState.isOpen
        keepClasses { $0.tier == .open && (isHere || !$0.isThisDeviceOnly) }
    }

    private mutating func keepClasses(_ isKept: (ProtectionClass) -> Bool) {
        lockCount += 1
        classes = classes.filter { isKept($0.key) }
        MemoryScrubber.eraseFreedMemory()
    }

    /// Replaces this ring by the result of a keybag change. If this ring was locked since the
    /// change began, the new one is locked, too.
    mutating func become(_ new: KeyRing, unlessLockedSince count: Int) {
        let old = self
        self = new
        lockCount = old.lockCount
        relock(as: old, unlessLockedSince: count)
    }

    /// Locks this ring like `old`, if `old` was locked since its lock count was `count`.
    mutating func relock(as old: KeyRing, unlessLockedSince count: Int) {
        guard old.lockCount != count else { return }
        if old.lockState == .beforeFirstUnlock { try? lockAll() } else { try? lock() }
    }

    /// Adopts a keybag of another generation, written by this or another process.
    ///
    /// The keys of tiers and classes that are in memory are kept, because only a rotation changes
    /// them. The exception is the key of the when-passcode-set class: it is erased if its entry in
    /// the keybag differs, because removing the passcode destroys the key, and setting a passcode
    /// makes another.
    mutating func adopt(_ hierarchy: KeyHierarchy) throws(KeychainFailure) {
        let withoutPasscode = try hierarchy.guardedTierWithoutPasscode()
        let open = try hierarchy.openTier()
        if !hierarchy.hasSameKey(.classKey(.whenPasscodeSetThisDeviceOnly), as: self.hierarchy) {
            classes[.whenPasscodeSetThisDeviceOnly] = nil
        }
        self.hierarchy = hierarchy
        // The keychain may have been bound to this machine meanwhile.
        classes.merge(open.classes) { _, new in new }
        if let withoutPasscode { take(withoutPasscode) }
    }
}

extension StoreTier {
    convenience init(_ keys: TierKeys) {
        self.init(indexKey: keys.indexKey, integrityKey: keys.integrityKey)
    }
}
