// KeychainEngine+Delete: deleting all items that match, or none.
//   (1) A locked row is deleted without being opened where the labels alone choose it, and the row
//       itself has those labels. No other row is deleted that was not opened.
//   (2) All or none: a deletion that meets a row it can't judge fails and changes nothing.
//   (3) By class alone, a program without entitlements reaches what it added itself, see
//       `AccessGroups.isConfined`.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    package func execute(
        _ request: DeleteItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try logged(request) { () throws(KeychainFailure) in
            let query = request.query
            try authorizeWrite(caller, group: query.accessGroup)
            return try write { transaction throws(KeychainFailure) in
                try transaction.requireGuardedTier()
                try keepVersions(isAsked: request.keepsVersions, in: &transaction)
                let search = transaction.search(query, visibleTo: caller)
                var count = 0
                for candidate in try transaction.rows(search, includesSecret: false) {
                    if try delete(
                        candidate, query, search, caller, request.tombstones, in: &transaction)
                    {
                        count += 1
                    }
                }
                if count == 0 {
                    try store.requireSound()
                    throw .itemNotFound
                }
                return count
            }
        }
    }

    private func delete(
        _ candidate: Store.Found, _ query: ItemQuery, _ search: RowSearch,
        _ caller: AccessGroups, _ tombstones: TombstonePolicy,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Bool {
        guard case .row(let row) = candidate else {
            throw .damagedStore("a row has columns of the wrong kind")
        }
        let isConfined = caller.isConfined(by: query)
        // Group labels are absent only for a caller that may see every group.
        let isChosen = search.isDecided(by: query) && !search.groups.isEmpty && !isConfined
        var damaged = DamagedRows()
        let opened: OpenedRow?
        do {
            opened = try open(candidate, for: search, noting: &damaged)
        } catch {
            // Only a lock is passed over. What the row may leave behind for others to see needs its
            // attributes.
            guard error.status == .interactionNotAllowed, isChosen, tombstones != .always,
                query.isSynchronizable == false
            else { throw error }
            guard search.includes(row) else { throw .misleadingIndex }
            try transaction.delete(row)
            return true
        }
        guard let opened else {
            // The labels are not authenticated, but they are all there is to go by, and the
            // caller asked for the row to go. It is kept aside.
            guard isChosen || search.reference != nil else { return false }
            guard search.includes(row) else { throw .misleadingIndex }
            if let elsewhere = damaged.elsewhere {
                // A tombstone needs the attributes.
                guard tombstones != .always else { throw elsewhere }
                try transaction.delete(row)
                return true
            }
            try transaction.setAside(
                row, reason: .deleted, at: options.now())
            return true
        }
        guard opened.record.matches(query, search, opened.protection, caller: caller),
            !isConfined || caller.hasAdded(opened.record)
        else { return false }
        try delete(opened, tombstones, in: &transaction)
        return true
    }

    /// Deletes an item, and leaves a tombstone where the policy says so.
    func delete(
        _ opened: OpenedRow, _ tombstones: TombstonePolicy,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        try transaction.delete(opened.row, isOfItem: !opened.record.isTombstone)
        let leaves =
            switch tombstones {
            case .always: true
            case .never: false
            case .automatic: opened.record.isSynchronizable && !opened.record.isTombstone
            }
        if leaves { try leaveTombstone(for: opened, in: &transaction) }
    }

    /// Leaves a row with the key of an item and nothing else, so that its deletion can be told.
    func leaveTombstone(
        for opened: OpenedRow, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        let old = opened.record
        let kept = old.itemClass.primaryKey
        var record = ItemRecord(
            itemClass: old.itemClass,
            attributes: old.attributes.filter {
                kept.contains($0.key) || $0.key == .creationDate
            },
            accessGroup: old.accessGroup, isSynchronizable: old.isSynchronizable,
            isTombstone: true)
        record.attributes[.modificationDate] = .date(options.now())
        try removeTombstones(of: record, in: &transaction)
        let binding = RowBinding(
            keychainID: store.keychainID, reference: .random(),
            protection: opened.protection.rawValue,
            labels: RowLabels(
                record, index: try transaction.tiers.keys(of: opened.protection.tier).index))
        try transaction.insert(SealedRow(binding, record, keys: opened.keys, secret: nil))
    }

    /// Deletes the tombstones under the primary key of one, of whichever tier. `id` is that of a row that
    /// stays.
    func removeTombstones(
        of tombstone: ItemRecord, butNot id: Int64? = nil, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        for tier in Tier.allCases where transaction.header.count(of: tier) > 0 {
            let labels = RowLabels(tombstone, index: try transaction.tiers.keys(of: tier).index)
            guard let row = try transaction.row(under: labels), row.id != id else { continue }
            if case .damaged = open(row) {
                try transaction.setAside(row, reason: .replaced, at: options.now())
            } else {
                try transaction.delete(row, isOfItem: false)
            }
        }
    }
}
