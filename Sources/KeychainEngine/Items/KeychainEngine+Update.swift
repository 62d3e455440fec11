// KeychainEngine+Update: changing all items that match, or none.

import FoundationEssentials
import KeychainCrypto
package import KeychainModel
import KeychainStore

extension KeychainEngine {
    @discardableResult
    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try logged("update", query) { () throws(KeychainFailure) in
            try authorizeWrite(caller, group: query.accessGroup)
            if let group = changes.accessGroup { try authorizeWrite(caller, group: group) }
            let search = RowSearch(query, visibleTo: caller, index: store.index)
            return try write { transaction throws(KeychainFailure) in
                try change(query, changes, search, caller, in: &transaction)
            }
        }
    }

    /// Changes all items that match; throws `itemNotFound` where none does.
    func change(
        _ query: ItemQuery, _ changes: ItemChanges, _ search: RowSearch, _ caller: AccessGroups,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Int {
        // A change of the protection class alone needs the old secret to seal it anew.
        let candidates = try transaction.rows(
            search, includesSecret: changes.protection != nil && changes.data == nil)
        var damaged = DamagedRows()
        var count = 0
        for candidate in candidates {
            guard let opened = try open(candidate, for: search, noting: &damaged),
                opened.record.matches(query, search, opened.protection, caller: caller)
            else { continue }
            try apply(changes, to: opened, in: &transaction)
            count += 1
        }
        if count == 0 {
            if let failure = damaged.failure { throw failure }
            try store.requireSound()
            throw .itemNotFound
        }
        return count
    }

    private func apply(
        _ changes: ItemChanges, to opened: OpenedRow, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        let old = opened.row
        var record = opened.record
        for (attribute, value) in changes.attributes where attribute != .modificationDate {
            record.attributes[attribute] = value
        }
        record.attributes[.modificationDate] = .date(nextModification(of: opened.record))
        if let group = changes.accessGroup { record.accessGroup = group }
        if let constraints = changes.constraints {
            record.constraints = constraints
        } else if changes.protection != nil {
            record.constraints = []
        }
        if let flag = changes.isSynchronizable { record.isSynchronizable = flag }
        if let flag = changes.isTombstone { record.isTombstone = flag }

        let protection = changes.protection ?? opened.protection
        guard !(record.isSynchronizable && protection.isThisDeviceOnly) else {
            throw .param("An item that stays on this device can't be synchronizable.")
        }
        let keys = try keys(for: protection)
        var secret: Data?
        if let data = try newSecret(changes, opened, protection) {
            let sealed = RowSealing.seal(
                secret: data, reference: old.reference, protection: protection,
                itemClass: record.itemClass, keychainID: store.keychainID, keys: keys)
            secret = sealed.bytes
            record.secretTag = sealed.tag
        }

        let labels = RowLabels(record, index: store.index)
        if labels.first != old.labels.first || labels.second != old.labels.second
            || labels.rest != old.labels.rest
        {
            try makeRoom(for: record, labels, replacing: old.id, in: &transaction)
        }
        let metadata = RowSealing.seal(
            record, reference: old.reference, protection: protection, labels: labels,
            keychainID: store.keychainID, keys: keys)
        try transaction.replace(
            old,
            with: SealedRow(
                id: old.id, reference: old.reference, protection: protection.rawValue,
                labels: labels, metadata: metadata, secret: secret),
            replacesSecret: secret != nil)
        if record.isSynchronizable != opened.record.isSynchronizable
            || labels.rest != old.labels.rest || labels.first != old.labels.first
            || labels.second != old.labels.second, opened.record.isSynchronizable,
            !opened.record.isTombstone
        {
            try leaveTombstone(for: opened, in: &transaction)
        }
    }

    /// The secret to seal: a new one, or the old one where its protection class changes.
    private func newSecret(
        _ changes: ItemChanges, _ opened: OpenedRow, _ protection: ProtectionClass
    ) throws(KeychainFailure) -> Data? {
        if let data = changes.data { return data }
        guard protection != opened.protection, opened.record.secretTag != nil else { return nil }
        guard let secret = openSecret(opened) else { throw .damagedItem(opened.row.reference) }
        return secret
    }

    /// Now, or a millisecond after the last change where the clock has not advanced, so that a
    /// change always changes the date.
    private func nextModification(of record: ItemRecord) -> Double {
        let now = options.now()
        guard case .date(let last) = record.attributes[.modificationDate] else { return now }
        return now > last ? now : last + 0.001
    }
}
