// KeychainEngine+Add: adding one item, or several in one transaction.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite

extension KeychainEngine {
    package func execute(
        _ request: AddItem, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        try logged(request) { () throws(KeychainFailure) in
            let item = request.item
            let group = try group(of: item, for: caller)
            return try write { transaction throws(KeychainFailure) in
                // A locked keychain is reported before a duplicate.
                try transaction.requireGuardedTier()
                let keys = try keys(for: item.protection)
                return try insert(
                    item, group: group, by: caller.program, keys: keys, into: &transaction)
            }
        }
    }

    package func execute(
        _ request: AddItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try logged(request) { () throws(KeychainFailure) in
            let items = request.items
            guard !items.isEmpty else { throw .param("There is no item to add.") }
            var groups: [String] = []
            for item in items { groups.append(try group(of: item, for: caller)) }
            let answer = try write { transaction throws(KeychainFailure) in
                // A locked keychain is reported before a duplicate, and before anything is sealed.
                try transaction.requireGuardedTier()
                var keys: [ClassKeys] = []
                for item in items { keys.append(try self.keys(for: item.protection)) }
                var added: [ItemSnapshot] = []
                for (index, item) in items.enumerated() {
                    added.append(
                        try insert(
                            item, group: groups[index], by: caller.program, keys: keys[index],
                            into: &transaction, orKeepExisting: item.keepsExisting))
                }
                return added
            }
            // The transaction knows only the items that it added, not the existing ones.
            TouchedItems.note(answer.map(\.reference))
            return answer
        }
    }

    /// Adds an item. If its primary key is taken and `keepsExisting` is set, returns the existing
    /// item instead, together with the data of the new one.
    ///
    /// A careless or malicious issuer can give the same serial number to certificates with
    /// different public keys. If the existing certificate has another public key, this throws
    /// `duplicateItem`. If the existing certificate were returned instead, no certificate with the
    /// new public key would be stored.
    private func insert(
        _ item: NewItem, group: String, by program: String?, keys: ClassKeys,
        into transaction: inout StoreTransaction, orKeepExisting keepsExisting: Bool
    ) throws(KeychainFailure) -> ItemSnapshot {
        do {
            return try insert(
                item, group: group, by: program, keys: keys, into: &transaction)
        } catch {
            guard keepsExisting, error.status == .duplicateItem else { throw error }
            var damaged = DamagedRows()
            let there = try opened(
                ItemQuery(primaryKeyOf: item, in: group), AccessGroups([group]), noting: &damaged,
                in: &transaction)
            guard let row = there.first,
                row.record.attributes[.publicKeyHash] == item.attributes[.publicKeyHash]
            else { throw error }
            return row.item(data: item.data)
        }
    }

    /// The access group that an item is added to. Throws if the caller can't write to that group.
    func group(of item: NewItem, for caller: AccessGroups) throws(KeychainFailure) -> String {
        try authorizeWrite(caller, group: item.accessGroup)
        guard let group = item.accessGroup ?? caller.defaultGroup else {
            throw .missingEntitlement("The caller has no default access group. Specify one.")
        }
        return group
    }

    private func insert(
        _ item: NewItem, group: String, by program: String?, keys: ClassKeys,
        into transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> ItemSnapshot {
        let (record, labels) = try record(of: item, group: group, by: program, transaction)
        guard try occupant(of: record, labels, in: item.protection.tier, &transaction) == nil
        else { throw .duplicateItem }
        return try insert(record, labels, item, keys: keys, into: &transaction)
    }

    /// The record of a new item, and its labels. The record names the program that adds the item
    /// only if the program has no entitlements. An empty `program` means that the program's name is
    /// unknown; the record then names none.
    func record(
        of item: NewItem, group: String, by program: String?, _ transaction: StoreTransaction
    ) throws(KeychainFailure) -> (ItemRecord, RowLabels) {
        let now = options.now()
        var record = ItemRecord(
            itemClass: item.itemClass, attributes: item.attributes, accessGroup: group,
            constraints: item.constraints,
            enrollment: try enrollment(for: item.constraints, item.authorization.enrollment),
            program: program?.isEmpty == false ? program : nil,
            isSynchronizable: item.isSynchronizable, isTombstone: item.isTombstone)
        record.attributes[.creationDate] = .date(now)
        record.attributes[.modificationDate] = .date(now)
        try checkAttributes(record)
        try checkBlob(item.data, record, item.protection)
        try checkStorable(record)
        let index = try transaction.tiers.keys(of: item.protection.tier).index
        return (record, RowLabels(record, index: index))
    }

    /// Adds an item whose primary key is free.
    func insert(
        _ record: ItemRecord, _ labels: RowLabels, _ item: NewItem, keys: ClassKeys,
        into transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> ItemSnapshot {
        var record = record
        record.makeLater(than: try removeTombstones(under: record, in: &transaction))
        let binding = RowBinding(
            keychainID: store.keychainID, reference: .random(),
            protection: item.protection.rawValue, labels: labels)
        var secret: Data?
        if let data = item.data {
            let sealed = try seal(
                data, of: record, for: binding, protection: item.protection, keys: keys,
                password: proof(item.authorization).password)
            secret = sealed.bytes
            record.secretTag = sealed.tag
        }
        let row = SealedRow(binding, record, keys: keys, secret: secret)
        try transaction.insert(row)
        return OpenedRow(row: row, record: record, protection: item.protection, keys: keys)
            .item(data: item.data)
    }

    /// Makes sure that a primary key is free in both tiers. An existing item with that key is a
    /// duplicate, a damaged row is set aside, and a tombstone is removed. `labels` are those in the
    /// tier that the item goes to. In an update, `id` is that of the row being changed.
    ///
    /// - Returns: The latest modification date of the deleted tombstones, as for
    ///   `removeTombstones(of:butNot:in:)`.
    @discardableResult
    func makeRoom(
        for record: ItemRecord, _ labels: RowLabels, in tier: Tier, replacing id: Int64?,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Double? {
        guard try occupant(of: record, labels, in: tier, besides: id, &transaction) == nil
        else { throw .duplicateItem }
        return try removeTombstones(under: record, butNot: id, in: &transaction)
    }

    /// The row that has the primary key of `record`, in either tier. A damaged row that has it is
    /// set aside. The arguments are those of `makeRoom`.
    func occupant(
        of record: ItemRecord, _ labels: RowLabels, in tier: Tier, besides id: Int64? = nil,
        _ transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> OpeningOfRow? {
        try transaction.requireGuardedTier()
        for place in Tier.allCases where transaction.header.count(of: place) > 0 {
            let labels =
                place == tier
                ? labels : RowLabels(record, index: try transaction.tiers.keys(of: place).index)
            if let row = try transaction.row(under: labels), row.id != id {
                let occupant = open(row)
                guard case .damaged = occupant else { return occupant }
                try transaction.setAside(row, reason: .replaced, at: options.now())
            }
        }
        return nil
    }

    /// Deletes the tombstones that have the primary key of an item. Does nothing if `record` is
    /// itself a tombstone.
    ///
    /// - Returns: Their latest modification date, as for `removeTombstones(of:butNot:in:)`.
    @discardableResult
    func removeTombstones(
        under record: ItemRecord, butNot id: Int64? = nil,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Double? {
        guard !record.isTombstone else { return nil }
        var tombstone = record
        tombstone.isTombstone = true
        return try removeTombstones(of: tombstone, butNot: id, in: &transaction)
    }
}
