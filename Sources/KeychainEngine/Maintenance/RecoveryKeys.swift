// RecoveryKeys: the keys that open the rows of a damaged database, and those that seal the rows of
// the new one.
//   (1) The keybag used is the authentic one with the highest generation among the keybag file and
//       all keybags in the damaged database. A keybag from an uncommitted transaction is used only
//       if there is no other. Among the committed keybags, and among the uncommitted ones, one of
//       version 1 is used only if there is none of version 2.
//   (2) A keybag whose generation is lower than the one that the newest committed header states is
//       refused before the passcode is checked. It may open with an earlier passcode, which others
//       may know.
//   (3) Whatever unlocks the keychain opens the rows: the passcode, a recovery code or a
//       credential. Without one of them, the credential of this process is tried, as when the
//       keychain is opened.

import KeychainCore
import KeychainCrypto
import KeychainSQLite

struct RecoveryKeys {
    let old: RowKeys
    let new: RowKeys
    let ring: KeyRing

    init(
        _ salvage: RowSalvage, in folder: StoreFolder, deviceKey: SecretBytes, _ way: WayIn?,
        _ options: EngineOptions
    ) throws(KeychainFailure) {
        var (committed, others) = salvage.keybags { bytes in
            (try? KeyHierarchy(
                Keybag.parse(bytes), deviceKey: deviceKey, machine: options.machine)) != nil
                || (try? KeyHierarchyVersion1(KeybagVersion1.parse(bytes), deviceKey: deviceKey))
                    != nil
        }
        if let copy = try? folder.read(.keybag) { committed.insert(copy.plainBytes) }
        for candidates in [committed, others] {
            let found = candidates.compactMap { bytes in
                try? KeyHierarchy(
                    Keybag.parse(bytes), deviceKey: deviceKey, machine: options.machine)
            }.max { $0.keybag.generation < $1.keybag.generation }
            if let found {
                var ring = try KeyRing(found)
                try Self.requireLatest(found.keybag.generation, salvage.headers(ring.tiers))
                guard try ring.unlockForRecovery(with: way, options) else {
                    throw found.keybag.hasPasscodeSlot ? Self.missingPasscode : Self.missingWayIn
                }
                (old, new, self.ring) = (RowKeys(ring), RowKeys(ring), ring)
                return
            }
            let earlier = candidates.compactMap { bytes in
                try? KeyHierarchyVersion1(KeybagVersion1.parse(bytes), deviceKey: deviceKey)
            }.max { $0.keybag.generation < $1.keybag.generation }
            if let earlier {
                let device = try earlier.openDeviceKeys()
                let tiers = StoreTiers(version1: StoreTier(version1: device))
                try Self.requireLatest(earlier.keybag.generation, salvage.headers(tiers))
                let passcode = earlier.keybag.hasPasscode ? way?.asPasscode : nil
                guard passcode != nil || !earlier.keybag.hasPasscode else {
                    throw Self.missingPasscode
                }
                let (converted, unlocked) = try KeyHierarchy.converting(
                    earlier, passcode: passcode, deviceKey: deviceKey, machine: options.machine,
                    cost: options.passcodeCost, at: options.now())
                var ring = try KeyRing(converted)
                if let unlocked { ring.unlock(unlocked) }
                old = try RowKeys(earlier, passcode: passcode)
                (new, self.ring) = (RowKeys(ring), ring)
                return
            }
        }
        throw KeychainFailure(
            .invalidKeychain,
            "No keybag that belongs to `device.key` was found. Without it no item can be "
                + "read: restore `keybag` and `device.key` from a backup.")
    }

    private static let missingPasscode = KeychainFailure(
        .interactionNotAllowed,
        "Without a recovery code or a credential that unlocks this keychain, recovering it needs "
            + "its passcode. Nothing was changed.")

    private static let missingWayIn = KeychainFailure(
        .authFailed,
        "Recovering this keychain needs its credential or recovery code: use --credential or "
            + "--recovery-code. Nothing was changed.")

    private static func requireLatest(
        _ generation: UInt64, _ headers: RowSalvage.Headers
    ) throws(KeychainFailure) {
        guard let newest = headers.committed?.keybagGeneration, generation < newest else { return }
        throw KeychainFailure(
            .invalidKeychain,
            "The keychain's current keybag is lost: the newest keybag found has number "
                + "\(generation), but the database was last written with keybag number \(newest). The "
                + "older keybag may open with an earlier passcode, so it isn't used. Restore the "
                + "file `keybag` from a backup made after the last change of the passcode, of "
                + "another way in or of the binding to a machine, and run `keychainctl recover` "
                + "again. Nothing was changed.", cause: .damage)
    }

    /// The row for the new database. A row of version 1 is sealed again under the new keys, unless
    /// it can't be opened. A row of version 2 is kept unchanged.
    func row(_ row: SealedRow) -> SealedRow {
        old.tiers.isVersion1 ? old.row(row, for: new) ?? row : row
    }

    func setAsideRow(_ row: SealedRow) -> (row: SealedRow, areLabelsKnown: Bool) {
        old.tiers.isVersion1 ? old.setAsideRow(row, for: new) : (row, true)
    }
}

extension KeyRing {
    /// Adds the keys that need a way in. Without `way`, the credential of this process is tried. If
    /// no keys need a way in, `way` is ignored.
    ///
    /// - Returns: Whether the ring has all keys that can be opened on this machine.
    /// - Throws: `authFailed` if `way` is wrong, or is a recovery code that only opens items of
    ///   another machine; `param` if the keychain has other ways in, but none of this kind.
    mutating func unlockForRecovery(
        with way: WayIn?, _ options: EngineOptions
    ) throws(KeychainFailure) -> Bool {
        guard hierarchy.keybag.hasPasscode else { return true }
        if let way {
            unlock(try hierarchy.unlock(way))
            return true
        }
        guard hierarchy.keybag.slots.contains(where: { $0.kind == .credential }),
            let credential = options.credential(),
            let opened = try? hierarchy.unlock(.credential(credential))
        else { return false }
        unlock(opened)
        return true
    }
}

extension WayIn {
    /// The passcode; `nil` for another way in. A keychain of version 1 has no other.
    var asPasscode: SecretBytes? {
        if case .passcode(let passcode) = self { passcode } else { nil }
    }
}
