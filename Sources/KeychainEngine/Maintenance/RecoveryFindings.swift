// RecoveryFindings: the rows that damaged files hold, and which of them are items.
//   (1) An authentic header decides: its digest is a sum over all items, so it tells whether a set
//       of rows is all of them.
//   (2) One set is tried, or two: what cells lead to, without the damaged rows and with them, and
//       as many of the other rows, in the order in which they were found, as the count still lacks.
//   (3) Where no set comes out, the rows of pages that are as they were written are items, and that they
//       are the latest is not confirmed: a page of an earlier time is one that was written, too.
//   (4) A whole row on a damaged page is an item where the digest says so. Otherwise it may be one of
//       an earlier commit that was put there, and goes back by name only.

import KeychainCore
import KeychainCrypto
import KeychainSQLite

/// A row that is as it was written, and its attributes; nil: its key isn't there.
struct WholeRow {
    let row: SealedRow
    let record: ItemRecord?
}

struct RecoveryFindings {
    /// The rows that are items in any case, and what they add to the digest.
    private(set) var copied: Set<ItemReference> = []
    private(set) var digest = TierDigests()
    /// Whole rows of cells on damaged pages.
    private(set) var unconfirmed: [WholeRow] = []
    /// Whole rows that no cell leads to: each is an item, or the remains of a deleted one.
    private(set) var stray: [WholeRow] = []
    /// Rows whose tags don't verify, the first of each reference.
    private(set) var damaged: [ItemReference: DamagedRow] = [:]
    /// Rows that were set aside before: those that cells lead to, and others.
    private(set) var setAside: [(row: SealedRow, aside: SalvagedRow.Aside)] = []
    private(set) var straySetAside: [(row: SealedRow, aside: SalvagedRow.Aside)] = []

    struct DamagedRow {
        let row: SealedRow
        let isInCell: Bool
        /// Whether its attributes open, so that its labels are its own.
        let areLabelsKnown: Bool
    }

    var damagedInCells: [DamagedRow] { damaged.values.filter(\.isInCell) }

    /// Looks at every row. `take` is given those that are items in any case; they are not kept.
    init(
        of salvage: RowSalvage, _ keys: RowKeys, _ take: (WholeRow) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        var failure: KeychainFailure?
        salvage.forEachRow { candidate in
            guard failure == nil else { return }
            do throws(KeychainFailure) {
                try note(candidate, keys, take)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        var known = copied
        unconfirmed = unconfirmed.filter { known.insert($0.row.reference).inserted }
        stray = stray.filter { known.insert($0.row.reference).inserted }
        damaged = damaged.filter { !known.contains($0.key) }
    }

    private mutating func note(
        _ candidate: SalvagedRow, _ keys: RowKeys,
        _ take: (WholeRow) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        let row = candidate.row
        if let aside = candidate.aside {
            if candidate.isInCell {
                setAside.append((row, aside))
            } else {
                straySetAside.append((row, aside))
            }
            return
        }
        guard !copied.contains(row.reference) else { return }
        let isCertain = candidate.isInCell && candidate.isOnSoundPage
        switch keys.condition(of: row) {
        case .whole(let record, _) where isCertain:
            try note(certain: WholeRow(row: row, record: record), keys, take)
        case .locked where isCertain && !keys.tiers.isVersion1:
            // A key that isn't there: the page's tag says that the row is whole.
            try note(certain: WholeRow(row: row, record: nil), keys, take)
        case .whole(let record, _) where candidate.isInCell:
            unconfirmed.append(WholeRow(row: row, record: record))
        case .whole(let record, _):
            stray.append(WholeRow(row: row, record: record))
        case let other:
            let areLabelsKnown = if case .withoutSecret = other { true } else { false }
            if damaged[row.reference]?.isInCell != true {
                damaged[row.reference] = DamagedRow(
                    row: row, isInCell: candidate.isInCell, areLabelsKnown: areLabelsKnown)
            }
        }
    }

    private mutating func note(
        certain found: WholeRow, _ keys: RowKeys,
        _ take: (WholeRow) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        copied.insert(found.row.reference)
        digest = digest + keys.tiers.contribution(of: found.row)
        try take(found)
    }
}

// MARK: - Which rows are items

struct RecoveryResolver {
    /// Whether the rows make up the header's digest and its count.
    let isVerified: Bool
    /// How many rows, from the first on, that no cell leads to are items.
    let strayCount: Int
    /// Whether the damaged rows are items. Where nothing is verified they may be.
    let areDamagedItems: Bool

    /// - Parameters:
    ///   - header: The one of the last commit; nil where none is found, or only an older one.
    ///   - findings: All that the damaged files hold.
    ///   - tiers: Those of the keys of the damaged database.
    init(_ header: StoreHeader?, _ findings: RecoveryFindings, _ tiers: StoreTiers) {
        let stray = findings.stray.map { tiers.contribution(of: $0.row) }
        let unconfirmed = findings.unconfirmed.map { tiers.contribution(of: $0.row) }
        // As far as their bytes still tell.
        let damaged = findings.damagedInCells.map { tiers.contribution(of: $0.row) }
        for lost in damaged.isEmpty ? [[]] : [[], damaged] {
            guard let header else { break }
            let certain = unconfirmed + lost
            let missing = Int(clamping: header.itemCount) - findings.copied.count - certain.count
            guard stray.indices.contains(missing) || missing == stray.count else { continue }
            guard header.vouches(for: (stray.prefix(missing) + certain).reduce(findings.digest, +))
            else { continue }
            (isVerified, strayCount, areDamagedItems) = (true, missing, !lost.isEmpty)
            return
        }
        (isVerified, strayCount, areDamagedItems) = (false, 0, true)
    }
}
