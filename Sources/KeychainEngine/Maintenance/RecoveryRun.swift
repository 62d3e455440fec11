// RecoveryRun: the steps of a recovery, see Recovery.swift for what they guarantee.

import Foundation
import KeychainCrypto
import KeychainModel
import KeychainStore

struct Recovery {
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
        let sources = try openFiles()
        let salvage = RowSalvage(database: sources.database, wal: sources.log)
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

        rebuilt.removeAll()
        try rebuilt.prepare()
        let authenticator = StoreAuthenticator(key: deviceKeys.integrityKey)
        let file = try StoreFile.create(
            rebuilt, hierarchy: hierarchy, authenticator: authenticator)
        defer { file.close() }
        let store = try Store(
            file, keychainID: hierarchy.keybag.keychainID, deviceKeys: deviceKeys)
        let copied = try copyRows(of: salvage, to: store, ring, progress)
        try settle(
            copied,
            HeaderScan.headers(
                in: [sources.database] + (sources.log.map { [$0] } ?? []),
                authenticator: authenticator), in: store, ring.keybagGeneration)
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

    private func openFiles() throws(KeychainFailure) -> (database: DamagedFile, log: DamagedFile?) {
        do {
            return (
                try DamagedFile(path: folder.path(of: .database)),
                folder.exists(.writeAheadLog)
                    ? try DamagedFile(path: folder.path(of: .writeAheadLog)) : nil
            )
        } catch {
            throw StoreFolder.failure("read the damaged database", code: error.code)
        }
    }

    /// What was found, as far as the digest needs it.
    private struct CopiedRows {
        var digest = StoreDigest.zero
        /// Whole rows that no cell leads to: each is an item, or the remains of a deleted one.
        var doubtful: [(reference: ItemReference, contribution: StoreDigest)] = []
        /// What damaged rows add to the digest, if the damage is elsewhere than in their tags.
        var damaged: [StoreDigest] = []
    }

    private mutating func copyRows(
        of salvage: RowSalvage, to store: Store, _ ring: KeyRing, _ progress: (Int) -> Void
    ) throws(KeychainFailure) -> CopiedRows {
        var copied = CopiedRows()
        var whole: Set<ItemReference> = []
        var broken: [ItemReference: StoreDigest] = [:]
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
                broken[row.reference] = row.contribution(store.authenticator)
                return
            }
            whole.insert(row.reference)
            batch.append(row)
            let contribution = row.contribution(store.authenticator)
            copied.digest = copied.digest + contribution
            if candidate.evidence != .cell {
                copied.doubtful.append((row.reference, contribution))
            }
            guard batch.count >= 1000 else { return }
            do throws(KeychainFailure) { try flush() } catch { failure = error }
        }
        if let failure { throw failure }
        try flush()
        report.itemCount = whole.count
        for reference in whole { broken[reference] = nil }
        report.damagedItems = broken.keys.sorted { $0.description < $1.description }
        copied.damaged = Array(broken.values)
        return copied
    }

    // MARK: Holding the rows against a header

    /// Finds the header that the rows make up, and takes out again those that it doesn't know.
    ///
    /// A page whose structure is damaged can give remains of deleted items too. The digest of a
    /// header tells them apart: without them, and with what damaged rows added, it comes out.
    private mutating func settle(
        _ copied: CopiedRows, _ headers: [StoreHeader], in store: Store, _ keybagGeneration: UInt64
    ) throws(KeychainFailure) {
        report.expectedCount = headers.first.map { Int(clamping: $0.itemCount) }
        // One of a transaction that did not end may be ahead of the last commit.
        for header in headers.prefix(3) {
            guard let remains = Self.remains(in: copied, beyond: header.digest) else { continue }
            report.isVerified = true
            report.expectedCount = Int(clamping: header.itemCount)
            guard !remains.isEmpty else { return }
            _ = try store.write(keybagGeneration: keybagGeneration) {
                transaction throws(KeychainFailure) in
                for reference in remains {
                    let search = RowSearch(
                        ItemQuery(itemClass: .genericPassword, reference: reference),
                        visibleTo: AccessGroups([AccessGroups.wildcard]), index: store.index)
                    for case .row(let row) in try transaction.rows(search, includesSecret: false) {
                        try transaction.delete(row)
                    }
                }
            }
            report.itemCount -= remains.count
            return
        }
    }

    /// The doubtful rows, four at the most, without which the digest comes out; nil if it doesn't.
    private static func remains(
        in copied: CopiedRows, beyond digest: StoreDigest
    ) -> [ItemReference]? {
        let doubtful = Array(copied.doubtful.prefix(200))
        // Sums of none, one or two; two of those make up to four.
        var sums: [StoreDigest: [ItemReference]] = [.zero: []]
        for (index, first) in doubtful.enumerated() {
            sums[first.contribution] = [first.reference]
            for second in doubtful.dropFirst(index + 1) {
                sums[first.contribution + second.contribution] = [
                    first.reference, second.reference,
                ]
            }
        }
        for damaged in [StoreDigest.zero] + copied.damaged.prefix(16) {
            let surplus = copied.digest + damaged - digest
            for (sum, references) in sums {
                guard let others = sums[surplus - sum],
                    Set(others).isDisjoint(with: references)
                else { continue }
                return references + others
            }
        }
        return nil
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
