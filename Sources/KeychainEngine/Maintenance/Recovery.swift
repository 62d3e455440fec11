// Recovery: a new database from every item of a damaged one that is whole.
//   (1) Nothing damaged is deleted or written over: the damaged files are moved, as they are,
//       to a folder beside.
//   (2) The new database is complete and on the disk before it gets the name that makes it count.
//       A recovery that is ended before that has changed nothing; one that is ended later is
//       finished by the next, which reads the damaged files no more. It first verifies what has that
//       name as a whole: what isn't sound is moved away, and the damaged files are read again.
//   (3) Only rows whose tags verify become items, each from the newest image of its page. Whether they
//       are those of the last commit a header confirms; where none does, that is said.
//   (4) A row that is damaged, or that may have been deleted, is set aside in the new database: a
//       search for it is answered with damage, not with "not found", and it can be restored.
//   (5) Where items may be lost whose labels are not known, every miss is answered with damage,
//       until the loss is dismissed.
//   (6) The new database goes on above every generation that was seen.
//   (7) It is of version 2, whichever version the damaged one is of: rows of version 1 are sealed anew.
//   (8) It is verified as a whole before a recovery is said to be done.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

/// What a recovery brought back.
package struct RecoveryReport: Hashable, Sendable {
    /// Items that are in the new database.
    package var itemCount = 0
    /// How many there should be, by the header of the last commit; nil where there is none.
    package var expectedCount: Int?
    /// Rows that are set aside because their bytes are not whole.
    package var damagedItems: [ItemReference] = []
    /// Rows that are set aside because no header tells whether they are items or were deleted.
    package var doubtfulItems: [ItemReference] = []
    /// Whether a header vouches for exactly the items that came back and the damaged ones. Otherwise an
    /// item may be of an earlier time, or deleted since.
    package var isVerified = false
    /// Whether items may be lost of which nothing is known, now or by a recovery before. Every miss
    /// is answered with damage then.
    package var hasUnknownLoss = false
    /// Whether a recovery that was interrupted has been finished. What it found is not known then
    /// but for what is set aside, now or by recoveries before.
    package var isContinued = false
    /// The folder with the damaged files.
    package var damagedDirectory = ""

    /// Whether what came back is known to be what the last commit left.
    package var isConfirmed: Bool { isContinued ? !hasUnknownLoss : isVerified }

    /// Whether nothing is lost.
    package var isComplete: Bool {
        isContinued
            ? !hasUnknownLoss && damagedItems.isEmpty : isVerified && expectedCount == itemCount
    }
}

extension KeychainEngine {
    /// Rebuilds a keychain's database, or finishes a rebuilding that was interrupted. No program may
    /// have the keychain open.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - passcode: Needed where one is set: items of a locked class can't be told from damaged ones.
    ///   - options: The clock, and the hardware that a sealed device key needs.
    ///   - progress: Called now and then with the number of items that are whole so far.
    /// - Returns: What came back, what did not, and where the damaged files are.
    /// - Throws: `interactionNotAllowed` without a needed passcode, `authFailed` for a wrong one,
    ///   `notAvailable` while another process uses the keychain. Nothing is changed then.
    package static func recover(
        directory: String, passcode: SecretBytes? = nil,
        options: EngineOptions = EngineOptions(), progress: (Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> RecoveryReport {
        let found = StoreFolder(path: directory)
        let options = options.pinned(in: found.path)
        try found.checkFolder()
        try found.checkFiles()
        let lease = try found.lease(exclusive: true)
        defer { lease.end() }
        let folder = try Rotation.finishedForRecovery(found, options)
        try folder.requireOneDatabase()
        let deviceKey = try Bootstrap.readDeviceKey(folder, options.hardware)
        let stamp = Int(options.now() + Date.timeIntervalBetween1970AndReferenceDate)
        let place: StoreFolder.RecoveryFolders
        var report = RecoveryReport()
        let hasRecovered = folder.exists(.recoveredDatabase)
        if hasRecovered, try isSound(recoveredIn: folder, deviceKey, passcode, options) {
            place = folder.recoveryFolders.first ?? folder.newRecoveryFolders(stamp)
            report.isContinued = true
        } else {
            for left in folder.recoveryFolders { left.rebuilding.removeAll() }
            place = folder.newRecoveryFolders(stamp)
            var recovery = Recovery(folder: folder, rebuilt: place.rebuilding, options: options)
            try recovery.rebuild(deviceKey: deviceKey, passcode: passcode, progress)
            if hasRecovered { try folder.setAsideRecovered(in: place.damaged) }
            try folder.adoptRecovered(from: place.rebuilding)
            report = recovery.report
        }
        try folder.placeRecovered(movingOldTo: place.damaged)
        report.damagedDirectory = place.damaged.path
        try finish(folder, deviceKey: deviceKey, passcode: passcode, options, &report)
        place.rebuilding.removeAll()
        return report
    }

    /// Whether `keychain.db.recovered` is a sound database of this keychain, with its last commit.
    ///
    /// - Throws: What doesn't tell; `notAvailable` where it isn't, and nothing else can be recovered.
    private static func isSound(
        recoveredIn folder: StoreFolder, _ deviceKey: SecretBytes, _ passcode: SecretBytes?,
        _ options: EngineOptions
    ) throws(KeychainFailure) -> Bool {
        let recovered = folder.recovered
        // A recovery leaves it without a log.
        recovered.removeLogs()
        defer { recovered.removeLogs() }
        do throws(KeychainFailure) {
            if try Conversion.isNeeded(recovered, options) {
                return try Conversion.isWhole(recovered, deviceKey, passcode)
            }
            let (store, _) = try open(recovered, deviceKey, passcode, options)
            defer { store.close() }
            if let problem = try store.verify().problem ?? store.knownDamage {
                throw KeychainFailure.damagedStore(problem)
            }
            return true
        } catch {
            guard error.cause == .damage || error.status == .invalidKeychain else { throw error }
            // Its rows can still be recovered from.
            if folder.exists(.database) || folder.byteCount(of: .writeAheadLog) > 0 { return false }
            throw KeychainFailure(
                .notAvailable,
                "\(folder.path(of: .recoveredDatabase)) is no sound database of this keychain, and there "
                    + "is no other. Nothing was changed. Move it away; the files from before a recovery "
                    + "are in a folder damaged-… beside it: put them back and run `keychainctl recover`.",
                cause: .damage)
        }
    }

    /// Opens a database to verify it. One whose passcode isn't given is verified as far as the keys go.
    private static func open(
        _ folder: StoreFolder, _ deviceKey: SecretBytes, _ passcode: SecretBytes?,
        _ options: EngineOptions
    ) throws(KeychainFailure) -> (Store, KeyHierarchy) {
        let file = try StoreFile.open(folder, deviceKey: deviceKey)
        do throws(KeychainFailure) {
            let hierarchy = try Bootstrap.readKeybag(
                file, deviceKey: deviceKey, machine: options.machine)
            var ring = try KeyRing(hierarchy)
            if let passcode, hierarchy.keybag.hasPasscode {
                ring.unlock(try hierarchy.unlock(.passcode(passcode)))
            }
            let store = try Store(
                file, keychainID: hierarchy.keybag.keychainID, tiers: ring.tiers,
                noteIn: options.place)
            return (store, hierarchy)
        } catch {
            file.close()
            throw error
        }
    }

    /// Opens the new database under its own name: its keybag is copied to the file, and its
    /// generation noted.
    private static func finish(
        _ folder: StoreFolder, deviceKey: SecretBytes, passcode: SecretBytes?,
        _ options: EngineOptions, _ report: inout RecoveryReport
    ) throws(KeychainFailure) {
        PageDamage.registry(forPath: folder.path(of: .database)).reset()
        if try Conversion.isNeeded(folder, options) {
            // An earlier version of this program began the recovery.
            try folder.withLock { lock throws(KeychainFailure) in
                try Conversion.convert(lock, deviceKey: deviceKey, passcode: passcode, options)
            }
        }
        let (store, hierarchy) = try open(folder, deviceKey, passcode, options)
        defer { store.close() }
        if let problem = try store.verify(notingAt: options.now).problem ?? store.knownDamage {
            throw .damagedStore(problem)
        }
        let header = try store.header()
        store.anchor?.note(generation: header.generation)
        Bootstrap.updateKeybagCopy(store, hierarchy, options.log)
        let aside = try store.setAsideRows()
        func references(_ reason: SetAsideReason) -> [ItemReference] {
            aside.filter { $0.reason == reason }.map(\.row.reference)
        }
        report.hasUnknownLoss = !references(.lostByRecovery).isEmpty
        guard report.isContinued else { return }
        report.itemCount = Int(clamping: header.itemCount)
        report.damagedItems = references(.foundByRecovery)
        report.doubtfulItems = references(.doubtfulInRecovery)
    }
}
