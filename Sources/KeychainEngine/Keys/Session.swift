// Session: an opened database with its keys, from its opening until a rotation ends it.
//   (1) A request uses one session throughout, so rows of one database are never opened with keys
//       of another.
//   (2) An interrupted rotation is finished before a database is opened, unless the folder is
//       read-only.

package import KeychainCore
import KeychainCrypto
package import KeychainSQLite
import Logging
import Synchronization

final class Session: Sendable {
    let store: Store
    let ring: Mutex<KeyRing>
    let deviceKey: SecretBytes
    /// Whether the keybag file differed from the keybag in the database when the database was
    /// opened.
    let keybagCopyDiffered: Bool
    /// The secrets of the database that replaces this one, if this process makes the rotation.
    let successor = Mutex<Successor?>(nil)

    /// The secrets with which the process that made a rotation opens the new database.
    struct Successor {
        let deviceKey: SecretBytes
        let unlocked: UnlockedTier?
        /// The key ring's `lockCount` when the rotation began.
        let lockCount: Int
    }

    private init(
        _ store: Store, _ ring: consuming KeyRing, _ deviceKey: SecretBytes,
        keybagCopyDiffered: Bool
    ) {
        self.store = store
        self.ring = Mutex(ring)
        self.deviceKey = deviceKey
        self.keybagCopyDiffered = keybagCopyDiffered
    }

    /// Opens the keychain in a folder, and creates one if the folder holds none.
    static func open(
        _ folder: StoreFolder, _ options: EngineOptions, tellingOf commits: CommitFeed? = nil
    ) throws(KeychainFailure) -> Session {
        for _ in 0..<64 {
            let located = try Rotation.settled(folder)
            do {
                let session = try openLocated(located, options, commits)
                Rotation.giveUpStaged(besides: session.store)
                return session
            } catch {
                if error.isSuperseded {
                    try Rotation.finish(after: located, options)
                } else if folder.located.number == located.number {
                    throw error
                }
                // In the remaining case, a rotation replaced the database during the opening, which
                // is therefore repeated.
            }
        }
        throw .superseded
    }

    private static func openLocated(
        _ folder: StoreFolder, _ options: EngineOptions, _ commits: CommitFeed?
    ) throws(KeychainFailure) -> Session {
        try folder.requireOneDatabase()
        try folder.requireFinishedRecovery()
        // In a read-only folder, the keychain is opened from the files that are there.
        if !folder.exists(.database) || !folder.exists(.keybag) && !folder.isReadOnly {
            try folder.withLock { lock throws(KeychainFailure) in
                try Bootstrap.createIfNew(lock, options)
            }
        } else if folder.hasLeftovers, !folder.isReadOnly {
            // Taking the lock removes the files that a killed process has left behind. Another
            // process may hold the lock for a long time, so this doesn't wait for it.
            _ = try folder.withLockIfFree { _ in }
        }
        let deviceKey = try Bootstrap.readDeviceKey(folder, options.hardware)
        // If a rotation changed the folder meanwhile, the device key may be another database's.
        guard folder.located == folder else { throw .superseded }
        return try open(
            try StoreFile.open(
                folder, deviceKey: deviceKey,
                pageCacheByteCount: options.usesSmallPageCache
                    ? StoreFile.smallPageCache : StoreFile.largePageCache),
            deviceKey, options, commits)
    }

    static func open(
        _ file: StoreFile, _ deviceKey: SecretBytes, _ options: EngineOptions,
        _ commits: CommitFeed? = nil
    ) throws(KeychainFailure) -> Session {
        do throws(KeychainFailure) {
            // After a rotation, the database is opened even if this comparison fails.
            let keybagCopyDiffered =
                commits == nil
                ? try Bootstrap.keybagCopyDiffers(file)
                : (try? Bootstrap.keybagCopyDiffers(file)) ?? true
            var hierarchy = try Bootstrap.readKeybag(
                file, deviceKey: deviceKey, machine: options.machine)
            var ring = try KeyRing(hierarchy)
            let store = try Store(
                file, keychainID: hierarchy.keybag.keychainID, tiers: ring.tiers,
                noteIn: options.place, tellingOf: commits)
            if try store.header().keybagGeneration != hierarchy.keybag.generation {
                // The passcode was changed after the keybag was read and before the header was, or
                // an older keybag was put back.
                hierarchy = try Bootstrap.readKeybag(
                    file, deviceKey: deviceKey, machine: options.machine)
                guard try store.header().keybagGeneration == hierarchy.keybag.generation else {
                    throw KeychainFailure.damagedStore(
                        "the keybag doesn't match the database's items")
                }
                ring = try KeyRing(hierarchy)
                store.setGuarded(ring.tiers.guarded)
            }
            // A suspended reader must not delay each opening for long.
            Store.$longestWait.withValue(.seconds(1)) {
                Bootstrap.updateKeybagCopy(store, hierarchy, options.log)
            }
            if !hierarchy.machineState.isOpen {
                ring.unreachableCount = try store.itemCount { $0.isThisDeviceOnly }
            }
            return Session(store, ring, deviceKey, keybagCopyDiffered: keybagCopyDiffered)
        } catch {
            file.close()
            throw error
        }
    }
}

extension KeychainEngine {
    private struct Bound: Sendable {
        let engine: ObjectIdentifier
        let session: Session
    }

    /// The session of the current request.
    @TaskLocal private static var bound: Bound?

    var session: Session {
        if let bound = Self.bound, bound.engine == ObjectIdentifier(self) { return bound.session }
        return latest.withLock { $0 }
    }

    package var store: Store { session.store }
    var deviceKey: SecretBytes { session.deviceKey }

    /// Runs `body` with one session, and repeats it with the next one if a rotation has ended the
    /// session. Inside a request, `body` uses the request's session.
    func attempt<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        if Self.bound?.engine == ObjectIdentifier(self) { return try body() }
        for _ in 0..<64 {
            let session = latest.withLock { $0 }
            do throws(KeychainFailure) {
                return try within(session, body)
            } catch {
                guard error.isSuperseded else { throw session.explained(error) }
                try follow(session)
            }
        }
        throw .superseded
    }

    func within<Result>(
        _ session: Session, _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let bound = Bound(engine: ObjectIdentifier(self), session: session)
        return try Self.$bound.withValue(bound) {
            Swift.Result { () throws(KeychainFailure) in try body() }
        }.get()
    }

    /// Opens the database that a rotation has put in the place of a session's database. If this
    /// process made the rotation, it unlocks the new database, unless the keychain was locked
    /// during the rotation. Otherwise the process has only the new device key, so a keychain with a
    /// passcode or another way in is then locked, unless a credential of this process unlocks it.
    func follow(_ old: Session) throws(KeychainFailure) {
        try following.withLock { _ throws(KeychainFailure) in
            guard let folder = old.store.folder, latest.withLock({ $0 === old }) else { return }
            let new = try Session.open(
                StoreFolder(path: folder.path), options, tellingOf: old.store.commits)
            let made = old.successor.withLock { $0 }
            let isOwn = made.map { $0.deviceKey.isEqual(to: new.deviceKey) } ?? false
            let before = old.ring.withLock { $0 }
            new.ring.withLock { ring in
                if isOwn, let unlocked = made?.unlocked {
                    ring.unlock(unlocked)
                } else if before.lockState != .beforeFirstUnlock {
                    ring.noteRotation()
                }
            }
            // Later requests use the new session. Another request that calls this function after
            // the same rotation returns at the check above, so it doesn't end grants that are
            // issued from now on.
            latest.withLock { $0 = new }
            endGrants()
            // A thread that locks the keychain reads `latest` after it has locked a session. So
            // either that thread finds the new session there, and locks it too, or the lock has
            // come before this code, which then repeats the lock in the new session.
            let now = old.ring.withLock { $0 }
            let count = isOwn ? made?.lockCount ?? now.lockCount : before.lockCount
            new.ring.withLock { $0.relock(as: now, unlessLockedSince: count) }
            new.store.setGuarded(new.ring.withLock { $0.tiers.guarded })
            if !isOwn { log.notice("Another process changed the keys of the keychain.") }
            _ = try? within(new) { () throws(KeychainFailure) in
                unlockWithCredential()
                verifyIfSmall()
            }
        }
        store.commits.signal()
    }

    // MARK: Requests

    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        try attempt { () throws(KeychainFailure) in try request.execute(on: self, as: caller) }
    }

    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try attempt { () throws(KeychainFailure) in
            try request.execute(on: self, as: caller, progress: progress)
        }
    }
}

extension Session {
    /// If a rotation has locked the keychain, replaces the error with one that says so.
    func explained(_ failure: KeychainFailure) -> KeychainFailure {
        guard failure.status == .interactionNotAllowed, ring.withLock({ $0.isLockedByRotation })
        else { return failure }
        return KeychainFailure(
            .interactionNotAllowed,
            "Another process rotated the keychain's keys, for example by setting a passcode, so "
                + "the keychain is locked for this process. Keep any value that you were about to "
                + "save, and try again after unlocking the keychain.",
            cause: failure.cause, item: failure.item)
    }
}
