// KeychainEngine+Delete: deletes all items that match, or none.
//   (1) Some rows are removed without being opened. A locked row is deleted if labels alone,
//       including that of the group, decide that it matches, the query is for local items only, and
//       the request doesn't ask for a tombstone. A damaged row is set aside if labels alone decide
//       that it matches, or if the query names its reference. Under the same conditions as a
//       damaged row, a row bound to another machine is deleted or, if the request asks for a
//       tombstone, makes the deletion fail. Every other row is opened before it is deleted.
//   (2) A deletion that encounters any other locked row, or a row with columns of the wrong kind,
//       fails and changes nothing. It skips other damaged rows and other rows bound to another
//       machine.
//   (3) If the query identifies no particular items, a program without entitlements deletes only
//       items that it added itself, see `AccessGroups.isConfined`.
//   (4) A hardware key that is deleted leaves no version, unless the request asks for one: a
//       program deletes it so that nothing can use it any more. A row that isn't opened counts as a
//       hardware key if the query is for hardware keys.

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
                try keepVersions(isRequested: request.keepsVersions, in: &transaction)
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
        let isOfHardware = query.itemClass == .key && query.attributes.nameSecureEnclave
        var damaged = DamagedRows()
        let opened: OpenedRow?
        do {
            opened = try open(candidate, for: search, noting: &damaged)
        } catch {
            // Of these errors, only a lock permits the deletion. A tombstone needs the row's
            // attributes, so only a local item is deleted, and only without a tombstone.
            guard error.status == .interactionNotAllowed, isChosen, tombstones != .always,
                query.isSynchronizable == false
            else { throw error }
            guard search.includes(row) else { throw .misleadingIndex }
            try deleteRow(row, isOfHardware: isOfHardware, in: &transaction)
            return true
        }
        guard let opened else {
            // The labels are not authenticated, but nothing else of the row is readable, and the
            // caller asked to delete it. A damaged row is set aside; a row bound to another machine
            // is deleted.
            guard isChosen || search.reference != nil else { return false }
            guard search.includes(row) else { throw .misleadingIndex }
            if let elsewhere = damaged.elsewhere {
                // A tombstone needs the attributes.
                guard tombstones != .always else { throw elsewhere }
                try deleteRow(row, isOfHardware: isOfHardware, in: &transaction)
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

    /// Deletes an item, and leaves a tombstone if the policy requires one.
    func delete(
        _ opened: OpenedRow, _ tombstones: TombstonePolicy,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        try deleteRow(
            opened.row, isOfItem: !opened.record.isTombstone,
            isOfHardware: opened.record.isOfSecureEnclave, in: &transaction)
        let leaves =
            switch tombstones {
            case .always: true
            case .never: false
            case .automatic: opened.record.isSynchronizable && !opened.record.isTombstone
            }
        if leaves { try leaveTombstone(for: opened, in: &transaction) }
    }

    private func deleteRow(
        _ row: SealedRow, isOfItem: Bool = true, isOfHardware: Bool,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        let leavesNothing = isOfHardware && !transaction.keepsRequestedVersions
        try transaction.delete(row, isOfItem: isOfItem && !leavesNothing)
        if leavesNothing { try transaction.deleteVersions(ofItem: row.reference) }
    }

    /// Inserts a tombstone, which has only the primary key and the creation date of the item, and a
    /// new modification date. It tells other devices about the deletion.
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
        record.attributes[.modificationDate] = .date(nextModification(of: old))
        record.makeLater(than: try removeTombstones(of: record, in: &transaction))
        let binding = RowBinding(
            keychainID: store.keychainID, reference: .random(),
            protection: opened.protection.rawValue,
            labels: RowLabels(
                record, index: try transaction.tiers.keys(of: opened.protection.tier).index))
        try transaction.insert(SealedRow(binding, record, keys: opened.keys, secret: nil))
    }

    /// Deletes the tombstones that have the primary key of `tombstone`, in both tiers. Damaged ones
    /// are set aside. The row with `id` is kept.
    ///
    /// - Returns: The latest modification date of those that could be opened, in seconds since
    ///   2001-01-01; `nil` if there are none. The item that takes their place must have a later
    ///   date, because other machines keep the later of two versions.
    @discardableResult
    func removeTombstones(
        of tombstone: ItemRecord, butNot id: Int64? = nil, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Double? {
        var latest: Double?
        for tier in Tier.allCases where transaction.header.count(of: tier) > 0 {
            let labels = RowLabels(tombstone, index: try transaction.tiers.keys(of: tier).index)
            guard let row = try transaction.row(under: labels), row.id != id else { continue }
            switch open(row) {
            case .damaged:
                try transaction.setAside(row, reason: .replaced, at: options.now())
                continue
            case .opened(let opened): latest = max(latest ?? opened.modified, opened.modified)
            case .locked: break
            }
            try transaction.delete(row, isOfItem: false)
        }
        return latest
    }
}

extension ItemRecord {
    /// If the modification date isn't later than `moment`, sets it to a millisecond after `moment`.
    /// Changes nothing if `moment` has reached ``dateLimit``.
    mutating func makeLater(than moment: Double?) {
        guard let moment, moment < Self.dateLimit,
            case .date(let modified) = attributes[.modificationDate], modified <= moment
        else { return }
        attributes[.modificationDate] = .date(moment + 0.001)
    }
}
