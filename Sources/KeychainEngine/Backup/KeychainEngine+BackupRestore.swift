// KeychainEngine+BackupRestore: restores the items of a backup into a keychain.
//   (1) The whole file is authenticated and read before the first change. It is read a second time
//       to make the changes, and the SHA-256 of its content has to be the same.
//   (2) All changes are one commit, so a restore that is interrupted has changed nothing.
//   (3) If an item is both in the keychain and in the backup, merging keeps the version with the
//       later modification date, under the item's reference in the keychain. A hardware key in the
//       keychain, and an item there that only another machine can read, stay as they are.
//   (4) Merging deletes no item. Replacing first deletes all items that aren't synchronizable, as
//       Apple's restore does, except those that only another machine can read. Then it merges.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto
import KeychainSQLite
import Synchronization

package enum BackupRestoreMode: Hashable, Sendable {
    case merge
    case replace
}

/// The changes that restoring a backup made, or would make.
package struct BackupRestoration: Sendable {
    package internal(set) var summary = BackupSummary()
    package internal(set) var added: [BackupName] = []
    /// Items whose version in the keychain was older. When replacing, also items whose version in
    /// the keychain was newer.
    package internal(set) var updated: [BackupName] = []
    /// The number of items whose version in the keychain was kept: it has the same date as in the
    /// backup or a later one, is a hardware key, or can be read only on another machine.
    package internal(set) var keptCount = 0
    /// Items that were deleted and not restored. If such an item is in the backup, it is also
    /// listed among the items left out.
    package internal(set) var deleted: [BackupName] = []

    package var isWithoutChange: Bool { added.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension KeychainEngine {
    /// Reads and checks a whole backup without a keychain.
    ///
    /// - Throws: `decode` if the file is damaged or not a backup; `authFailed` if no given identity
    ///   or passphrase opens it; `wrongVersion` if its format is newer; `notAvailable` if it can't
    ///   be read; `allocate` if there is too little memory for the passphrase.
    package static func readBackup(
        _ source: BackupSource, on machine: Machine
    ) throws(KeychainFailure) -> BackupSummary {
        try verifiedBackup(source, on: machine).summary
    }

    private static func verifiedBackup(
        _ source: BackupSource, on machine: Machine
    ) throws(KeychainFailure) -> (summary: BackupSummary, keychain: [UInt8], digest: [UInt8]) {
        var summary = BackupSummary()
        let (head, end, digest) = try source.read(on: machine) { entry in
            switch entry {
            case .item: summary.itemCount += 1
            case .leftOut(let name): summary.leftOut.append(name)
            }
        }
        summary.deviceItemCount = end.deviceItems
        summary.created = head.created
        return (summary, Array(head.keychain), digest)
    }

    /// Restores a backup.
    ///
    /// - Parameters:
    ///   - source: The file, and the identities to open it with.
    ///   - mode: Pass `.replace` to first delete all items that aren't synchronizable, except those
    ///     that only another machine can read.
    ///   - isTrial: Pass `true` to change nothing. The result then describes the changes that would
    ///     be made.
    ///   - progress: Called now and then with the number of items done and the total number.
    /// - Returns: The changes, with the names of the items.
    /// - Throws: The errors of ``readBackup(_:on:)``; `decode` if the file changes meanwhile;
    ///   `interactionNotAllowed` if the keychain is locked; the errors that report damage;
    ///   `diskFull`. In these cases no item is changed.
    package func restore(
        _ source: BackupSource, _ mode: BackupRestoreMode, isTrial: Bool = false,
        progress: (RequestProgress) -> Void = { _ in }
    ) throws(KeychainFailure) -> BackupRestoration {
        let verified = try Self.verifiedBackup(source, on: options.machine)
        return try attempt { () throws(KeychainFailure) in
            try reloadKeybag()
            if let problem = try store.verify(notingAt: options.now).problem {
                throw .damagedStore(problem)
            }
            var result: BackupRestoration?
            do throws(KeychainFailure) {
                try write { transaction throws(KeychainFailure) in
                    var running = RunningRestore(self, mode, verified.keychain)
                    result = nil
                    try running.begin(in: &transaction)
                    let total = verified.summary.itemCount
                    var done = 0
                    let (_, _, digest) = try source.read(on: options.machine) {
                        entry throws(KeychainFailure) in
                        guard case .item(let item) = entry else { return }
                        if done % 100 == 0 { progress(RequestProgress(done: done, total: total)) }
                        done += 1
                        try running.place(item, in: &transaction)
                    }
                    guard digest == verified.digest else { throw .changedBackup }
                    result = running.end(verified.summary)
                    // Throwing rolls the transaction back.
                    if isTrial { throw .trial }
                }
            } catch {
                guard isTrial, error == .trial else { throw error }
            }
            guard let result else { throw .changedBackup }
            return result
        }
    }
}

/// A restore in progress, in a transaction.
private struct RunningRestore {
    private let engine: KeychainEngine
    private let mode: BackupRestoreMode
    private let isOfThisKeychain: Bool
    private var result = BackupRestoration()
    private var leftOut: [BackupName] = []
    private var removed: [PrimaryKey: BackupName] = [:]

    init(_ engine: KeychainEngine, _ mode: BackupRestoreMode, _ keychain: [UInt8]) {
        self.engine = engine
        self.mode = mode
        isOfThisKeychain = engine.store.keychainID == keychain
    }

    mutating func begin(in transaction: inout StoreTransaction) throws(KeychainFailure) {
        try transaction.requireGuardedTier()
        // After this check, a row that is still locked is bound to another machine.
        guard engine.lockState == .unlocked else { throw .locked(.whenUnlocked) }
        try engine.keepVersions(isRequested: true, in: &transaction)
        guard mode == .replace else { return }
        for protection in ProtectionClass.allCases {
            for row in try transaction.rows(of: protection) {
                try remove(row, in: &transaction)
            }
        }
    }

    func end(_ summary: BackupSummary) -> BackupRestoration {
        var result = result
        result.summary = summary
        result.summary.itemCount -= leftOut.count
        result.summary.leftOut += leftOut
        result.deleted = removed.sorted { $0.key.stands(before: $1.key) }.map(\.value)
        return result
    }

    private mutating func remove(
        _ row: SealedRow, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        switch engine.open(row) {
        case .opened(let opened):
            guard !opened.record.isSynchronizable else { return }
            try transaction.delete(row)
            guard !opened.record.isTombstone else { return }
            removed[PrimaryKey(opened.record)] = BackupName(
                item: opened.item(), reference: row.reference, omission: nil)
        case .damaged:
            try transaction.setAside(row, reason: .deleted, at: engine.options.now())
        case .locked:
            // An item that only another machine can read is kept: no backup made on this machine
            // contains it.
            break
        }
    }

    mutating func place(
        _ item: RestoredItem, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        let keys: ClassKeys
        do throws(KeychainFailure) {
            keys = try engine.keys(for: item.protection)
        } catch {
            guard error.cause == .otherMachine else { throw error }
            return leaveOut(item, .otherMachine)
        }
        guard engine.hasPasscode || !item.record.constraints.asksForPasscode else {
            return leaveOut(item, .passcodeNeeded)
        }
        let tier = item.protection.tier
        let labels = RowLabels(item.record, index: try transaction.tiers.keys(of: tier).index)
        if let there = try counterpart(of: item, labels, in: &transaction) {
            guard case .opened(let opened) = there, !opened.record.isOfSecureEnclave,
                item.modified > opened.item().modified
            else {
                result.keptCount += 1
                return
            }
            guard canSeal(item, as: opened.row.reference) else {
                return leaveOut(item, .applicationPassword)
            }
            try engine.removeTombstones(
                under: item.record, butNot: opened.row.id, in: &transaction)
            let row = sealed(item, labels, keys, as: opened.row.reference, id: opened.row.id)
            try transaction.replace(opened.row, with: row, replacesSecret: true)
            result.updated.append(item.name(nil))
        } else {
            guard canSeal(item, as: item.reference) else {
                return leaveOut(item, .applicationPassword)
            }
            let deleted = try engine.removeTombstones(under: item.record, in: &transaction)
            var restored = item
            if try transaction.circle() != nil {
                // The other machines know of the deletion. On each machine, the later of the
                // deletion and the item wins, so the item is made the later one.
                restored.record.makeLater(than: deleted)
            }
            try transaction.insert(sealed(restored, labels, keys, as: item.reference, id: 0))
            switch removed.removeValue(forKey: PrimaryKey(item.record))?.item?.modified {
            case item.modified?: result.keptCount += 1
            case .some: result.updated.append(item.name(nil))
            case nil: result.added.append(item.name(nil))
            }
        }
    }

    /// The row in the keychain that corresponds to an item of the backup: the row with the same
    /// primary key or, if there is none, the one with the same reference.
    private func counterpart(
        of item: RestoredItem, _ labels: RowLabels, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> OpeningOfRow? {
        if let occupant = try engine.occupant(
            of: item.record, labels, in: item.protection.tier, &transaction)
        {
            return occupant
        }
        guard let row = try transaction.row(withReference: item.reference) else { return nil }
        let opened = engine.open(row)
        guard case .damaged = opened else { return opened }
        try transaction.setAside(row, reason: .replaced, at: engine.options.now())
        return nil
    }

    /// Whether an item's secret can be stored under a reference. A secret sealed with an
    /// application password is bound to one keychain and one reference.
    private func canSeal(_ item: RestoredItem, as reference: ItemReference) -> Bool {
        !item.isPasswordSealed || isOfThisKeychain && reference == item.reference
    }

    private func sealed(
        _ item: RestoredItem, _ labels: RowLabels, _ keys: ClassKeys,
        as reference: ItemReference, id: Int64
    ) -> SealedRow {
        engine.sealedRow(
            item.record, item.data, item.protection, labels, keys, as: reference, id: id)
    }

    private mutating func leaveOut(_ item: RestoredItem, _ reason: BackupOmission) {
        leftOut.append(item.name(reason))
    }
}

/// The attributes whose combination is unique for each item.
private struct PrimaryKey: Hashable {
    private let itemClass: ItemClass
    private let accessGroup: String
    private let isSynchronizable: Bool
    private let values: [[UInt8]]

    init(_ record: ItemRecord) {
        itemClass = record.itemClass
        accessGroup = record.accessGroup
        isSynchronizable = record.isSynchronizable
        values = record.itemClass.primaryKey.map {
            (record.attributes[$0] ?? .empty(of: $0.kind)).comparisonBytes
        }
    }

    /// A fixed order for the list of deleted items that is shown to a user. It ignores
    /// synchronizability, because no deleted item is synchronizable.
    func stands(before other: PrimaryKey) -> Bool {
        let (own, others) = (
            [Array(itemClass.name.utf8)] + values + [Array(accessGroup.utf8)],
            [Array(other.itemClass.name.utf8)] + other.values + [Array(other.accessGroup.utf8)]
        )
        return own.lexicographicallyPrecedes(others) { $0.lexicographicallyPrecedes($1) }
    }
}

extension ItemSnapshot {
    /// In seconds since 2001-01-01; 0 if the item has no modification date.
    fileprivate var modified: Double {
        if case .date(let seconds) = attributes[.modificationDate] { seconds } else { 0 }
    }
}

extension KeychainFailure {
    fileprivate static let trial = KeychainFailure(.userCanceled, "Nothing was to be changed.")
    fileprivate static let changedBackup = KeychainFailure(
        .decode, "The backup changed while it was read. Nothing was changed.", cause: .damage)
}
