// KeychainEngine+Restore: puts rows that were set aside back among the items.
//   (1) A row goes back only when the tags of both its halves verify, so never with other content
//       than was written.
//   (2) The row leaves the place where it was set aside in the commit that makes it an item.

import KeychainCrypto
package import KeychainModel
import KeychainStore
import Synchronization

/// What became of a row that was to be restored.
package struct Restoration: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case restored
        /// One byte was not as it had been written. It is now.
        case mended
        /// More than one byte is wrong, or the value is too large to look for it.
        case damaged
        /// Another item has the primary key.
        case keyTaken
        /// Its protection class is locked.
        case locked
    }

    /// As it stood where the row was set aside; that of the item may differ by the mended byte.
    package let reference: ItemReference
    package let outcome: Outcome

    package var isRestored: Bool { outcome == .restored || outcome == .mended }
}

extension KeychainEngine {
    /// Puts rows that were set aside back in their places.
    ///
    /// - Parameters:
    ///   - references: Which. nil: all that a check or a recovery found damaged. One that was
    ///     deleted, replaced, or may have been, goes back only if it is named.
    ///   - progress: Called before each row with the number of rows done and the number of all.
    /// - Returns: What became of each, the oldest first. What isn't restored stays set aside.
    /// - Throws: `itemNotFound` where a reference is not that of such a row; nothing is done then.
    package func restoreSetAside(
        _ references: Set<ItemReference>? = nil, progress: (Int, Int) -> Void = { _, _ in }
    ) throws(KeychainFailure) -> [Restoration] {
        try reloadKeybag()
        let rows = try store.setAsideRows()
            .filter { row in
                references?.contains(row.row.reference)
                    ?? (SetAsideReason(rawValue: row.reason)?.isOfItem == true)
            }
        guard references.map({ Set(rows.map(\.row.reference)) == $0 }) ?? true else {
            throw KeychainFailure(.itemNotFound, "No such item is set aside.")
        }
        var restorations: [Restoration] = []
        for (index, row) in rows.enumerated() {
            progress(index, rows.count)
            restorations.append(
                Restoration(reference: row.row.reference, outcome: try restore(row)))
        }
        return restorations
    }

    private func restore(_ setAside: SetAsideRow) throws(KeychainFailure) -> Restoration.Outcome {
        let known = ProtectionClass(rawValue: setAside.row.protection)
        // The class of a damaged row may be any.
        let classes = known.map { [$0] } ?? ProtectionClass.allCases
        var isLocked = false
        for protection in classes {
            guard let keys = try? keys(for: protection) else {
                isLocked = true
                continue
            }
            let mending = RowMending(
                keychainID: store.keychainID, protection: protection, keys: keys)
            guard let whole = mending.whole(setAside.row) else { continue }
            guard try putBack(whole.row, whole.record, setAside) else { return .keyTaken }
            return whole.row == setAside.row ? .restored : .mended
        }
        return isLocked ? .locked : .damaged
    }

    /// - Returns: Whether the place of the row was free.
    private func putBack(
        _ row: SealedRow, _ record: ItemRecord, _ setAside: SetAsideRow
    ) throws(KeychainFailure) -> Bool {
        do {
            try write { transaction throws(KeychainFailure) in
                guard try transaction.row(withReference: row.reference) == nil else {
                    throw .duplicateItem
                }
                try makeRoom(for: record, row.labels, replacing: nil, in: &transaction)
                try transaction.insert(row)
                try transaction.removeSetAside(setAside)
            }
            return true
        } catch {
            guard error.status == .duplicateItem else { throw error }
            return false
        }
    }
}
