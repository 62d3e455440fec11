// KeychainEngine+Circle: what synchronization reads and changes in a keychain.
// Documentation/Synchronization.md, "The outbox".
//   (1) Versions from other machines keep their dates and don't enter the outbox. One call stores
//       all its versions in one transaction.
//   (2) An item that is no longer in any machine's log is kept while the outbox has a change of it.
//       A later deletion by another machine still replaces the item.
//   (3) Reading items, storing versions from other machines, and starting to collect changes need
//       an unlocked keychain. While it is locked, these functions throw `interactionNotAllowed`,
//       and nothing is changed.
//   (4) An item counts as absent only if the database is sound: other machines could take its
//       absence for a deletion.

package import FoundationEssentials
package import KeychainCore
import KeychainCrypto
package import KeychainSQLite

/// A synchronizable item, or its tombstone, with its attributes and data opened.
package struct OpenedItem: Sendable {
    /// The item's reference in its keychain. On other machines the item has other references.
    package let reference: ItemReference
    /// The item's metadata, without `secretTag`.
    package let record: ItemRecord
    package let protection: ProtectionClass
    @Hidden package private(set) var data: Data?

    package init(
        reference: ItemReference, record: ItemRecord, protection: ProtectionClass, data: Data?
    ) {
        self.reference = reference
        self.record = record
        self.protection = protection
        _data = Hidden(wrappedValue: data)
    }
}

/// What became of a version from another machine.
package enum Takeover: Sendable {
    /// The keychain has it now, under this reference.
    case stored(ItemReference)
    /// The keychain has this item or tombstone, which the version doesn't supersede, and keeps it.
    case kept(OpenedItem)
    /// The keychain has an item or tombstone with the same primary key that can't be opened on this
    /// machine, or an item whose secret is damaged.
    case blocked
}

extension KeychainEngine {
    /// The current time in milliseconds since 1970-01-01 00:00:00 UTC.
    package var milliseconds: Int64 {
        Int64(((options.now() + Date.timeIntervalBetween1970AndReferenceDate) * 1000).rounded())
    }

    // MARK: The outbox

    /// The circle that changes are collected for. `nil` if there is none.
    package func circle() throws(KeychainFailure) -> StoredCircle? {
        try attempt { () throws(KeychainFailure) in
            let circle = try store.circle()
            try store.requireCurrent()
            return circle
        }
    }

    /// Collects changes for a circle from now on, beginning with all synchronizable items and
    /// tombstones that can be opened.
    ///
    /// The circle and these items are recorded in one commit. If only the circle were recorded,
    /// items that were never sent could later seem to have been deleted by other machines.
    package func collectChanges(for circle: StoredCircle) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            try requireUnlocked()
            try write { transaction throws(KeychainFailure) in
                try transaction.setCircle(circle)
                for protection in ProtectionClass.allCases {
                    for row in try transaction.rows(of: protection) {
                        guard case .opened(let opened) = open(row),
                            opened.record.isSynchronizable
                        else { continue }
                        try transaction.addToOutbox(row.reference)
                    }
                }
            }
        }
    }

    /// Collects no more changes, and empties the outbox.
    package func stopCollectingChanges() throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            try write { transaction throws(KeychainFailure) in try transaction.setCircle(nil) }
        }
    }

    @TaskLocal static var isKeptFromOutbox = false

    /// Runs `body` without adding its changes to the outbox: other machines don't need them.
    package func keepingFromOutbox<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        try Self.$isKeptFromOutbox.withValue(true) {
            Swift.Result { () throws(KeychainFailure) in try body() }
        }.get()
    }

    /// The entries of the outbox, in order of their ids: at most `limit` of those with an id above
    /// `id`. Not all of them have to be sent: an entry can belong to a local item.
    package func outbox(
        after id: Int64 = .min, limit: Int = .max
    ) throws(KeychainFailure) -> [OutboxEntry] {
        try attempt { () throws(KeychainFailure) in
            let entries = try store.outbox(after: id, limit: limit)
            try store.requireCurrent()
            return entries
        }
    }

    package func removeFromOutbox(_ entries: [OutboxEntry]) throws(KeychainFailure) {
        guard !entries.isEmpty else { return }
        try attempt { () throws(KeychainFailure) in
            try write { transaction throws(KeychainFailure) in
                try transaction.removeFromOutbox(entries)
            }
        }
    }

    // MARK: Reading

    /// Visits all synchronizable items and tombstones. Rows whose bytes are damaged, and rows that
    /// only another machine can open, are left out. A row with columns of the wrong types is an
    /// error.
    ///
    /// - Throws: `notAvailable` if rows may be missing or out of date because the database is
    ///   damaged. This is found out after the visits.
    package func forEachSynchronizable(
        _ visit: (OpenedItem) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            try requireUnlocked()
            try store.forEachRow { row throws(KeychainFailure) in
                if let item = openedItem(row) { try visit(item) }
            }
            try store.requireSound()
        }
    }

    /// The synchronizable items and tombstones with the given references. Those that don't exist or
    /// don't open are left out.
    ///
    /// - Throws: `notAvailable` if an item may be missing or out of date because the database is
    ///   damaged.
    package func synchronizableItems(
        _ references: [ItemReference]
    ) throws(KeychainFailure) -> [ItemReference: OpenedItem] {
        try attempt { () throws(KeychainFailure) in
            try requireUnlocked()
            var items: [ItemReference: OpenedItem] = [:]
            for reference in references {
                guard let row = try store.row(withReference: reference),
                    let item = openedItem(row)
                else { continue }
                items[reference] = item
            }
            if items.count < Set(references).count {
                try store.requireSound()
            } else {
                try store.requireSoundRows()
            }
            return items
        }
    }

    /// Opens a row that was read with its secret.
    ///
    /// - Returns: `nil` if the row is not synchronizable, can't be opened on this machine, or is
    ///   damaged.
    private func openedItem(_ row: SealedRow) -> OpenedItem? {
        guard case .opened(let opened) = open(row), opened.record.isSynchronizable else {
            return nil
        }
        var data: Data?
        if opened.record.secretTag != nil {
            guard let content = openContent(opened) else { return nil }
            data = content
        }
        var record = opened.record
        record.secretTag = nil
        return OpenedItem(
            reference: row.reference, record: record, protection: opened.protection, data: data)
    }

    private func requireUnlocked() throws(KeychainFailure) {
        try reloadKeybag()
        guard lockState == .unlocked else { throw .locked(.whenUnlocked) }
    }

    // MARK: Changing

    /// Stores versions from other machines, and deletes items that other machines deleted.
    ///
    /// - Parameters:
    ///   - versions: Items and tombstones without constraints that require authentication. Their
    ///     references are ignored.
    ///   - deleted: References of items that are no longer in any machine's log and count as
    ///     deleted. Those that are in the outbox are kept.
    ///   - supersedes: Whether a version replaces the one that the keychain has.
    /// - Returns: What became of each version.
    /// - Throws: `interactionNotAllowed` while the keychain is locked, and the errors of every
    ///   write, such as a full disk, damage and contention. Nothing is changed then.
    package func takeOver(
        _ versions: [OpenedItem], deleting deleted: [ItemReference] = [],
        supersedes: (_ version: OpenedItem, _ present: OpenedItem) -> Bool
    ) throws(KeychainFailure) -> [Takeover] {
        guard !versions.isEmpty || !deleted.isEmpty else { return [] }
        return try attempt { () throws(KeychainFailure) in
            try requireUnlocked()
            return try keepingFromOutbox { () throws(KeychainFailure) in
                try write { transaction throws(KeychainFailure) in
                    try transaction.requireGuardedTier()
                    try keepVersions(isRequested: true, in: &transaction)
                    var outcomes: [Takeover] = []
                    for version in versions {
                        outcomes.append(try takeOver(version, supersedes, in: &transaction))
                    }
                    let waiting = try transaction.inOutbox(Set(deleted))
                    for reference in deleted where !waiting.contains(reference) {
                        guard let row = try transaction.row(withReference: reference) else {
                            continue
                        }
                        try transaction.delete(row)
                    }
                    return outcomes
                }
            }
        }
    }

    private func takeOver(
        _ version: OpenedItem, _ supersedes: (OpenedItem, OpenedItem) -> Bool,
        in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> Takeover {
        let keys = try keys(for: version.protection)
        let tier = version.protection.tier
        let index = try transaction.tiers.keys(of: tier).index
        var present: OpenedRow?
        for isTombstone in [true, false] {
            var key = version.record
            key.isTombstone = isTombstone
            let occupant = try occupant(
                of: key, RowLabels(key, index: index), in: tier, &transaction)
            guard let occupant else { continue }
            guard case .opened(let opened) = occupant,
                let item = openedItem(try transaction.withSecret(opened.row))
            else { return .blocked }
            guard supersedes(version, item) else { return .kept(item) }
            if !isTombstone { present = opened }
        }
        try removeTombstones(under: version.record, in: &transaction)
        if version.record.isTombstone {
            try removeTombstones(of: version.record, in: &transaction)
            if let present { try transaction.delete(present.row) }
            present = nil
        }
        let reference = present?.row.reference ?? .random()
        let row = sealedRow(
            version.record, version.data, version.protection,
            RowLabels(version.record, index: index), keys, as: reference, id: present?.row.id ?? 0)
        if let present {
            try transaction.replace(present.row, with: row, replacesSecret: true)
        } else {
            try transaction.insert(row)
        }
        return .stored(reference)
    }

    /// Gives an item a modification date after `moment`, so that other machines prefer the item to
    /// a version of that moment. If the item doesn't exist, nothing happens. `moment` is in seconds
    /// since 2001-01-01 and less than ``ItemRecord/dateLimit``.
    package func makeLater(
        _ reference: ItemReference, than moment: Double
    ) throws(KeychainFailure) {
        try attempt { () throws(KeychainFailure) in
            try write { transaction throws(KeychainFailure) in
                guard let row = try transaction.row(withReference: reference) else { return }
                switch open(row) {
                case .locked: throw .locked(.whenUnlocked)
                case .damaged: throw .damagedItem(reference)
                case .opened(let opened):
                    var record = opened.record
                    record.attributes[.modificationDate] = .date(nextModification(of: record))
                    record.makeLater(than: moment)
                    let sealed = SealedRow(
                        id: row.id, RowBinding(row, keychainID: store.keychainID), record,
                        keys: opened.keys, secret: nil)
                    try transaction.replace(row, with: sealed, replacesSecret: false)
                }
            }
        }
    }

    /// Seals an item. If an application password protects it, `data` is already encrypted with that
    /// password.
    func sealedRow(
        _ record: ItemRecord, _ data: Data?, _ protection: ProtectionClass, _ labels: RowLabels,
        _ keys: ClassKeys, as reference: ItemReference, id: Int64
    ) -> SealedRow {
        let binding = RowBinding(
            keychainID: store.keychainID, reference: reference, protection: protection.rawValue,
            labels: labels)
        var record = record
        var secret: Data?
        if let data {
            let sealed = RowSealing.seal(
                secret: data, itemClass: record.itemClass, constraints: record.constraints,
                for: binding, keys: keys)
            secret = sealed.bytes
            record.secretTag = sealed.tag
        }
        return SealedRow(id: id, binding, record, keys: keys, secret: secret)
    }
}
