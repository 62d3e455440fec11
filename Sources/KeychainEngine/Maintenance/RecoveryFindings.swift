// RecoveryFindings: the rows found in damaged files, and which of them are items.
//   (1) An authentic header decides. Its digest is a sum over all items, so it shows whether a set
//       of rows is complete.
//   (2) A page states how many cells it has, and where they are: these are its counted cells. At
//       most two sets of rows are tried: first the undamaged rows in counted cells, then these and
//       the damaged rows in counted cells. If a set has fewer rows than the header states, rows
//       from elsewhere are added, in the order in which they were found, until the number is
//       reached.
//   (3) If no set matches the digest, the rows of sound pages become items, but it is not confirmed
//       that they are the latest: a page of an earlier commit is sound, too.
//   (4) An undamaged row on a damaged page becomes an item if the digest confirms it. Otherwise it
//       may be a row of an earlier commit that was put there, so it is set aside, and restored only
//       if the caller names it.

import KeychainCore
import KeychainCrypto
import KeychainSQLite

/// An undamaged row: its tags verify or, if the keys of its class are not available, the tag of
/// its page verifies. In the second case, `record` is `nil`.
struct WholeRow {
    let row: SealedRow
    let record: ItemRecord?
}

struct RecoveryFindings {
    /// The rows that are items in any case, and the sum of their contributions to the digest.
    private(set) var copied: Set<ItemReference> = []
    private(set) var digest = TierDigests()
    /// Undamaged rows in counted cells of damaged pages.
    private(set) var unconfirmed: [WholeRow] = []
    /// Undamaged rows outside the counted cells: each is an item or the remains of a deleted one.
    private(set) var stray: [WholeRow] = []
    /// Rows whose tags don't verify or can't be checked, except those vouched for by their page.
    /// For each reference, the first row found in a counted cell or, if there is none, the first
    /// row found.
    private(set) var damaged: [ItemReference: DamagedRow] = [:]
    /// Rows that were set aside before: those in counted cells, and others.
    private(set) var setAside: [(row: SealedRow, aside: SalvagedRow.Aside)] = []
    private(set) var straySetAside: [(row: SealedRow, aside: SalvagedRow.Aside)] = []

    struct DamagedRow {
        let row: SealedRow
        let isInCell: Bool
        /// Whether the attributes open, which shows that the labels are the row's own.
        let areLabelsKnown: Bool
    }

    var damagedInCells: [DamagedRow] { damaged.values.filter(\.isInCell) }

    /// Examines every row. Rows that are items in any case are passed to `take` and not kept.
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
            // The key is not available, but the page's tag shows that the row is undamaged.
            try note(certain: WholeRow(row: row, record: nil), keys, take)
        case .whole(let record, _) where candidate.isInCell:
            unconfirmed.append(WholeRow(row: row, record: record))
        case .whole(let record, _):
            stray.append(WholeRow(row: row, record: record))
        case let other:
            let areLabelsKnown = if case .withoutSecret = other { true } else { false }
            let earlier = damaged[row.reference]
            if earlier == nil || candidate.isInCell && earlier?.isInCell == false {
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
    /// Whether the rows add up to the header's digest and count.
    let isVerified: Bool
    /// How many of the rows outside the counted cells are items: the first ones found.
    let strayCount: Int
    /// Whether the damaged rows are items. Also `true` if nothing is verified, because these rows
    /// may be items.
    let areDamagedItems: Bool

    /// - Parameters:
    ///   - header: The header of the last commit; `nil` if none is found, or only an older one.
    ///   - findings: All rows found in the damaged files.
    ///   - tiers: The tiers of the damaged database's keys.
    init(_ header: StoreHeader?, _ findings: RecoveryFindings, _ tiers: StoreTiers) {
        let stray = findings.stray.map { tiers.contribution(of: $0.row) }
        let unconfirmed = findings.unconfirmed.map { tiers.contribution(of: $0.row) }
        // These contributions are computed from damaged rows, so they are right only if the damage
        // is in bytes that the digest doesn't cover.
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
