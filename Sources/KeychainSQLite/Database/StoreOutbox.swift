// StoreOutbox: references of the items whose changes are yet to be sent to the other machines of a
// circle, in the order of the changes. Documentation/Synchronization.md, "The outbox".
//   (1) A reference is added in the transaction that changes the item, so no acknowledged change is
//       missing. `setCircle(_:)` adds no references. When a circle is new, the caller adds the
//       references of all items to be sent, in the same transaction.
//   (2) Without a circle nothing is added. The table `state` contains the circle's identifier.
//   (3) A change that came from another machine, or that other machines don't need, is not added.
//   (4) The outbox may contain a reference several times, and references of items that were deleted
//       or aren't sent to other machines.

import FoundationEssentials
package import KeychainCore

/// A row of `outbox`.
package struct OutboxEntry: Hashable, Sendable {
    /// Ascending in the order of the changes, in random steps, so that an id is hardly ever reused.
    package let id: Int64
    package let reference: ItemReference
}

/// The circle of a keychain. The database stores only its identifier.
package struct StoredCircle: Hashable, Sendable {
    package static let byteCount = 32

    /// The circle's identifier: ``byteCount`` bytes.
    package let bytes: [UInt8]

    /// - Returns: `nil` if the number of bytes isn't ``byteCount``.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = Array(bytes)
    }
}

enum StoreOutbox {
    private static let name = "circle"

    static func circle(in database: DatabaseConnection) throws(KeychainFailure) -> StoredCircle? {
        let cursor = try database.rows("SELECT body FROM state WHERE name = '\(name)'")
        guard try cursor.next() else { return nil }
        guard let circle = cursor.data(0).flatMap({ StoredCircle($0) }) else {
            throw .damagedStore("the identifier of its circle can't be read")
        }
        return circle
    }

    static func set(
        _ circle: StoredCircle?, in database: DatabaseConnection
    ) throws(KeychainFailure) {
        guard let circle else {
            return try database.run("DELETE FROM state WHERE name = '\(name)'")
        }
        try database.run(
            "INSERT OR REPLACE INTO state(name, body) VALUES ('\(name)', ?)",
            [.blob(Data(circle.bytes))])
    }

    /// The entries after an id, in the order of the changes, at most `limit`.
    static func entries(
        after id: Int64, limit: Int, in database: DatabaseConnection
    ) throws(KeychainFailure) -> [OutboxEntry] {
        var entries: [OutboxEntry] = []
        let cursor = try database.rows(
            "SELECT id, body FROM outbox WHERE id > \(id) ORDER BY id LIMIT \(limit)")
        while try cursor.next() {
            guard let id = cursor.integer(0), let reference = cursor.bytes16(1) else {
                throw .damagedStore("its outbox can't be read")
            }
            entries.append(OutboxEntry(id: id, reference: ItemReference(reference)))
        }
        return entries
    }
}

extension Store {
    /// The circle that changes are collected for. `nil` if there is none.
    package func circle() throws(KeychainFailure) -> StoredCircle? {
        guard file.version == StoreSchema.version else { return nil }
        return try connections.run { database throws(KeychainFailure) in
            try StoreOutbox.circle(in: database)
        }
    }

    /// The changes that are yet to be sent, in their order: those after an id, at most `limit`.
    package func outbox(
        after id: Int64 = .min, limit: Int = .max
    ) throws(KeychainFailure) -> [OutboxEntry] {
        guard file.version == StoreSchema.version else { return [] }
        return try connections.run(.reading) { database throws(KeychainFailure) in
            try StoreOutbox.entries(after: id, limit: limit, in: database)
        }
    }
}

extension StoreTransaction {
    /// The largest difference between the ids of successive rows. So the ids last for at least two
    /// billion rows.
    private static let longestStep: Int64 = 1 << 32

    package func circle() throws(KeychainFailure) -> StoredCircle? {
        try StoreOutbox.circle(in: database)
    }

    /// Starts to collect changes for a circle. `nil` stops collecting and empties the outbox.
    package mutating func setCircle(_ circle: StoredCircle?) throws(KeychainFailure) {
        try StoreOutbox.set(circle, in: database)
        if circle == nil { try execute("DELETE FROM outbox") }
        noteChange()
    }

    package mutating func addToOutbox(_ reference: ItemReference) throws(KeychainFailure) {
        // Because of the random step, an id is hardly ever used again, even after the row with the
        // highest id was removed. Otherwise a process that has sent an earlier change of the same
        // item could remove the entry for the new change.
        try execute(
            "INSERT INTO outbox(id, body) SELECT coalesce(max(id), 0) + ?, ? FROM outbox",
            [.integer(.random(in: 1...Self.longestStep)), .blob(Data(reference.bytes))])
        noteChange()
    }

    /// Adds the entries of another database's outbox, with their ids.
    package mutating func addToOutbox(_ entries: [OutboxEntry]) throws(KeychainFailure) {
        for entry in entries {
            try execute(
                "INSERT INTO outbox(id, body) VALUES (?, ?)",
                [.integer(entry.id), .blob(Data(entry.reference.bytes))])
        }
    }

    /// Removes entries whose changes no longer have to be sent.
    package mutating func removeFromOutbox(
        _ entries: some Sequence<OutboxEntry>
    ) throws(KeychainFailure) {
        for entry in entries {
            // Older versions of this module use an id again after they have removed the row with
            // the highest id, so the reference is compared, too.
            try execute(
                "DELETE FROM outbox WHERE id = ? AND body = ?",
                [.integer(entry.id), .blob(Data(entry.reference.bytes))])
        }
        noteChange()
    }

    /// Those of the given references that are in the outbox, because a change of the item is yet to
    /// be sent. This reads the whole outbox once.
    package func inOutbox(
        _ references: Set<ItemReference>
    ) throws(KeychainFailure) -> Set<ItemReference> {
        var found: Set<ItemReference> = []
        guard !references.isEmpty else { return found }
        let cursor = try database.rows("SELECT body FROM outbox")
        while try cursor.next() {
            guard let reference = cursor.bytes16(0).map({ ItemReference($0) }) else {
                throw .damagedStore("its outbox can't be read")
            }
            if references.contains(reference) { found.insert(reference) }
        }
        return found
    }

    /// Adds `outbound` to the outbox, each item once, if there is a circle.
    mutating func fillOutbox() throws(KeychainFailure) {
        guard !outbound.isEmpty, try circle() != nil else { return }
        var added: Set<ItemReference> = []
        for reference in outbound where added.insert(reference).inserted {
            try addToOutbox(reference)
        }
    }
}
