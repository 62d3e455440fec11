// Rotation: replaces the device key and all keys under it, in a new database.
// Documentation/Formats/database-v2.md, "Rotation".
//   (1) Nothing has changed until the old database is marked as superseded. From then on the new
//       database is the keychain. While the new database is created, readers of the old one are not
//       blocked, and its writers wait.
//   (2) The keys in the old files open nothing in the new files. A way in opens the new files only
//       if its secret was presented to the rotation.
//   (3) The new database holds the same items under the same ids and references, each sealed again,
//       with the same dates. If an item doesn't open, the rotation fails and nothing is changed. An
//       earlier version of an item that doesn't open is left out.
//   (4) A process that is killed leaves either the old or the new keychain. The next process
//       finishes the rotation if the old database is marked; otherwise it removes the new files.
//   (5) If marking fails, the new files are kept for as long as the write-ahead log of the old
//       database may still contain the mark.
//   (6) A committed mark is also recorded in the anchor and the freshness note, so that neither
//       damage to the mark nor an older copy of the database brings the old keys back.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Logging
import Synchronization

enum Rotation {
    /// Finishes a rotation whose new database already has its final name.
    /// - Returns: `folder`, with `number` set to that of its current database.
    static func settled(_ folder: StoreFolder) throws(KeychainFailure) -> StoreFolder {
        let located = folder.located
        guard located.number > 0, located.isStaged(located.number), !located.isReadOnly else {
            return located
        }
        try folder.withLock { lock throws(KeychainFailure) in
            try lock.finishRotation(to: located.number)
        }
        return folder.located
    }

    /// Finishes the rotation that has marked a database as superseded.
    static func finish(
        after located: StoreFolder, _ options: EngineOptions
    ) throws(KeychainFailure) {
        guard !located.isReadOnly else {
            guard located.located == located else { return }
            throw StoreFolder.interruptedRotation
        }
        try located.withLock { lock throws(KeychainFailure) in
            guard located.located == located else { return }
            let number = try located.nextNumber
            guard located.isStaged(number) else {
                throw .damagedStore(
                    "the database that replaces it after a rotation of the keys is missing")
            }
            if let key = noteKey(of: located, options) {
                Store.noteSuperseded(
                    in: located, keychainID: key.keychainID, key.authenticator, place: options.place
                )
            }
            try lock.finishRotation(to: number)
        }
    }

    /// The key that authenticates the anchor and the freshness note of a database. It is taken from
    /// the keybag file, because a marked database can't be opened.
    private static func noteKey(
        of located: StoreFolder, _ options: EngineOptions
    ) -> (keychainID: [UInt8], authenticator: StoreAuthenticator)? {
        guard let deviceKey = try? Bootstrap.readDeviceKey(located, options.hardware),
            let copy = try? located.read(.keybag)?.plainBytes,
            let hierarchy = try? KeyHierarchy(
                Keybag.parse(copy), deviceKey: deviceKey, machine: options.machine),
            let tiers = try? KeyRing(hierarchy).tiers
        else { return nil }
        return (hierarchy.keybag.keychainID, tiers.open.authenticator)
    }

    /// Finishes a rotation if its mark can be read in the old database, or is recorded in the
    /// anchor or the freshness note. Otherwise the caller recovers the old database: the files of a
    /// rotation that didn't mark it contain nothing later than the old database's last commit.
    static func finishedForRecovery(
        _ folder: StoreFolder, _ options: EngineOptions
    ) throws(KeychainFailure) -> StoreFolder {
        let located = try settled(folder)
        guard let number = try? located.nextNumber, located.isStaged(number),
            let deviceKey = try? Bootstrap.readDeviceKey(located, options.hardware)
        else { return located }
        var isMarked =
            noteKey(of: located, options).map {
                Store.isSuperseded(
                    in: located, keychainID: $0.keychainID, $0.authenticator, place: options.place)
            } ?? false
        do {
            try StoreFile.open(located, deviceKey: deviceKey).close()
        } catch {
            if error.isSuperseded { isMarked = true }
        }
        // If the replacement is missing, recovery uses the rows of the marked database.
        if isMarked { try? finish(after: located, options) }
        return folder.located
    }

    /// Removes the files of a rotation that ended before it marked the database.
    static func giveUpStaged(besides store: Store) {
        guard let folder = store.folder, folder.hasStagedLater, !folder.isReadOnly else { return }
        _ = try? folder.withLockIfFree { lock throws(KeychainFailure) in
            try giveUpStaged(lock, besides: store)
        }
    }

    /// Commits a change, then removes the files. The change is needed because a mark that was
    /// written and not committed remains in the write-ahead log, and could become visible, until a
    /// later commit overwrites it.
    static func giveUpStaged(
        _ lock: StoreFolder.Lock, besides store: Store
    ) throws(KeychainFailure) {
        guard let folder = store.folder, folder.hasStagedLater else { return }
        let generation = try store.header().keybagGeneration
        let outcome = try store.write(keybagGeneration: generation) { $0.noteChange() }
        guard case .done = outcome else { throw .superseded }
        lock.removeStaged()
    }
}

/// The options of a rotation.
struct RotationWish {
    /// An existing way in, as proof.
    var proof: WayIn?
    /// The keychain's first way in, if the rotation is to add it; otherwise `nil`.
    var guardingWith: WayIn?
    /// The protection of the new device key; `nil` for that of the current one.
    var protection: DeviceKeyProtection?

    init(
        proof: WayIn? = nil, guardingWith: WayIn? = nil, protection: DeviceKeyProtection? = nil
    ) {
        self.proof = proof
        self.guardingWith = guardingWith
        self.protection = protection
    }
}

extension KeychainEngine {
    /// Replaces the device key and all other keys.
    ///
    /// - Parameters:
    ///   - proof: The passcode, if one is set; otherwise another way in, if there is one.
    ///   - progress: Called now and then, and a last time when all items are done. Return `false`
    ///     before the last call to cancel the rotation; in that case nothing is changed.
    /// - Returns: The ways in that were removed because they were not presented.
    /// - Throws: `authFailed` if the proof is missing or wrong; `param` if a passcode is set and
    ///   the proof is another way in, if the keychain has no way in of the proof's kind, if the
    ///   keybag has no room for more retired keys, or if the keychain is in memory; `notAvailable`
    ///   if the keychain is bound to another machine, or if meanwhile another process changes the
    ///   passcode or a Secure Enclave key is made; `userCanceled`; `diskFull`; the errors that
    ///   report damage. In all these cases nothing is changed.
    @discardableResult
    package func rotate(
        provedBy proof: WayIn? = nil, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        try rotate(RotationWish(proof: proof), progress: progress)
    }

    @discardableResult
    func rotate(
        _ wish: RotationWish, progress: (RequestProgress) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SlotSummary] {
        let ended = try attempt { () throws(KeychainFailure) in
            try rotateSession(wish, progress)
        }
        log.debug("The keys of the keychain were changed.")
        return ended
    }

    private func rotateSession(
        _ wish: RotationWish, _ progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> [SlotSummary] {
        let session = session
        guard let folder = session.store.folder else {
            throw .param("The keys of a keychain in memory can't be rotated.")
        }
        try reloadKeybag()
        let before = session.ring.withLock { $0 }
        let deviceKey = SecretBytes.random(byteCount: AuthenticatedEncryption.keyByteCount)
        let blobClasses = try session.store.blobClasses()
        let rotated = try before.hierarchy.rotating(
            to: deviceKey, provedBy: wish.proof, guardingWith: wish.guardingWith,
            retiring: blobClasses, credential: options.credential(), cost: options.passcodeCost,
            at: options.now())
        var old = try KeyRing(before.hierarchy)
        if let unlocked = rotated.before { old.unlock(unlocked) }
        var new = try KeyRing(rotated.hierarchy)
        if let unlocked = rotated.unlocked { new.unlock(unlocked) }
        session.successor.withLock {
            $0 = Session.Successor(
                deviceKey: deviceKey, unlocked: rotated.unlocked, lockCount: before.lockCount)
        }
        let present = try deviceKeyProtection()
        let protection = wish.protection ?? present
        try folder.withLock { lock throws(KeychainFailure) in
            guard folder.located == folder else { throw .superseded }
            let number = try folder.nextNumber
            try Rotation.giveUpStaged(lock, besides: session.store)
            var generation: UInt64 = 0
            try mark(session.store, number, in: lock) { transaction throws(KeychainFailure) in
                generation = transaction.header.generation
                guard try session.store.blobClasses() == blobClasses else {
                    throw .busy("A key of the Secure Enclave was made meanwhile. Try again.")
                }
                try folder.requireRoom(
                    for: 2
                        * (folder.byteCount(of: .database) + folder.byteCount(of: .writeAheadLog))
                        + 1 << 20)
                try lock.stage(number) { place, lock throws(KeychainFailure) in
                    try fill(
                        place, lock, from: session.store, transaction.header, (old, new), deviceKey,
                        protection, progress)
                }
            }
            // The change is made, so no error is reported from here on. The next process that reads
            // the mark finishes the rotation.
            Store.noteSuperseded(
                in: folder, generation: generation, keychainID: session.store.keychainID,
                old.tiers.open.authenticator, place: options.place)
            attemptAfterwards { () throws(KeychainFailure) in try lock.finishRotation(to: number) }
        }
        attemptAfterwards { () throws(KeychainFailure) in try follow(session) }
        return rotated.ended
    }

    private func attemptAfterwards(_ body: () throws(KeychainFailure) -> Void) {
        do {
            try body()
        } catch {
            log.warning(
                "The keys were changed, but a remaining step failed: \(error.reason)")
        }
    }

    /// Marks a database as superseded. Nothing is written to this database while `make` creates its
    /// replacement.
    private func mark(
        _ store: Store, _ number: Int, in lock: StoreFolder.Lock,
        _ make: (StoreTransaction) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        var mayBeMarked = false
        do throws(KeychainFailure) {
            let generation = session.ring.withLock { $0.keybagGeneration }
            let outcome = try store.write(keybagGeneration: generation, isAlone: true) {
                transaction throws(KeychainFailure) in
                try make(transaction)
                try transaction.supersede(by: "keychain-\(number).db")
                mayBeMarked = true
            }
            guard case .done = outcome else {
                throw .busy("Another process changed the passcode meanwhile. Try again.")
            }
        } catch {
            // See (5).
            if !mayBeMarked { lock.removeStaged() }
            throw error
        }
    }

    /// Creates the files of the keychain with the new keys.
    private func fill(
        _ place: StoreFolder, _ lock: StoreFolder.Lock, from old: Store, _ header: StoreHeader,
        _ rings: (old: KeyRing, new: KeyRing), _ deviceKey: SecretBytes,
        _ protection: DeviceKeyProtection, _ progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) {
        let file = DeviceKeyPlace(folder: place, hardware: options.hardware)
        // This is the first step, so that a failure of the hardware wastes no other work.
        if protection == .hardware {
            try file.seal(deviceKey, lock)
        } else {
            try file.write(deviceKey, lock)
        }
        if let problem = try old.verify().problem ?? old.knownDamage {
            throw .damagedStore(problem)
        }
        let aside = try old.setAsideRows()
        guard aside.count == Int(clamping: header.setAsideCount) else {
            throw .damagedStore("the rows set aside can't be read")
        }
        let total = Int(clamping: header.itemCount)
        let history = try old.historyPolicy()
        let (circle, outbox) = (try old.circle(), try old.outbox())
        _ = try Conversion.make(
            in: place, rings.new, deviceKey, generation: header.generation,
            blobClasses: []
        ) {
            transaction throws(KeychainFailure) in
            if history != .standard { try transaction.setHistory(history, at: options.now()) }
            transaction.isKeptFromOutbox = true
            if let circle { try transaction.setCircle(circle) }
            try transaction.addToOutbox(outbox)
            var done = 0
            try RowKeys(rings.old).resealAll(
                of: old, aside, into: &transaction, for: RowKeys(rings.new), at: options.now()
            ) { () throws(KeychainFailure) in
                if done % 1000 == 0, !progress(RequestProgress(done: done, total: total)) {
                    throw KeychainFailure(
                        .userCanceled, "The rotation of the keys was canceled. Nothing was changed."
                    )
                }
                done += 1
            }
            guard transaction.header.itemCount == header.itemCount else {
                throw .damagedStore("its rows changed while they were resealed")
            }
        }
        _ = progress(RequestProgress(done: total, total: total))
        try lock.write(SecretBytes(copying: rings.new.hierarchy.encoded), to: .keybag)
        // Verifies that the new keychain opens, before it replaces the old one.
        var bare = options
        bare.freshness = nil
        guard let key = try file.read() else { throw Bootstrap.missingDeviceKey(in: place) }
        try Session.open(try StoreFile.open(place, deviceKey: key), key, bare).store.close()
    }
}
