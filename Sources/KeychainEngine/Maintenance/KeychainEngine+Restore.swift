// KeychainEngine+Restore: puts rows that were set aside back among the items, or dismisses them.
//   (1) A row goes back only if the tags of both its attributes and its secret verify, so it always
//       has the content that was written.
//   (2) Setting a row aside adds a tag to it. If that tag is missing or invalid, the row goes back
//       only if the caller names it.
//   (3) The database is verified before and after. Nothing is restored to a database that differs
//       from its last commit. Outcomes are returned only if the verification afterwards succeeds.
//       If it finds damage, the error says whether items have been put back.
//   (4) The commit that makes the row an item also removes it from the rows set aside.

import KeychainCrypto
package import KeychainCore
package import KeychainSQLite
import Synchronization

/// The outcome of restoring one row.
package struct Restoration: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case restored
        /// The row doesn't open: its bytes differ from what was written, or it was sealed under
        /// other keys.
        case damaged
        /// Another item has the primary key or the reference.
        case keyTaken
        /// The keys of its protection class aren't available, or the keychain was not unlocked yet.
        case locked
        /// Nothing authenticates the reason for which the row was set aside, so the caller has to
        /// name the row.
        case altered
    }

    package let reference: ItemReference
    package let outcome: Outcome

    package var isRestored: Bool { outcome == .restored }
}

extension KeychainEngine {
    /// Puts rows that were set aside back among the items.
    ///
    /// - Parameters:
    ///   - references: The rows to restore. `nil` for all rows that a check or a recovery found
    ///     damaged. A row that was, or may have been, deleted or replaced goes back only if it is
    ///     named here.
    ///   - progress: Called before each row with the number of rows done and the total number.
    /// - Returns: The outcome for each row, oldest first. Rows that aren't restored stay set aside.
    /// - Throws: `itemNotFound` if, for any of the references, no row is set aside, and
    ///   `notAvailable` if the database is damaged. If the damage is found before the first row is
    ///   restored, nothing is changed.
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
        do throws(KeychainFailure) {
            for (index, row) in rows.enumerated() {
                progress(index, rows.count)
                restorations.append(
                    Restoration(
                        reference: row.row.reference,
                        outcome: references == nil && !row.isAuthentic ? .altered : try restore(row)
                    ))
            }
            try requireVerified()
        } catch {
            guard error.cause == .damage, restorations.contains(where: \.isRestored) else {
                throw error
            }
            throw .damagedStore(
                store.knownDamage ?? "the database can't be read completely",
                change: "Items that were set aside have been put back.")
        }
        return restorations
    }

    private func requireVerified() throws(KeychainFailure) {
        if let problem = try store.verify(notingAt: options.now).problem {
            throw .damagedStore(problem)
        }
    }

    /// Permanently dismisses rows that were set aside. The row by which a recovery records that
    /// items were lost is such a row, too.
    ///
    /// - Parameter references: The rows to dismiss. `nil` for all.
    /// - Returns: The rows that were removed, oldest first.
    /// - Throws: `itemNotFound` if, for any of the references, no row is set aside. Nothing is
    ///   changed then.
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

    /// The rows that were set aside, oldest first: those with the given references, or, if
    /// `references` is `nil`, all that satisfy `isMeant`.
    ///
    /// - Throws: `itemNotFound` if, for any of the references, no row is set aside.
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
        // Before the first unlock it can't be determined whether the row's primary key is free.
        guard store.tiers.guarded != nil else { return .locked }
        return try putBack(setAside, record) ? .restored : .keyTaken
    }

    /// - Returns: `false` if an item has the row's primary key or reference. Nothing is changed
    ///   then.
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
