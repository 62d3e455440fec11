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
            throw folder.failureForMissingDatabase
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
        var findings = try copyRows(of: salvage, to: store, ring, progress)
        let headers = HeaderScan.headers(
            in: [sources.database] + (sources.log.map { [$0] } ?? []),
            authenticator: authenticator)
        try place(&findings, headers, in: store, ring.keybagGeneration)
        try store.emptyLog()
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

    /// What the damaged files hold beside the rows that are copied at once.
    private struct Findings {
        /// What the copied rows add to the digest.
        var digest = StoreDigest.zero
        /// Whole rows that no cell leads to: each is an item, or the remains of a deleted one.
        var doubtful: [SealedRow] = []
        /// Rows whose tags don't verify, the first of each reference.
        var damaged: [SealedRow] = []
        /// Rows that were set aside before.
        var setAside: [SealedRow] = []
    }

    private mutating func copyRows(
        of salvage: RowSalvage, to store: Store, _ ring: KeyRing, _ progress: (Int) -> Void
    ) throws(KeychainFailure) -> Findings {
        var findings = Findings()
        var copied: Set<ItemReference> = []
        var doubtful: Set<ItemReference> = []
        var damaged: [ItemReference: SealedRow] = [:]
        var batch: [SealedRow] = []
        let keybagGeneration = ring.keybagGeneration
        func flush() throws(KeychainFailure) {
            guard !batch.isEmpty else { return }
            try Self.insert(batch, in: store, keybagGeneration)
            batch = []
            progress(copied.count)
        }
        var failure: KeychainFailure?
        salvage.forEachRow { candidate in
            guard failure == nil, candidate.isCurrent, let row = SealedRow(candidate) else {
                return
            }
            guard candidate.leadingColumnCount != 3 else {
                if candidate.evidence == .cell { findings.setAside.append(row) }
                return
            }
            guard !copied.contains(row.reference) else { return }
            guard Self.isWhole(row, store, ring) else {
                if damaged[row.reference] == nil { damaged[row.reference] = row }
                return
            }
            guard candidate.evidence == .cell else {
                if doubtful.insert(row.reference).inserted { findings.doubtful.append(row) }
                return
            }
            copied.insert(row.reference)
            batch.append(row)
            findings.digest = findings.digest + row.contribution(store.authenticator)
            guard batch.count >= 1000 else { return }
            do throws(KeychainFailure) { try flush() } catch { failure = error }
        }
        if let failure { throw failure }
        try flush()
        report.itemCount = copied.count
        findings.doubtful.removeAll { copied.contains($0.reference) }
        doubtful.subtract(copied)
        findings.damaged = damaged.values.filter {
            !copied.contains($0.reference) && !doubtful.contains($0.reference)
        }.sorted { $0.reference.description < $1.reference.description }
        return findings
    }

    private static func insert(
        _ rows: [SealedRow], in store: Store, _ keybagGeneration: UInt64
    ) throws(KeychainFailure) {
        _ = try store.write(keybagGeneration: keybagGeneration) {
            transaction throws(KeychainFailure) in
            // Rows come by page; within a batch the order of addition is put back.
            for row in rows.sorted(by: { $0.id < $1.id })
            where try transaction.row(under: row.labels) == nil {
                try transaction.insert(row, keepingID: true)
            }
        }
    }

    // MARK: Deciding what is an item

    /// Gives each row that was not copied its place: among the items, or set aside.
    private mutating func place(
        _ findings: inout Findings, _ headers: [StoreHeader], in store: Store,
        _ keybagGeneration: UInt64
    ) throws(KeychainFailure) {
        let settlement = Settlement(
            headers: headers, last: Anchor.last(in: folder, store.authenticator),
            copied: (report.itemCount, findings.digest),
            doubtful: findings.doubtful.map { $0.contribution(store.authenticator) },
            damaged: findings.damaged.map { $0.contribution(store.authenticator) })
        report.isVerified = settlement.isVerified
        report.expectedCount = settlement.expectedCount
        let items = settlement.items.map { findings.doubtful[$0] }
        try Self.insert(items, in: store, keybagGeneration)
        report.itemCount += items.count
        let damaged = settlement.damaged.map { findings.damaged[$0] }
        let doubtful = settlement.undecided.map { findings.doubtful[$0] }
        report.damagedItems = damaged.map(\.reference)
        report.doubtfulItems = doubtful.map(\.reference).sorted { $0.description < $1.description }
        let aside =
            findings.setAside.map { ($0, SetAsideReason.beforeRecovery) }
            + damaged.map { ($0, .foundByRecovery) }
            + doubtful.map { ($0, .doubtfulInRecovery) }
        guard !aside.isEmpty else { return }
        let moment = options.now()
        _ = try store.write(keybagGeneration: keybagGeneration) {
            transaction throws(KeychainFailure) in
            for (row, reason) in aside {
                try transaction.addSetAside(row, reason: reason, at: moment)
            }
        }
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
        for file in [
            StoreFolder.File.writeAheadLog, .sharedMemory, .database, .anchor, .damagedLog,
        ] {
            try folder.move(file, to: damaged)
        }
        try rebuilt.move(.database, to: folder)
        try damaged.synchronize()
        try folder.synchronize()
        PageDamage.registry(forPath: folder.path(of: .database)).reset()
        rebuilt.removeAll()
        if !keybag.isEmpty {
            try folder.withLock { lock throws(KeychainFailure) in
                try lock.write(SecretBytes(copying: keybag), to: .keybag)
            }
        }
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
