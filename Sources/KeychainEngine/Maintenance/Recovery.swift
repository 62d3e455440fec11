// Recovery: a new database from every item of a damaged one that is whole.
//   (1) Nothing damaged is deleted or written over: the damaged files are moved, as they are,
//       to a folder beside.
//   (2) The new database is complete and synchronized before the old one is moved. An
//       interrupted recovery leaves the old files, or a finished new database that the next
//       recovery puts in place.
//   (3) Only rows of the last commit whose tags verify come back; an older state of an item is
//       never taken for the present one.

import Foundation
package import KeychainCrypto
package import KeychainModel
import KeychainStore

/// What a recovery brought back.
package struct RecoveryReport: Hashable, Sendable {
    /// Items that are in the new database.
    package var itemCount = 0
    /// How many there should be, by the damaged header; nil where that can't be read either.
    package var expectedCount: Int?
    /// Rows that were found and whose bytes are not whole, by reference where it could be read.
    package var damagedItems: [ItemReference] = []
    /// The folder with the damaged files.
    package var damagedDirectory = ""

    package var isComplete: Bool {
        damagedItems.isEmpty && (expectedCount ?? itemCount) <= itemCount
    }
}

extension KeychainEngine {
    /// Rebuilds a keychain's database. No program may have it open.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - passcode: Needed where one is set: items of a locked class can't be told from damaged ones.
    ///   - options: The clock.
    ///   - progress: Called now and then with the number of items that are whole so far.
    /// - Returns: What came back, what did not, and where the damaged files are.
    /// - Throws: `interactionNotAllowed` without a needed passcode, `authFailed` for a wrong one,
    ///   `notAvailable` while another process uses the keychain. Nothing is changed then.
    package static func recover(
        directory: String, passcode: SecretBytes? = nil,
        options: EngineOptions = EngineOptions(), progress: (Int) -> Void = { _ in }
    ) throws(KeychainFailure) -> RecoveryReport {
        let folder = StoreFolder(path: directory)
        try folder.checkFolder()
        let lease = try folder.lease(exclusive: true)
        defer { lease.end() }
        let rebuilt = StoreFolder(path: folder.path + "/rebuilt")
        let deviceKey = try Bootstrap.readDeviceKey(folder)
        var recovery = Recovery(folder: folder, rebuilt: rebuilt, options: options)
        // The old database is moved only when the new one is finished, see (2).
        if folder.exists(.database) || !rebuilt.exists(.database) {
            try recovery.rebuild(deviceKey: deviceKey, passcode: passcode, progress)
        }
        try recovery.putInPlace()
        return recovery.report
    }
}

private struct Recovery {
    let folder: StoreFolder
    let rebuilt: StoreFolder
    let options: EngineOptions
    var report = RecoveryReport()
    private var keybag: [UInt8] = []

    init(folder: StoreFolder, rebuilt: StoreFolder, options: EngineOptions) {
        self.folder = folder
        self.rebuilt = rebuilt
        self.options = options
    }

    // MARK: Reading the damaged files

    mutating func rebuild(
        deviceKey: SecretBytes, passcode: SecretBytes?, _ progress: (Int) -> Void
    ) throws(KeychainFailure) {
        guard folder.exists(.database) || folder.exists(.writeAheadLog) else {
            throw .damagedStore("there is no database in \(folder.path) to recover from")
        }
        let salvage: RowSalvage
        do {
            salvage = try RowSalvage(
                databasePath: folder.path(of: .database),
                walPath: folder.exists(.writeAheadLog) ? folder.path(of: .writeAheadLog) : nil)
        } catch {
            throw StoreFolder.failure("read the damaged database", code: error.code)
        }
        let hierarchy = try findKeybag(salvage, deviceKey: deviceKey)
        let deviceKeys = try hierarchy.openDeviceKeys()
        var ring = KeyRing(hierarchy, deviceKeys: deviceKeys)
        if hierarchy.keybag.hasPasscode {
            guard let passcode else {
                throw KeychainFailure(
                    .interactionNotAllowed,
                    "Recovering this keychain needs its passcode. Nothing was changed.")
            }
            try ring.unlock(passcode)
        }
        readHeader(deviceKeys)

        rebuilt.removeAll()
        try rebuilt.prepare()
        let authenticator = StoreAuthenticator(key: deviceKeys.integrityKey)
        let file = try StoreFile.create(
            rebuilt, hierarchy: hierarchy, authenticator: authenticator)
        defer { file.close() }
        let store = try Store(
            file, keychainID: hierarchy.keybag.keychainID, deviceKeys: deviceKeys)
        try copyRows(of: salvage, to: store, ring, progress)
        store.emptyLog()
        keybag = hierarchy.encoded
    }

    /// The authentic keybag of the highest generation among the copy and all that the damaged
    /// database holds.
    private func findKeybag(
        _ salvage: RowSalvage, deviceKey: SecretBytes
    ) throws(KeychainFailure) -> KeyHierarchy {
        var candidates = salvage.keybags().map(\.body)
        if let copy = try? folder.read(.keybag) { candidates.append(copy.plainBytes) }
        let hierarchies = candidates.compactMap { bytes in
            try? KeyHierarchy(Keybag.parse(bytes), deviceKey: deviceKey)
        }
        guard
            let newest = hierarchies.max(by: { $0.keybag.generation < $1.keybag.generation })
        else {
            throw KeychainFailure(
                .invalidKeychain,
                "No keybag that belongs to `device.key` was found. Without it no item can be "
                    + "read: restore `keybag` and `device.key` from a backup.")
        }
        return newest
    }

    /// How many items there should be, if the damaged database can still say so.
    private mutating func readHeader(_ deviceKeys: DeviceKeys) {
        guard let file = try? StoreFile.open(folder) else { return }
        defer { file.close() }
        let authenticator = StoreAuthenticator(key: deviceKeys.integrityKey)
        guard let header = try? file.header(authenticator) else { return }
        report.expectedCount = Int(clamping: header.itemCount)
        if case .generation(let noted) = Anchor(folder: folder, authenticator: authenticator).read(),
            noted > header.generation
        {
            // Commits are missing, so this header's count is of an earlier state.
            report.expectedCount = nil
        }
    }

    private mutating func copyRows(
        of salvage: RowSalvage, to store: Store, _ ring: KeyRing, _ progress: (Int) -> Void
    ) throws(KeychainFailure) {
        var whole: Set<ItemReference> = []
        var broken: Set<ItemReference> = []
        var batch: [SealedRow] = []
        let keybagGeneration = ring.keybagGeneration
        func flush() throws(KeychainFailure) {
            guard !batch.isEmpty else { return }
            // Rows come by page; within a batch the order of addition is put back.
            batch.sort { $0.id < $1.id }
            _ = try store.write(keybagGeneration: keybagGeneration) {
                transaction throws(KeychainFailure) in
                for row in batch where try transaction.row(under: row.labels) == nil {
                    try transaction.insert(row, keepingID: true)
                }
            }
            batch = []
            progress(whole.count)
        }
        var failure: KeychainFailure?
        salvage.forEachRow { candidate in
            guard failure == nil, candidate.isCurrent, candidate.leadingColumnCount != 3,
                let row = SealedRow(candidate), !whole.contains(row.reference)
            else { return }
            guard Self.isWhole(row, store, ring) else {
                broken.insert(row.reference)
                return
            }
            whole.insert(row.reference)
            batch.append(row)
            guard batch.count >= 1000 else { return }
            do throws(KeychainFailure) { try flush() } catch { failure = error }
        }
        if let failure { throw failure }
        try flush()
        report.itemCount = whole.count
        // A chance hit of the scan has a reference too, but no row of the header's count.
        report.damagedItems = broken.subtracting(whole).sorted { $0.description < $1.description }
    }

    private static func isWhole(_ row: SealedRow, _ store: Store, _ ring: KeyRing) -> Bool {
        guard let protection = ProtectionClass(rawValue: row.protection),
            let keys = try? ring.keys(for: protection),
            let record = try? RowSealing.openMetadata(
                of: row, keychainID: store.keychainID, keys: keys),
            RowLabels(record, index: store.index) == row.labels
        else { return false }
        guard record.secretTag != nil else { return row.secret == nil }
        return
            (try? RowSealing.openSecret(
                of: row, record: record, keychainID: store.keychainID, keys: keys)) != nil
    }

    // MARK: Putting the new database in place

    /// The old files go first, then the new one comes: a log of the old database beside the new
    /// one would be taken for its own.
    mutating func putInPlace() throws(KeychainFailure) {
        let stamp = Int(options.now() + Date.timeIntervalBetween1970AndReferenceDate)
        var damaged = StoreFolder(path: folder.path + "/damaged-\(stamp)")
        var number = 1
        while damaged.exists {
            number += 1
            damaged = StoreFolder(path: folder.path + "/damaged-\(stamp)-\(number)")
        }
        try damaged.prepare()
        for file in [StoreFolder.File.writeAheadLog, .sharedMemory, .database, .anchor] {
            try folder.move(file, to: damaged)
        }
        try rebuilt.move(.database, to: folder)
        damaged.synchronize()
        folder.synchronize()
        rebuilt.removeAll()
        if !keybag.isEmpty { try folder.write(SecretBytes(copying: keybag), to: .keybag) }
        report.damagedDirectory = damaged.path
    }
}

extension SealedRow {
    /// - Returns: nil for a candidate that can't be a row.
    fileprivate init?(_ candidate: SalvagedRow) {
        guard let reference = ItemReference(bytes: candidate.uuid),
            let group = Label(candidate.grp), let first = Label(candidate.k1),
            let second = Label(candidate.k2), let rest = Label(candidate.k3),
            candidate.terms.count % BlindIndex.labelByteCount == 0
        else { return nil }
        let terms = stride(from: 0, to: candidate.terms.count, by: BlindIndex.labelByteCount)
            .compactMap { Label(candidate.terms[$0..<$0 + BlindIndex.labelByteCount]) }
        self.init(
            id: candidate.rowid ?? 0, reference: reference, protection: candidate.protection,
            labels: RowLabels(
                group: group, first: first, second: second, rest: rest, terms: terms),
            metadata: Data(candidate.meta), secret: candidate.secret.map { Data($0) })
    }
}
