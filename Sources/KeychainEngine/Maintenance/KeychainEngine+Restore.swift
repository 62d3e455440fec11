// KeychainEngine+Restore: puts rows that were set aside back among the items, or gives them up.
//   (1) A row goes back only when the tags of both its halves verify, so never with other content
//       than was written.
//   (2) One whose tag of having been set aside is missing or doesn't fit goes back only if it is
//       named.
//   (3) The database is verified before and after: nothing is restored to one that isn't as it was
//       left, and nothing is said to be restored that a verification doesn't find.
//   (4) The row leaves the place where it was set aside in the commit that makes it an item.

import KeychainCrypto
package import KeychainCore
package import KeychainSQLite
import Synchronization

/// What became of a row that was to be restored.
package struct Restoration: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case restored
        /// Its bytes are not what was written.
        case damaged
        /// Another item has the primary key.
        case keyTaken
        /// Its protection class is locked.
        case locked
        /// Nothing vouches for why it was set aside, so it has to be named.
        case altered
    }

    package let reference: ItemReference
    package let outcome: Outcome

    package var isRestored: Bool { outcome == .restored }
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
        try attempt { () throws(KeychainFailure) in
            try restoreInSession(references, progress)
        }
    }

    private func restoreInSession(
        _ references: Set<ItemReference>?, _ progress: (Int, Int) -> Void
    ) throws(KeychainFailure) -> [Restoration] {
        try reloadKeybag()
        let rows = try setAsideRows(references) {
            $0.reason?.isOfItem == true
        }
        guard !rows.isEmpty else { return [] }
        try requireVerified()
        var restorations: [Restoration] = []
        for (index, row) in rows.enumerated() {
            progress(index, rows.count)
            restorations.append(
                Restoration(
                    reference: row.row.reference,
                    outcome: references == nil && !row.isAuthentic ? .altered : try restore(row)))
        }
        try requireVerified()
        return restorations
    }

    private func requireVerified() throws(KeychainFailure) {
        if let problem = try store.verify(notingAt: options.now).problem {
            throw .damagedStore(problem)
        }
    }

    /// Gives up rows that were set aside, for good. A loss by a recovery is one of them.
    ///
    /// - Parameter references: Which. nil: all.
    /// - Returns: Those that are gone, the oldest first.
    /// - Throws: `itemNotFound` where a reference is not that of such a row; nothing is done then.
    @discardableResult
    package func dismissSetAside(
        _ references: Set<ItemReference>? = nil
    ) throws(KeychainFailure) -> [SetAsideRow] {
        try attempt { () throws(KeychainFailure) in
            let rows = try setAsideRows(references)
            guard !rows.isEmpty else { return [] }
            try write { transaction throws(KeychainFailure) in
                for row in rows { try transaction.removeSetAside(row) }
            }
            return rows
        }
    }

    /// The rows that were set aside, oldest first: those that are named, or all that `isMeant`.
    ///
    /// - Throws: `itemNotFound` where a reference is not that of such a row.
    package func setAsideRows(
        _ references: Set<ItemReference>?, where isMeant: (SetAsideRow) -> Bool = { _ in true }
    ) throws(KeychainFailure) -> [SetAsideRow] {
        let rows = try setAsideRows().filter {
            references?.contains($0.row.reference) ?? isMeant($0)
        }
        guard references.map({ Set(rows.map(\.row.reference)) == $0 }) ?? true else {
            throw KeychainFailure(.itemNotFound, "No such item is set aside.")
        }
        return rows
    }

    private func restore(_ setAside: SetAsideRow) throws(KeychainFailure) -> Restoration.Outcome {
        guard let protection = ProtectionClass(rawValue: setAside.row.protection) else {
            return .damaged
        }
        guard let keys = try? keys(for: protection) else { return .locked }
        let rowKeys = RowKeys(
            keychainID: store.keychainID, tiers: store.tiers, classes: [protection: keys])
        guard case .whole(let record, _) = rowKeys.condition(of: setAside.row) else {
            return .damaged
        }
        // Whether its place is free isn't known before the first unlock.
        guard store.tiers.guarded != nil else { return .locked }
        return try putBack(setAside, record) ? .restored : .keyTaken
    }

    /// - Returns: Whether the place of the row was free.
    private func putBack(
        _ setAside: SetAsideRow, _ record: ItemRecord
    ) throws(KeychainFailure) -> Bool {
        let row = setAside.row
        do {
            try write { transaction throws(KeychainFailure) in
                guard try transaction.row(withReference: row.reference) == nil else {
                    throw .duplicateItem
                }
                try makeRoom(
                    for: record, row.labels, in: row.tier, replacing: nil, in: &transaction)
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
