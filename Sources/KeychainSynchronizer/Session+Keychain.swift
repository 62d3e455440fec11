// Session+Keychain: changes of the keychain, in both directions.

import KeychainCore
import KeychainEngine
import KeychainSQLite
import KeychainSynchronization

extension Session {
    /// The size of a page: the number of changes that are read from the outbox at once. Pages are
    /// sent in the order in which the changes were made. Within a page, the order isn't kept.
    static let outboxPageCount = 128

    // MARK: From other machines

    /// Stores changes from logs. Where the keychain has a later version, that version is sent to
    /// the other machines instead. If an item of the keychain isn't sent to other machines any
    /// more, or can't be opened, the item stays as it is.
    mutating func apply(_ changes: [Replica.Change]) throws(KeychainFailure) {
        var versions: [SynchronizedItem] = []
        var deleted: [Bytes16] = []
        for change in changes {
            switch change {
            case .store(let version): versions.append(version)
            case .delete(let name): deleted.append(name)
            }
        }
        let outcomes = try engine.takeOver(
            versions.map(\.opened), deleting: deleted.compactMap { references[$0] }
        ) { version, present in
            guard let version = SynchronizedItem(version), let present = SynchronizedItem(present)
            else { return false }
            return version.supersedes(present)
        }
        for (version, outcome) in zip(versions, outcomes) {
            switch outcome {
            case .stored(let reference):
                note(version.name, reference)
                guard !isCurrent else { continue }
                if uncompared.updateValue(version.stamp, forKey: version.name) == nil {
                    arrived.insert(version.name)
                }
            case .kept(let item):
                let present = SynchronizedItem(item)
                note(item, present)
                if let present {
                    if isCurrent {
                        replica.write(present.name, present.stamp)
                    } else {
                        uncompared[present.name] = present.stamp
                    }
                } else {
                    retained[version.name] = version
                }
            case .blocked:
                retained[version.name] = version
            }
        }
        for name in deleted {
            if let reference = references.removeValue(forKey: name) { names[reference] = nil }
        }
    }

    /// Compares the keychain with the logs. Call this when all logs have been read to their ends.
    mutating func compare() throws(KeychainFailure) {
        // `gone` are items that this session stored. Then it read that the entries with the items
        // are no longer needed or don't count. No log has the items any more, so they were deleted.
        let gone = arrived.filter { replica.forget($0) }
        try apply(gone.map { .delete($0) })
        for (name, stamp) in uncompared where !gone.contains(name) {
            guard let held = replica.ledger.items[name], !replica.forget(name) else {
                replica.hold(name, stamp)
                continue
            }
            // The keychain's version is later than that of the logs, so this machine has yet to
            // append it. The change is in the outbox or was lost from there, or the entry with the
            // version became void.
            if stamp > held.stamp { replica.write(name, stamp) }
        }
        uncompared = [:]
        arrived = []
        let added = state.membership.compactMap { entry -> MachineID? in
            guard case .add(let addition) = entry.change, entry.signer == replica.id else {
                return nil
            }
            return addition.machine.id
        }
        replica.oweKeys(to: added)
    }

    // MARK: To other machines

    /// Removes from the outbox the changes that this machine doesn't have to append any more. If no
    /// collected change is left, collects the next ones.
    mutating func collect() throws(KeychainFailure) {
        let done = collected.filter { !isPending($0.value) }
        for entry in done.keys { collected[entry] = nil }
        try remove(Array(done.keys))
        // As long as collected changes are left, the outbox begins with them.
        while collected.isEmpty {
            let page = try engine.outbox(limit: Self.outboxPageCount)
            guard !page.isEmpty else { return }
            try remove(try collect(page))
        }
    }

    /// Whether an item's current version is yet to be appended.
    private func isPending(_ name: Bytes16) -> Bool {
        replica.ledger.items[name]?.isPending ?? false
    }

    private func remove(_ entries: [OutboxEntry]) throws(KeychainFailure) {
        try engine.keepingFromOutbox { () throws(KeychainFailure) in
            try engine.removeFromOutbox(entries)
        }
    }

    /// Gives changed items to the replica.
    ///
    /// - Returns: The entries whose changes don't have to be sent, or for which another entry was
    ///   added.
    private mutating func collect(
        _ entries: [OutboxEntry]
    ) throws(KeychainFailure) -> [OutboxEntry] {
        var done: [OutboxEntry] = []
        let items = try engine.synchronizableItems(entries.map(\.reference))
        for entry in entries {
            guard let item = items[entry.reference] else {
                staying[entry.reference] = nil
                if let name = names.removeValue(forKey: entry.reference) {
                    // The keychain may still have the item, under the same reference, but no longer
                    // synchronizable.
                    references[name] = nil
                    replica.abandon(name)
                }
                done.append(entry)
                continue
            }
            let version = SynchronizedItem(item)
            note(item, version)
            guard let version else {
                done.append(entry)
                continue
            }
            guard replica.mayWrite(version.record.accessGroup) else {
                staying[entry.reference] = .groupNotShared
                done.append(entry)
                continue
            }
            let (name, stamp) = (version.name, version.stamp)
            if let held = replica.ledger.items[name]?.stamp, held > stamp {
                // The item was reset to an earlier version, for example by `restore`. That is a
                // change, too, so the item gets a later modification date, which also adds an entry
                // to the outbox.
                try engine.makeLater(entry.reference, than: held.modified)
                done.append(entry)
                continue
            }
            replica.write(name, stamp)
            if isPending(name) { collected[entry] = name } else { done.append(entry) }
        }
        return done
    }
}
