// Recovery: a new database with the items of a damaged one that can still be authenticated.
//   (1) The damaged database and its log are neither deleted nor changed, but moved to a folder
//       inside the keychain's folder. The keybag file is written again if it differs from the
//       keybag in the database, and the device key file if one of the two copies of the key in it
//       is damaged.
//   (2) The new database is complete and durable before it gets the name under which it counts as
//       recovered. A recovery that is interrupted before that has changed nothing. One that is
//       interrupted later is finished by the next recovery, which first verifies the database with
//       that name. If that database is sound, the damaged files aren't read again. Otherwise the
//       database is moved away, and the damaged files are read again.
//   (3) A row becomes an item only if its tags verify or, if the keys of its class aren't
//       available, if the tag of its page verifies. Rows are taken only from the newest
//       committed image of each page. If no header confirms that these rows are the items of the
//       last commit, the report says so.
//   (4) A row that is damaged, or that may have been deleted, is set aside in the new database. A
//       search for it fails with damage instead of "not found". It can be restored if it opens.
//   (5) If items with unknown labels may be lost, every search that finds nothing fails with
//       damage, until the loss is dismissed.
//   (6) The new database's generation is above every generation that was seen.
//   (7) The new database has format version 2, whatever the version of the damaged one: rows of
//       version 1 are sealed again.
//   (8) The new database is verified as a whole before a recovery reports success. If the damaged
//       database had version 2, an interrupted recovery can be finished with neither the passcode
//       nor another way to unlock the keychain. The verification then covers what the available
//       keys allow.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

/// The outcome of a recovery.
package struct RecoveryReport: Hashable, Sendable {
    /// The number of items in the new database.
    package var itemCount = 0
    /// The number of items that the header of the last commit states; `nil` if there is no such
    /// header.
    package var expectedCount: Int?
    /// Rows that are set aside because they are damaged.
    package var damagedItems: [ItemReference] = []
    /// Rows that are set aside because no header shows whether they are items or were deleted, or
    /// because another item has their primary key.
    package var doubtfulItems: [ItemReference] = []
    /// Whether a header confirms that the recovered items, the damaged items, and the rows set
    /// aside because another item has their primary key are together exactly the items of the last
    /// commit. Otherwise an item may be an earlier version, or may have been deleted since.
    package var isVerified = false
    /// Whether unknown items may have been lost, in this recovery or an earlier one. Every search
    /// that finds nothing then fails with damage.
    package var hasUnknownLoss = false
    /// Whether this recovery finished one that was interrupted. Of what the interrupted recovery
    /// found, only the rows that it set aside are then known. The report doesn't distinguish them
    /// from rows that earlier recoveries set aside.
    package var isContinued = false
    /// The folder with the damaged files.
    package var damagedDirectory = ""

    /// Whether the recovered items are known to be those of the last commit.
    package var isConfirmed: Bool { isContinued ? !hasUnknownLoss : isVerified }

    /// Whether nothing is lost.
    package var isComplete: Bool {
        // If `itemCount` and `expectedCount` are equal, no item was set aside. A continued recovery
        // has no `expectedCount`.
        !hasUnknownLoss
            && (isContinued
                ? damagedItems.isEmpty && doubtfulItems.isEmpty
                : isVerified && expectedCount == itemCount)
    }
}

extension KeychainEngine {
    /// Rebuilds a keychain's database, or finishes an interrupted recovery. No program may have the
    /// keychain open.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - way: Unlocks the keychain. `nil` to use the credential in the options, if it unlocks the
    ///     keychain. If the keychain has a passcode or another way to unlock it, `way` or the
    ///     credential is required to read the damaged files, because items of a locked class can't
    ///     be distinguished from damaged ones.
    ///   - options: The clock, the credential, and the hardware that a sealed device key requires.
    ///   - progress: Called now and then with the number of undamaged items found so far.
    /// - Returns: What was recovered, what was not, and where the damaged files are.
    /// - Throws: `interactionNotAllowed` if a required passcode is missing; `authFailed` if `way`
    ///   is wrong, or if a way in is missing and no passcode is set; `param` if the keychain has
    ///   only ways in of other kinds; `invalidKeychain` if the device key or the current keybag is
    ///   missing; `notAvailable` while another process uses the keychain, if the database is
    ///   missing, or if an earlier version of this program began the recovery of a database of
    ///   version 1 and the passcode is required to finish it. In these cases no item is changed.
    package static func recover(
        directory: String, with way: WayIn?, options: EngineOptions = EngineOptions(),
        progress: (Int) -> Void = { _ in }
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
        if hasRecovered, try isSound(recoveredIn: folder, deviceKey, way, options) {
            place = folder.recoveryFolders.first ?? folder.newRecoveryFolders(stamp)
            report.isContinued = true
        } else {
            for left in folder.recoveryFolders { left.rebuilding.removeAll() }
            place = folder.newRecoveryFolders(stamp)
            var recovery = Recovery(folder: folder, rebuilt: place.rebuilding, options: options)
            try recovery.rebuild(deviceKey: deviceKey, way, progress)
            if hasRecovered { try folder.setAsideRecovered(in: place.damaged) }
            try folder.adoptRecovered(from: place.rebuilding)
            report = recovery.report
        }
        try folder.placeRecovered(movingOldTo: place.damaged)
        report.damagedDirectory = place.damaged.path
        try finish(folder, deviceKey: deviceKey, way, options, &report)
        place.rebuilding.removeAll()
        return report
    }

    /// Rebuilds a keychain's database with its passcode, if it has one.
    package static func recover(
        directory: String, passcode: SecretBytes? = nil,
        options: EngineOptions = EngineOptions(), progress: (Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> RecoveryReport {
        try recover(
            directory: directory, with: passcode.map { .passcode($0) }, options: options,
            progress: progress)
    }

    /// Whether `keychain.db.recovered` is a database of this keychain in which a verification finds
    /// no problem.
    ///
    /// - Throws: `notAvailable` if the database isn't sound and there is no other to recover from;
    ///   other errors if it can't be determined whether the database is sound.
    private static func isSound(
        recoveredIn folder: StoreFolder, _ deviceKey: SecretBytes, _ way: WayIn?,
        _ options: EngineOptions
    ) throws(KeychainFailure) -> Bool {
        let recovered = folder.recovered
        // A recovery leaves the database without a log, so these log files don't belong to it.
        recovered.removeLogs()
        defer { recovered.removeLogs() }
        do throws(KeychainFailure) {
            if try Conversion.isNeeded(recovered, options) {
                return try Conversion.isWhole(recovered, deviceKey, way?.asPasscode)
            }
            let (store, _) = try open(recovered, deviceKey, way, options)
            defer { store.close() }
            if let problem = try store.verify().problem ?? store.knownDamage {
                throw KeychainFailure.damagedStore(problem)
            }
            return true
        } catch {
            guard error.cause == .damage || error.status == .invalidKeychain else { throw error }
            // The damaged files are still there, so recovery can read their rows again.
            if folder.exists(.database) || folder.byteCount(of: .writeAheadLog) > 0 { return false }
            throw KeychainFailure(
                .notAvailable,
                "\(folder.path(of: .recoveredDatabase)) is not a sound database of this keychain, "
                    + "and there is no other. Nothing was changed. Move it away, put back the "
                    + "files from before the recovery, which are in a folder damaged-… beside it, "
                    + "and run `keychainctl recover`.",
                cause: .damage)
        }
    }

    /// Opens a database to verify it. Without a way in, it is verified as far as the available
    /// keys allow.
    private static func open(
        _ folder: StoreFolder, _ deviceKey: SecretBytes, _ way: WayIn?, _ options: EngineOptions
    ) throws(KeychainFailure) -> (Store, KeyHierarchy) {
        let file = try StoreFile.open(folder, deviceKey: deviceKey)
        do throws(KeychainFailure) {
            let hierarchy = try Bootstrap.readKeybag(
                file, deviceKey: deviceKey, machine: options.machine)
            var ring = try KeyRing(hierarchy)
            _ = try ring.unlockForRecovery(with: way, options)
            let store = try Store(
                file, keychainID: hierarchy.keybag.keychainID, tiers: ring.tiers,
                noteIn: options.place)
            return (store, hierarchy)
        } catch {
            file.close()
            throw error
        }
    }

    /// Opens the new database under its final name, verifies it, copies its keybag to the keybag
    /// file, and records its generation in the anchor.
    private static func finish(
        _ folder: StoreFolder, deviceKey: SecretBytes, _ way: WayIn?, _ options: EngineOptions,
        _ report: inout RecoveryReport
    ) throws(KeychainFailure) {
        PageDamage.registry(forPath: folder.path(of: .database)).reset()
        if try Conversion.isNeeded(folder, options) {
            // The recovery was begun by an earlier version of this program.
            try folder.withLock { lock throws(KeychainFailure) in
                try Conversion.convert(
                    lock, deviceKey: deviceKey, passcode: way?.asPasscode, options)
            }
        }
        let (store, hierarchy) = try open(folder, deviceKey, way, options)
        defer { store.close() }
        do throws(KeychainFailure) {
            if let problem = try store.verify(notingAt: options.now).problem ?? store.knownDamage {
                throw KeychainFailure.damagedStore(problem)
            }
        } catch {
            guard error.cause == .damage else { throw error }
            throw .damagedStore(
                store.knownDamage ?? "the database can't be read completely",
                change: "The new database is in place, and the former files are in "
                    + "\(report.damagedDirectory).")
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
