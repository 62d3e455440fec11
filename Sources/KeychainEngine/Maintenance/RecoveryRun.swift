// RecoveryRun: rebuilds a database. Recovery.swift states what a recovery guarantees, and
// RecoveryFindings.swift decides which of the rows found are items.
//   (1) The write-ahead log is first read with all of its frames, including those whose checksum
//       or tag is invalid. If no header confirms the rows found this way, but a header confirms the
//       rows found without these invalid frames, the invalid frames are ignored.
//   (2) No two items get the same primary key: the second one found is set aside. The exception is
//       two items in different tiers that can't be opened on this machine, since nothing shows that
//       their primary keys are the same.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainSQLite

struct Recovery {
    let folder: StoreFolder
    let rebuilt: StoreFolder
    let options: EngineOptions
    var report = RecoveryReport()

    init(folder: StoreFolder, rebuilt: StoreFolder, options: EngineOptions) {
        self.folder = folder
        self.rebuilt = rebuilt
        self.options = options
    }

    // MARK: Reading the damaged files

    /// Writes the complete new database and closes it.
    mutating func rebuild(
        deviceKey: SecretBytes, _ way: WayIn?, _ progress: (Int) -> Void
    ) throws(KeychainFailure) {
        guard folder.exists(.database) || folder.exists(.writeAheadLog) else {
            throw folder.failureForMissingDatabase
        }
        let salvage = try openFiles(deviceKey)
        let keys = try RecoveryKeys(salvage, in: folder, deviceKey: deviceKey, way, options)
        let ring = keys.ring
        let authenticator = keys.old.tiers.open.authenticator
        let last = Store.lastGeneration(
            in: folder, keychainID: keys.old.keychainID, authenticator, place: options.place)
        let newest = min(
            max(salvage.headers(keys.old.tiers).highestGeneration, last ?? 0), .max - 1)
        let reading = try reading(salvage, keys, last: last)

        try rebuilt.prepare()
        let file = try StoreFile.create(
            rebuilt, hierarchy: ring.hierarchy, tiers: ring.tiers, deviceKey: deviceKey,
            generation: newest + 1, blobClasses: Set(ProtectionClass.allCases))
        defer { file.close() }
        let store = try Store(
            file, keychainID: ring.hierarchy.keybag.keychainID, tiers: ring.tiers)
        var copy = RecoveredItems(store: store, keys: keys)
        let findings = try RecoveryFindings(of: reading, keys.old) { row throws(KeychainFailure) in
            try copy.add(row, progress)
        }
        try copy.finish(progress)
        try place(findings, header(of: reading, keys, last: last), &copy)
        report.itemCount = Int(clamping: try store.header().itemCount)
        try store.emptyLog()
        store.close()
    }

    private func openFiles(_ deviceKey: SecretBytes) throws(KeychainFailure) -> RowSalvage {
        func path(_ file: StoreFolder.File) -> String? {
            folder.exists(file) ? folder.path(of: file) : nil
        }
        do {
            return try RowSalvage(
                databasePath: path(.database), logPath: path(.writeAheadLog),
                deviceKey: deviceKey)
        } catch {
            throw StoreFolder.failure("read the damaged database", code: error.code)
        }
    }

    private func reading(
        _ salvage: RowSalvage, _ keys: RecoveryKeys, last: UInt64?
    ) throws(KeychainFailure) -> RowSalvage {
        guard let other = salvage.passingOverUnsoundFrames else { return salvage }
        for candidate in [salvage, other] {
            let findings = try RecoveryFindings(of: candidate, keys.old) { _ in }
            let header = header(of: candidate, keys, last: last)
            if RecoveryResolver(header, findings, keys.old.tiers).isVerified { return candidate }
        }
        return salvage
    }

    /// The header that decides which rows are items. A header older than the last commit is not
    /// used, because it vouches for items that were changed or deleted since.
    private func header(
        of salvage: RowSalvage, _ keys: RecoveryKeys, last: UInt64?
    ) -> StoreHeader? {
        salvage.headers(keys.old.tiers).committed.flatMap { $0.generation >= last ?? 0 ? $0 : nil }
    }

    // MARK: Deciding what is an item

    /// Places the rows that were not copied yet: among the items, or among the rows set aside. Rows
    /// that the header shows to be deleted are dropped.
    private mutating func place(
        _ findings: RecoveryFindings, _ header: StoreHeader?, _ copy: inout RecoveredItems
    ) throws(KeychainFailure) {
        let (store, keys) = (copy.store, copy.keys)
        let tiers = keys.old.tiers
        let resolver = RecoveryResolver(header, findings, tiers)
        let others =
            (resolver.isVerified ? findings.unconfirmed : [])
            + findings.stray.prefix(resolver.strayCount)
        for row in others { try copy.add(row) }
        try copy.finish()
        report.isVerified = resolver.isVerified
        report.expectedCount = header.map { Int(clamping: $0.itemCount) }

        func sorted(_ rows: some Sequence<SealedRow>) -> [SealedRow] {
            rows.sorted { $0.reference.description < $1.reference.description }
        }
        let damaged =
            !resolver.areDamagedItems
            ? [] : resolver.isVerified ? findings.damagedInCells : Array(findings.damaged.values)
        let doubtful =
            copy.displaced
            + (resolver.isVerified
                ? []
                : sorted(
                    (findings.unconfirmed + findings.stray.dropFirst(resolver.strayCount))
                        .map(\.row)))
        report.damagedItems = sorted(damaged.map(\.row)).map(\.reference)
        report.doubtfulItems = doubtful.map(\.reference)

        // No digest covers the rows that were set aside before, but the header states how many
        // there are. If fewer were found in counted cells (see RecoveryFindings.swift), as many as
        // are missing are taken from the rows found elsewhere.
        let expected = header.map { Int(clamping: $0.setAsideCount) } ?? 0
        var earlier = findings.setAside
        earlier += findings.straySetAside.prefix(max(0, expected - earlier.count))
        let moment = options.now()
        var aside = earlier.map { row, aside in
            (row, aside.reason, aside.moment, aside.isAuthentic(row, tiers.open.authenticator))
        }
        aside += sorted(damaged.map(\.row)).map {
            ($0, SetAsideReason.foundByRecovery.rawValue, moment, true)
        }
        aside += doubtful.map { ($0, SetAsideReason.doubtfulInRecovery.rawValue, moment, true) }
        var isAllKnown =
            resolver.isVerified && damaged.allSatisfy(\.areLabelsKnown)
            && earlier.count == expected
        for index in aside.indices {
            let (row, areLabelsKnown) = keys.setAsideRow(aside[index].0)
            aside[index].0 = row
            if !areLabelsKnown, SetAsideReason.meansLoss(aside[index].1) { isAllKnown = false }
        }
        let lost = SetAsideReason.lostByRecovery.rawValue
        if !isAllKnown, !aside.contains(where: { $0.1 == lost }) {
            aside.append((.ofLoss(), lost, moment, true))
        }
        guard !aside.isEmpty else { return }
        _ = try store.write(keybagGeneration: keys.ring.keybagGeneration) {
            transaction throws(KeychainFailure) in
            for (row, reason, moment, isVouchedFor) in aside {
                try transaction.addSetAside(
                    row, reason: reason, at: moment, isVouchedFor: isVouchedFor)
            }
        }
    }
}

extension SalvagedRow.Aside {
    /// Whether a process with the keychain's keys set the row aside. Otherwise anyone who can write
    /// the file may have put it there.
    fileprivate func isAuthentic(_ row: SealedRow, _ authenticator: StoreAuthenticator) -> Bool {
        tag == row.asideTag(reason: reason, at: moment, authenticator)
    }
}

// MARK: - Copying

/// The items of the new database.
private struct RecoveredItems {
    let store: Store
    let keys: RecoveryKeys
    /// Rows whose primary key is taken by another item, in either tier.
    private(set) var displaced: [SealedRow] = []
    /// For each item with known attributes, the labels that its primary key would have in the other
    /// tier. A row with these labels has the same primary key, even if it can't be opened.
    private var keysElsewhere: Set<KeyLabels> = []
    private var batch: [WholeRow] = []
    private var count = 0

    init(store: Store, keys: RecoveryKeys) {
        self.store = store
        self.keys = keys
    }

    mutating func add(
        _ row: WholeRow, _ progress: (Int) -> Void = { _ in }
    ) throws(KeychainFailure) {
        batch.append(row)
        count += 1
        if batch.count >= 1000 { try finish(progress) }
    }

    mutating func finish(_ progress: (Int) -> Void = { _ in }) throws(KeychainFailure) {
        // Rows arrive in page order. Within a batch, sorting them by id restores the order in which
        // they were added.
        let rows = batch.sorted { $0.row.id < $1.row.id }
        batch = []
        let keys = keys
        if !rows.isEmpty {
            let taken = try store.insert(rows, keys, &keysElsewhere)
            displaced += taken
        }
        progress(count)
    }
}

/// The labels of a primary key in one tier.
private struct KeyLabels: Hashable {
    let first: Label
    let second: Label
    let rest: Label

    init(_ labels: RowLabels) {
        first = labels.first
        second = labels.second
        rest = labels.rest
    }
}

extension Store {
    /// Adds rows, and adds to `keysElsewhere` the labels of their primary keys in the other tier.
    /// - Returns: The rows whose primary key is taken.
    fileprivate func insert(
        _ rows: [WholeRow], _ keys: RecoveryKeys, _ keysElsewhere: inout Set<KeyLabels>
    ) throws(KeychainFailure) -> [SealedRow] {
        var displaced: [SealedRow] = []
        _ = try write(keybagGeneration: keys.ring.keybagGeneration) {
            transaction throws(KeychainFailure) in
            for found in rows {
                let row = keys.row(found.row)
                let elsewhere = try transaction.labels(of: found, outside: row.tier)
                let isHeld = try transaction.holds(row.labels, elsewhere)
                if isHeld || keysElsewhere.contains(KeyLabels(row.labels)) {
                    displaced.append(found.row)
                } else {
                    try transaction.insert(row, keepingID: true)
                    if let elsewhere { keysElsewhere.insert(KeyLabels(elsewhere)) }
                }
            }
        }
        return displaced
    }
}

extension StoreTransaction {
    /// The labels that a row of the given tier would have in the other tier; `nil` if the row's
    /// attributes are not known.
    fileprivate func labels(
        of found: WholeRow, outside tier: Tier
    ) throws(KeychainFailure) -> RowLabels? {
        guard let record = found.record else { return nil }
        return RowLabels(record, index: try tiers.keys(of: tier == .open ? .guarded : .open).index)
    }

    /// Whether an item has the primary key with the given labels. `elsewhere` are the labels of
    /// this primary key in the other tier.
    fileprivate func holds(
        _ labels: RowLabels, _ elsewhere: RowLabels?
    ) throws(KeychainFailure) -> Bool {
        if try row(under: labels) != nil { return true }
        guard let elsewhere else { return false }
        return try row(under: elsewhere) != nil
    }
}
