// KeychainEngine+Passcode: locking, unlocking, the passcode itself, and grants for callers whose
// user proved knowledge of the passcode or was recognized by biometric hardware.
//   (1) A changed keybag is committed together with the store's header, then copied to the keybag
//       file.
//   (2) The commit that removes the passcode destroys the key of the when-passcode-set class and
//       deletes the class's items and their earlier versions. A row that claims to be of that class
//       and doesn't open with its key is set aside.
//   (3) After the commit, the write-ahead log is checkpointed and emptied, so that the log contains
//       no earlier keybag, which an earlier passcode could open. If the log can't be emptied, or
//       the process ends before that, the next process that opens the keychain empties the log.
//   (4) Every step whose failure is an error precedes the commit. With the commit the change is
//       complete, and the failure of a later step is only logged.
//   (5) If the keychain is locked during a change, it stays locked, unless the change removes the
//       passcode and with it the lock.
//   (6) Subscribers to changes are notified after the keys in memory have been replaced.
//   (7) A grant is valid from the proof until the next lock, the next change of the keybag by any
//       process (of the passcode, another way in, the binding to a machine or the keys), or the
//       closing of the engine. Grants that are given after that have a different token.
//   (8) A grant can't be guessed, and it is never written to a file.
//   (9) A user who proves knowledge of the passcode to get a grant thereby also unlocks the
//       keychain, because the user of a program has no other place, such as a lock screen, to
//       unlock it.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Synchronization

extension KeychainEngine {
    /// Whether a passcode or another way to unlock the keychain is set, according to the keybag as
    /// last read.
    package var hasPasscode: Bool { session.ring.withLock { $0.hierarchy.keybag.hasPasscode } }

    /// Whether there is a passcode that a user can be asked for, according to the keybag as last
    /// read.
    package var hasPasscodeSlot: Bool {
        session.ring.withLock { $0.hierarchy.keybag.hasPasscodeSlot }
    }

    /// Opens the keys of all classes, except those that are bound to another machine. ``lock()``
    /// and ``lockAll()`` erase keys from memory again.
    /// - Throws: `authFailed` for a wrong passcode; `param` if no passcode is set; `notAvailable`
    ///   if, during this call, the keychain is locked again or its keybag is changed, for example
    ///   by a new passcode.
    package func unlock(passcode: SecretBytes) throws(KeychainFailure) {
        try unlock(.passcode(passcode))
    }

    /// Unlocks the keychain with any way in.
    func unlock(_ way: WayIn) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in try unlockSession(way) }
    }

    private func unlockSession(_ way: WayIn) throws(KeychainFailure) {
        try reloadKeybag()
        // The key derivation takes long. Other calls can use the key ring meanwhile.
        let before = session.ring.withLock { $0 }
        let opened = try before.hierarchy.unlock(way)
        try changeRing { ring throws(KeychainFailure) in
            guard ring.keybagGeneration == before.keybagGeneration else {
                throw .busy("The passcode was changed meanwhile. Try again.")
            }
            // If the keychain was locked after `before` was read, it stays locked.
            guard ring.lockCount == before.lockCount else {
                throw .busy("The keychain was locked meanwhile. Try again.")
            }
            ring.unlock(opened)
        }
        store.commits.signal()
        if before.tiers.guarded == nil { verifyIfSmall() }
    }

    /// Erases the keys of the when-unlocked classes and of the when-passcode-set class from memory,
    /// and ends all grants.
    /// - Throws: `param` if neither a passcode nor another way to unlock the keychain is set.
    package func lock() throws(KeychainFailure) {
        try forget { ring throws(KeychainFailure) in try ring.lock() }
    }

    /// Like ``lock()``, and also erases from memory the keys of the after-first-unlock classes. If
    /// the keychain is bound to another machine, this also erases any keys of the *this device
    /// only* classes that a recovery code opened here.
    /// - Throws: `param` if neither a passcode nor another way to unlock the keychain is set.
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

    /// Sets the first passcode. The engine stays unlocked. All keys of a keychain on disk are
    /// rotated, so that the keys in earlier copies of the folder, which had no passcode, don't open
    /// it from then on.
    /// - Returns: The slots of the recovery codes, which became invalid: a slot can't be made again
    ///   without its code. Until a first passcode or credential is set, recovery codes open only
    ///   the machine key. Empty for a keychain in memory, whose keys are not rotated.
    /// - Throws: `param` if a passcode or another way to unlock the keychain is already set, or the
    ///   new passcode is empty; the errors of a rotation.
    @discardableResult
    package func setPasscode(
        _ passcode: SecretBytes, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        try guardTier(with: .passcode(passcode), progress)
    }

    /// Adds the first way in that unlocks the keychain.
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

    /// - Throws: `authFailed` if `old` is wrong, `param` if no passcode is set or `new` is empty.
    ///   After such an error, nothing is changed.
    package func changePasscode(
        from old: SecretBytes, to new: SecretBytes
    ) throws(KeychainFailure) {
        try changePasscode(by: .passcode(old), to: new)
    }

    /// Changes the passcode with any way in as proof, or sets a passcode if there is none.
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

    /// Removes the passcode, all other ways to unlock the keychain and, permanently, all items of
    /// the when-passcode-set class.
    /// - Returns: The number of items and tombstones deleted.
    /// - Throws: `authFailed` if the passcode is wrong, `param` if no passcode is set;
    ///   `notAvailable` if the keychain is bound to another machine, because all keys are needed.
    ///   After such an error, nothing is changed.
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

    /// Commits a new keybag together with the changes that `clearing` makes to items whose keys are
    /// destroyed.
    ///
    /// - Returns: The result of `clearing`.
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
            // Before the first unlock, the store doesn't have the keys of the guarded tier, which
            // this transaction needs.
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
        // The grant is read before the key derivation, so that a lock during the key derivation
        // ends this grant.
        let grant = presence.withLock { $0 }
        let hierarchy = session.ring.withLock { $0.hierarchy }
        guard hierarchy.keybag.hasPasscodeSlot else {
            throw KeychainFailure(.notAvailable, "No passcode is set.")
        }
        if lockState == .unlocked {
            _ = try hierarchy.unlock(.passcode(request.passcode))
        } else {
            try unlock(passcode: request.passcode)
        }
        return grant
    }

    package func execute(
        _ request: AcceptsGrant, as caller: AccessGroups
    ) throws(KeychainFailure) -> Bool {
        // The two kinds of grants have different tokens, so a grant matches at most its own kind.
        let proof = try presentProof(
            Authorization(grant: request.grant, recognition: request.grant))
        return proof.isPresent || proof.isRecognized
    }

    /// The grant for a user whom biometric hardware has recognized. No request returns this grant.
    /// Only the code that owns the engine can get it, and that code is responsible for asking
    /// trustworthy hardware.
    package func grantForRecognition() -> AuthenticationGrant { recognition.withLock { $0 } }

    /// Ends all grants.
    func endGrants() {
        presence.withLock { $0 = AuthenticationGrant(token: .random()) }
        recognition.withLock { $0 = AuthenticationGrant(token: .random()) }
    }
}
