// RecoveryRun: the rebuilding of a database, see Recovery.swift for what it guarantees, and which
// of the rows that it found are items.
//   (1) An authentic header decides: its digest is a sum over all items, so it tells whether a set
//       of rows is all of them.
//   (2) One set is tried, or two: what cells lead to, without the damaged rows and with them, and
//       as many of the other rows, in the order in which they were found, as the count still lacks.
//   (3) A whole row on a damaged page is an item where the digest says so. Otherwise it may be one of
//       an earlier commit that somebody put there, and goes back by name only.

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

    /// Makes the new database, whole and closed.
    mutating func rebuild(
        deviceKey: SecretBytes, passcode: SecretBytes?, _ progress: (Int) -> Void
    ) throws(KeychainFailure) {
        guard folder.exists(.database) || folder.exists(.writeAheadLog) else {
            throw folder.failureForMissingDatabase
        }
        let salvage = try openFiles(deviceKey)
        let keys = try RecoveryKeys(
            salvage, in: folder, deviceKey: deviceKey, passcode: passcode, options)
        let ring = keys.ring
        let headers = salvage.headers(keys.old.tiers)
        let authenticator = keys.old.tiers.open.authenticator
        let last = [
            Anchor.last(in: folder, authenticator),
            FreshnessNote.lastGeneration(
                in: folder, keychainID: keys.old.keychainID, authenticator, place: options.place),
        ].compactMap(\.self).max()
        let newest = min(max(headers.highestGeneration, last ?? 0), .max - 1)

        try rebuilt.prepare()
        let file = try StoreFile.create(
            rebuilt, hierarchy: ring.hierarchy, tiers: ring.tiers, deviceKey: deviceKey,
            generation: newest + 1, blobClasses: Set(ProtectionClass.allCases))
        defer { file.close() }
        let store = try Store(
            file, keychainID: ring.hierarchy.keybag.keychainID, tiers: ring.tiers)
        let findings = try copyRows(of: salvage, to: store, keys, progress)
        // An older header vouches for items that were changed or deleted since.
        let header = headers.committed.flatMap { $0.generation >= last ?? 0 ? $0 : nil }
        try place(findings, header, in: store, keys)
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

    // MARK: Copying what is whole

    /// What the damaged files hold.
    private struct Findings {
        /// The rows that were copied, and what they add to the digest.
        var copied: Set<ItemReference> = []
        var digest = TierDigests()
        /// Whole rows of cells on damaged pages.
        var unconfirmed: [SealedRow] = []
        /// Whole rows that no cell leads to: each is an item, or the remains of a deleted one.
        var stray: [SealedRow] = []
        /// Rows whose tags don't verify, the first of each reference.
        var damaged: [ItemReference: DamagedRow] = [:]
        /// Rows that were set aside before: those that cells lead to, and others.
        var setAside: [(row: SealedRow, aside: SalvagedRow.Aside)] = []
        var straySetAside: [(row: SealedRow, aside: SalvagedRow.Aside)] = []
    }

    private struct DamagedRow {
        let row: SealedRow
        let isInCell: Bool
        /// Whether its attributes open, so that its labels are its own.
        let areLabelsKnown: Bool
    }

    private func copyRows(
        of salvage: RowSalvage, to store: Store, _ keys: RecoveryKeys, _ progress: (Int) -> Void
    ) throws(KeychainFailure) -> Findings {
        var findings = Findings()
        var batch: [SealedRow] = []
        var failure: KeychainFailure?
        salvage.forEachRow { candidate in
            guard failure == nil else { return }
            let row = candidate.row
            if let aside = candidate.aside {
                if candidate.isInCell {
                    findings.setAside.append((row, aside))
                } else {
                    findings.straySetAside.append((row, aside))
                }
                return
            }
            guard !findings.copied.contains(row.reference) else { return }
            switch keys.old.condition(of: row) {
            case .whole where candidate.isInCell && !candidate.isOnSoundPage:
                findings.unconfirmed.append(row)
            case .whole where candidate.isInCell,
                // A key that isn't there: the page's tag says that the row is whole.
                .locked
            where candidate.isInCell && candidate.isOnSoundPage
                && !keys.old.tiers.isVersion1:
                findings.copied.insert(row.reference)
                findings.digest = findings.digest + keys.old.tiers.contribution(of: row)
                batch.append(row)
            case .whole:
                findings.stray.append(row)
            case let other:
                let areLabelsKnown = if case .withoutSecret = other { true } else { false }
                if findings.damaged[row.reference]?.isInCell != true {
                    findings.damaged[row.reference] = DamagedRow(
                        row: row, isInCell: candidate.isInCell, areLabelsKnown: areLabelsKnown)
                }
            }
            guard batch.count >= 1000 else { return }
            do throws(KeychainFailure) {
                try Self.insert(batch, in: store, keys)
                progress(findings.copied.count)
                batch = []
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        try Self.insert(batch, in: store, keys)
        progress(findings.copied.count)
        var known = findings.copied
        findings.unconfirmed = findings.unconfirmed.filter { known.insert($0.reference).inserted }
        findings.stray = findings.stray.filter { known.insert($0.reference).inserted }
        findings.damaged = findings.damaged.filter { !known.contains($0.key) }
        return findings
    }

    private static func insert(
        _ rows: [SealedRow], in store: Store, _ keys: RecoveryKeys
    ) throws(KeychainFailure) {
        guard !rows.isEmpty else { return }
        _ = try store.write(keybagGeneration: keys.ring.keybagGeneration) {
            transaction throws(KeychainFailure) in
            // Rows come by page; within a batch the order of addition is put back.
            for row in rows.sorted(by: { $0.id < $1.id }) {
                let row = keys.row(row)
                if try transaction.row(under: row.labels) == nil {
                    try transaction.insert(row, keepingID: true)
                }
            }
        }
    }

    // MARK: Deciding what is an item

    /// Gives each row that was not copied its place: among the items, or set aside.
    private mutating func place(
        _ findings: Findings, _ header: StoreHeader?, in store: Store, _ keys: RecoveryKeys
    ) throws(KeychainFailure) {
        let tiers = keys.old.tiers
        let inCells = findings.damaged.values.filter(\.isInCell)
        let settlement = Settlement(
            header, copied: (findings.copied.count, findings.digest),
            unconfirmed: findings.unconfirmed.map { tiers.contribution(of: $0) },
            stray: findings.stray.map { tiers.contribution(of: $0) },
            damaged: inCells.map { tiers.contribution(of: $0.row) })
        try Self.insert(
            (settlement.isVerified ? findings.unconfirmed : [])
                + findings.stray.prefix(settlement.strayCount),
            in: store, keys)
        report.isVerified = settlement.isVerified
        report.expectedCount = header.map { Int(clamping: $0.itemCount) }

        func sorted(_ rows: some Sequence<SealedRow>) -> [SealedRow] {
            rows.sorted { $0.reference.description < $1.reference.description }
        }
        let damaged =
            !settlement.areDamagedItems
            ? [] : settlement.isVerified ? inCells : Array(findings.damaged.values)
        let doubtful =
            settlement.isVerified
            ? [] : sorted(findings.unconfirmed + findings.stray.dropFirst(settlement.strayCount))
        report.damagedItems = sorted(damaged.map(\.row)).map(\.reference)
        report.doubtfulItems = doubtful.map(\.reference)

        // What is set aside has no digest; its count tells how many of it are missing.
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
            settlement.isVerified && damaged.allSatisfy(\.areLabelsKnown)
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
    /// Whether a keychain set the row aside: otherwise anyone may have put it there.
    fileprivate func isAuthentic(_ row: SealedRow, _ authenticator: StoreAuthenticator) -> Bool {
        tag == row.asideTag(reason: reason, at: moment, authenticator)
    }
}

// MARK: - Which rows are items

struct Settlement {
    /// Whether the rows make up the header's digest and its count.
    let isVerified: Bool
    /// How many rows, from the first on, that no cell leads to are items.
    let strayCount: Int
    /// Whether the damaged rows are items. Where nothing is verified they may be.
    let areDamagedItems: Bool

    /// - Parameters:
    ///   - header: The one of the last commit; nil where none is found, or only an older one.
    ///   - copied: How many whole rows cells lead to, and the sum of their contributions.
    ///   - unconfirmed: The contributions of whole rows that cells on damaged pages lead to.
    ///   - stray: The contributions of whole rows that no cell leads to.
    ///   - damaged: The contributions of damaged rows that cells lead to, as far as their bytes
    ///     still tell.
    init(
        _ header: StoreHeader?, copied: (count: Int, digest: TierDigests),
        unconfirmed: [TierDigests] = [], stray: [TierDigests], damaged: [TierDigests]
    ) {
        for lost in damaged.isEmpty ? [[]] : [[], damaged] {
            guard let header else { break }
            let certain = unconfirmed + lost
            let missing = Int(clamping: header.itemCount) - copied.count - certain.count
            guard stray.indices.contains(missing) || missing == stray.count else { continue }
            guard header.vouches(for: (stray.prefix(missing) + certain).reduce(copied.digest, +))
            else { continue }
            (isVerified, strayCount, areDamagedItems) = (true, missing, !lost.isEmpty)
            return
        }
        (isVerified, strayCount, areDamagedItems) = (false, 0, true)
    }
}
