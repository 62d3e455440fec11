// KeyRing: which class keys are in memory, and so what can be read.
//   (1) Keys of always-available classes are there as long as the engine is. On another machine than
//       the keychain's, those of this device come with a recovery code and go with `lockAll`.
//   (2) Keys of after-first-unlock classes come with the first unlock and stay until `lockAll`.
//   (3) Keys of when-unlocked classes go with `lock`.
//   (4) Without a passcode all keys but those of the when-passcode-set class are there.
//   (5) The keys that find and count the items of the guarded tier are there exactly as long as those of
//       after-first-unlock classes.

import KeychainCrypto
import KeychainCore
import KeychainSQLite

struct KeyRing: Sendable {
    private(set) var hierarchy: KeyHierarchy
    private(set) var classes: [ProtectionClass: ClassKeys]
    private(set) var tiers: StoreTiers
    private(set) var lockState: LockState
    /// How many items stay on this device, where they don't open here.
    var unreachableCount: UInt64?
    /// How often it was locked.
    private(set) var lockCount = 0
    /// Whether it is locked because another process rotated the keys.
    private(set) var isLockedByRotation = false

    /// - Throws: `invalidKeychain` when the keybag doesn't open.
    init(_ hierarchy: KeyHierarchy) throws(KeychainFailure) {
        self.hierarchy = hierarchy
        let open = try hierarchy.openTier()
        classes = open.classes
        tiers = StoreTiers(open: StoreTier(open), guarded: nil)
        lockState = .beforeFirstUnlock
        if let guarded = try hierarchy.guardedTierWithoutPasscode() { take(guarded) }
    }

    /// Takes over what opens the guarded tier.
    private mutating func take(_ guarded: TierKeys) {
        classes.merge(guarded.classes) { _, new in new }
        if tiers.guarded == nil {
            tiers = StoreTiers(open: tiers.open, guarded: StoreTier(guarded))
        }
        lockState = .unlocked
        isLockedByRotation = false
    }

    /// Notes that an earlier ring was unlocked until a rotation.
    mutating func noteRotation() { isLockedByRotation = lockState != .unlocked }

    var keybagGeneration: UInt64 { hierarchy.keybag.generation }

    func keys(for protection: ProtectionClass) throws(KeychainFailure) -> ClassKeys {
        if let keys = classes[protection] { return keys }
        if protection == .whenPasscodeSetThisDeviceOnly, !hierarchy.keybag.hasPasscode {
            throw KeychainFailure(
                .authFailed,
                "An item that is there only while a passcode is set needs a passcode. Set one with "
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
        tiers = StoreTiers(open: tiers.open, guarded: nil)
        // On another machine a recovery code has opened those of this device.
        let isHere = hierarchy.machineState.isOpen
        keepClasses { $0.tier == .open && (isHere || !$0.isThisDeviceOnly) }
    }

    private mutating func keepClasses(_ isKept: (ProtectionClass) -> Bool) {
        lockCount += 1
        classes = classes.filter { isKept($0.key) }
        MemoryScrubber.eraseFreedMemory()
    }

    /// Takes the place of the ring that a change of the passcode began with. If it was locked
    /// meanwhile, it stays locked.
    mutating func become(_ new: KeyRing, unlessLockedSince count: Int) {
        let old = self
        self = new
        lockCount = old.lockCount
        relock(as: old, unlessLockedSince: count)
    }

    /// Locks as another ring is that was locked meanwhile.
    mutating func relock(as old: KeyRing, unlessLockedSince count: Int) {
        guard old.lockCount != count else { return }
        if old.lockState == .beforeFirstUnlock { try? lockAll() } else { try? lock() }
    }

    /// Takes over a keybag that this or another process wrote, of another generation.
    ///
    /// Keys of tiers and classes stay the same under a new passcode, so those in memory are kept; the key of
    /// the when-passcode-set class may be another one and is dropped then.
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
