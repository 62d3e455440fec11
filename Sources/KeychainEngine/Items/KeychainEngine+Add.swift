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
                // The lock is reported before a duplicate would be.
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
            return try write { transaction throws(KeychainFailure) in
                // A lock is reported before a duplicate would be, and before anything is sealed.
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
        }
    }

    /// Adds an item or, where existing ones are kept, gives the one that has its primary key.
    ///
    /// A careless or hostile issuer can give one number to certificates about two keys. The other
    /// one is a duplicate: taken for the new one, it would leave the new key without a certificate.
    private func insert(
        _ item: NewItem, group: String, by program: String?, keys: ClassKeys,
        into transaction: inout StoreTransaction, orKeepExisting keepsExisting: Bool
    ) throws(KeychainFailure) -> ItemSnapshot {
        do {
            return try insert(
                item, group: group, by: program, keys: keys, into: &transaction)
        } catch {
            guard keepsExisting, error.status == .duplicateItem else { throw error }
            var attributes: Attributes = [:]
            let names = [item.itemClass.firstKey, item.itemClass.secondKey]
            for name in names + item.itemClass.otherKeys {
                attributes[name] = item.attributes[name] ?? .empty(of: name.kind)
            }
            let query = ItemQuery(
                itemClass: item.itemClass, attributes: attributes, accessGroup: group,
                isSynchronizable: item.isSynchronizable)
            let there = try opened(query, AccessGroups([group]), in: &transaction)
            guard let row = there.first,
                row.record.attributes[.publicKeyHash] == item.attributes[.publicKeyHash]
            else { throw error }
            return row.item(data: item.data)
        }
    }

    /// The access group that an item goes to, which the caller may write.
    func group(of item: NewItem, for caller: AccessGroups) throws(KeychainFailure) -> String {
        try authorizeWrite(caller, group: item.accessGroup)
        guard let group = item.accessGroup ?? caller.defaultGroup else {
            throw .missingEntitlement("Name an access group: the caller has no default one.")
        }
        return group
    }

    // The program is that which adds the item, where it has no entitlements. Empty: it isn't known.
    func insert(
        _ item: NewItem, group: String, by program: String?, keys: ClassKeys,
        into transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> ItemSnapshot {
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
        let labels = RowLabels(
            record, index: try transaction.tiers.keys(of: item.protection.tier).index)
        try makeRoom(
            for: record, labels, in: item.protection.tier, replacing: nil, in: &transaction)

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

    /// Makes sure that a primary key is free in both tiers: a live item there is a duplicate, a damaged
    /// one is set aside, a tombstone goes.
    /// `labels` are those in the tier that the item goes to. In an update `id` is the row that is about
    /// to take the key.
    func makeRoom(
        for record: ItemRecord, _ labels: RowLabels, in tier: Tier, replacing id: Int64?,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        try transaction.requireGuardedTier()
        for place in Tier.allCases where transaction.header.count(of: place) > 0 {
            let labels =
                place == tier
                ? labels : RowLabels(record, index: try transaction.tiers.keys(of: place).index)
            if let occupant = try transaction.row(under: labels), occupant.id != id {
                guard isDamaged(occupant) else { throw .duplicateItem }
                try transaction.setAside(occupant, reason: .replaced, at: options.now())
            }
        }
        guard !record.isTombstone else { return }
        var tombstone = record
        tombstone.isTombstone = true
        try removeTombstones(of: tombstone, butNot: id, in: &transaction)
    }

    /// Whether a row's metadata don't open although their key is there.
    func isDamaged(_ row: SealedRow) -> Bool {
        guard let protection = ProtectionClass(rawValue: row.protection) else { return true }
        guard let keys = try? keys(for: protection) else { return false }
        return (try? RowSealing.openMetadata(of: row, keychainID: store.keychainID, keys: keys))
            == nil
    }
}
