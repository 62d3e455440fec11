// KeychainEngine+Passcode: locking, unlocking, the passcode itself, and grants for callers that
// proved to know it.
//   (1) A changed keybag is committed with the store's header, then copied to its file.
//   (2) Removing the passcode deletes the items of the when-passcode-set class in the same commit
//       that destroys their key, and their earlier versions. A row that says it is of that class and doesn't open as one is set
//       aside.
//   (3) After the commit the log is folded into the database and emptied, so that no earlier
//       keybag, under an earlier passcode, stays in it. Where that fails, or the process ends, the
//       next one to open the keychain does it.
//   (4) What can fail comes before the commit: after it the change is made, and no error says else.
//   (5) A lock during a change stays a lock.
//   (6) Followers of changes are told once the keys in memory are others.
//   (7) A grant is good from the proof to the next lock, change or removal of the passcode, by
//       whichever process, and to the closing of the engine. The next one is another.
//   (8) A grant can't be guessed, and it is never written anywhere.
//   (9) Who proves to know the passcode unlocks the keychain: there is no other screen on which a
//       program's user could.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Synchronization

extension KeychainEngine {
    /// Whether a passcode is set, as of the last look at the keybag.
    package var hasPasscode: Bool { session.ring.withLock { $0.hierarchy.keybag.hasPasscode } }

    /// Makes every item readable until ``lock()`` or the end of the process.
    /// - Throws: `authFailed` for a wrong passcode; `param` when none is set.
    package func unlock(passcode: SecretBytes) throws(KeychainFailure) {
        try unlock(.passcode(passcode))
    }

    /// The same by any way in.
    func unlock(_ way: WayIn) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in try unlockSession(way) }
    }

    private func unlockSession(_ way: WayIn) throws(KeychainFailure) {
        try reloadKeybag()
        // Deriving takes long; the ring stays usable meanwhile.
        let before = session.ring.withLock { $0 }
        let opened = try before.hierarchy.unlock(way)
        try changeRing { ring throws(KeychainFailure) in
            guard ring.keybagGeneration == before.keybagGeneration else {
                throw .busy("The passcode was changed meanwhile. Try again.")
            }
            // If it was locked meanwhile, it stays locked, whatever was asked for before.
            guard ring.lockCount == before.lockCount else {
                throw .busy("The keychain was locked meanwhile. Try again.")
            }
            ring.unlock(opened)
        }
        store.commits.signal()
        if before.tiers.guarded == nil { verifyIfSmall() }
    }

    /// Forgets the keys of the when-unlocked classes, and ends all grants.
    /// - Throws: `param` when no passcode is set.
    package func lock() throws(KeychainFailure) {
        try forget { ring throws(KeychainFailure) in try ring.lock() }
    }

    /// Forgets the keys of the after-first-unlock classes too, and ends all grants.
    /// - Throws: `param` when no passcode is set.
    package func lockAll() throws(KeychainFailure) {
        try forget { ring throws(KeychainFailure) in try ring.lockAll() }
    }

    private func forget(
        _ keys: (inout KeyRing) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            try reloadKeybag()
            try changeRing { ring throws(KeychainFailure) in try keys(&ring) }
            let session = session
            guard latest.withLock({ $0 === session }) else { throw .superseded }
        }
        endGrants()
        store.commits.signal()
    }

    /// Sets the first passcode. The engine stays unlocked. All keys rotate: what was in copies of the folder
    /// without a passcode opens nothing from then on.
    /// - Returns: The ways in that ended.
    /// - Throws: `param` when one is set already, or the new one is empty; what a rotation throws.
    @discardableResult
    package func setPasscode(
        _ passcode: SecretBytes, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        try guardTier(with: .passcode(passcode), progress)
    }

    /// Makes the first way in.
    @discardableResult
    func guardTier(
        with way: WayIn, _ progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        guard store.folder == nil else {
            return try rotate(RotationWish(guardingWith: way), progress: progress)
        }
        try reloadKeybag()
        let before = session.ring.withLock { $0 }
        let new: KeyHierarchy
        if case .passcode(let passcode) = way {
            new = try before.hierarchy.settingPasscode(
                passcode, cost: options.passcodeCost, at: options.now())
        } else {
            new = try before.hierarchy.adding(way, provedBy: nil, at: options.now())
        }
        try replace(before, with: new, unlockingWith: way)
        return []
    }

    /// - Throws: `authFailed` when `old` is wrong; nothing is changed then.
    package func changePasscode(
        from old: SecretBytes, to new: SecretBytes
    ) throws(KeychainFailure) {
        try changePasscode(by: .passcode(old), to: new)
    }

    /// The same by any way in, also where there is no passcode beside it.
    func changePasscode(by way: WayIn, to new: SecretBytes) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            try reloadKeybag()
            let before = session.ring.withLock { $0 }
            try replace(
                before,
                with: try before.hierarchy.changingPasscode(
                    from: way, to: new, cost: options.passcodeCost, at: options.now()),
                unlockingWith: .passcode(new))
        }
    }

    /// Removes the passcode and with it all items of the when-passcode-set class, for good.
    /// - Returns: How many items went.
    /// - Throws: `authFailed` when the passcode is wrong; nothing is changed then.
    @discardableResult
    package func removePasscode(_ passcode: SecretBytes) throws(KeychainFailure) -> Int {
        try attempt { () throws(KeychainFailure) in try removePasscodeOfSession(passcode) }
    }

    private func removePasscodeOfSession(_ passcode: SecretBytes) throws(KeychainFailure) -> Int {
        try reloadKeybag()
        let before = session.ring.withLock { $0 }
        let going = try before.hierarchy.unlock(.passcode(passcode)).keys
            .classes[.whenPasscodeSetThisDeviceOnly]
        return try replace(
            before, with: try before.hierarchy.removingPasscode(.passcode(passcode)),
            unlockingWith: nil
        ) { transaction throws(KeychainFailure) in
            var count = 0
            try transaction.deleteVersions(of: .whenPasscodeSetThisDeviceOnly)
            for row in try transaction.rows(of: .whenPasscodeSetThisDeviceOnly) {
                let isWhole = going.map { keys in
                    (try? RowSealing.openMetadata(
                        of: row, keychainID: store.keychainID, keys: keys)) != nil
                }
                if isWhole == true {
                    try transaction.delete(row)
                    count += 1
                } else {
                    try transaction.setAside(row, reason: .foundByCheck, at: options.now())
                }
            }
            return count
        }
    }

    /// Commits another keybag, and what `clearing` does with the items that go with the old one.
    ///
    /// - Returns: What `clearing` gives.
    @discardableResult
    func replace(
        _ before: KeyRing, with new: KeyHierarchy, unlockingWith way: WayIn?,
        keepsKeys: Bool = false,
        clearing: (inout StoreTransaction) throws(KeychainFailure) -> Int = { _ in 0 }
    ) throws(KeychainFailure) -> Int {
        let bytes = new.encoded
        var ring: KeyRing
        if keepsKeys {
            ring = before
            try ring.adopt(new)
        } else {
            ring = try KeyRing(new)
            if let way { ring.unlock(try new.unlock(way)) }
        }
        let outcome = try store.write(keybagGeneration: before.keybagGeneration) {
            transaction throws(KeychainFailure) in
            // Before the first unlock the store has no keys of the guarded tier.
            try transaction.take(ring.tiers)
            let count = try clearing(&transaction)
            try transaction.setKeybag(bytes, generation: new.keybag.generation)
            return count
        }
        guard case .done(let count) = outcome else {
            throw .busy("Another process changed the passcode meanwhile. Try again.")
        }
        changeRing { $0.become(ring, unlessLockedSince: before.lockCount) }
        endGrants()
        Bootstrap.updateKeybagCopy(store, new, log)
        store.commits.signal()
        return count
    }
}

// MARK: - Grants

extension KeychainEngine {
    package func execute(
        _ request: Authenticate, as caller: AccessGroups
    ) throws(KeychainFailure) -> AuthenticationGrant {
        try reloadKeybag()
        // Taken before the derivation: where the keychain is locked meanwhile, it is no longer good.
        let grant = presence.withLock { $0 }
        let hierarchy = session.ring.withLock { $0.hierarchy }
        guard hierarchy.keybag.hasPasscode else {
            throw KeychainFailure(.notAvailable, "No passcode is set.")
        }
        if lockState == .unlocked {
            _ = try hierarchy.unlock(.passcode(request.passcode))
        } else {
            try unlock(passcode: request.passcode)
        }
        return grant
    }

    /// What biometric hardware gets that has recognized the owner. No request reaches this: the
    /// code that holds the engine vouches for the hardware.
    package func grantForRecognition() -> AuthenticationGrant { recognition.withLock { $0 } }

    /// Ends all grants.
    func endGrants() {
        presence.withLock { $0 = AuthenticationGrant(token: .random()) }
        recognition.withLock { $0 = AuthenticationGrant(token: .random()) }
    }
}
