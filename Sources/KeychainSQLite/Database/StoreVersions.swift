// StoreVersions: the table of earlier versions, and the setting for how long they are kept.
//   (1) A version is a copy of a row of `items` with an id of its own. It therefore opens with the
//       keys that the row was sealed under. A rotation seals all versions again under the new keys.
//   (2) Its id consists of 31 bits derived from the labels of the item's primary key, called the
//       place, and the 32-bit number of the version. The versions of one primary key are therefore
//       found without an index. Two primary keys may have the same place; the labels distinguish
//       them.
//   (3) The header neither counts versions nor covers them with its digest. They are authenticated
//       by the tags of their pages, and each version also by its own tags.

import FoundationEssentials
package import KeychainCore

/// A row of `versions`.
package struct StoredVersion: Sendable {
    /// The row. Its id is that in `versions`.
    package let row: SealedRow
    /// The time at which the version was replaced or deleted, in seconds since 2001-01-01.
    package let moment: Double
    package let change: ItemVersion.Change
    package var number: UInt32 { UInt32(truncatingIfNeeded: row.id) }

    /// Reads the columns of a row, with its secret or NULL in place of the secret, then the columns
    /// `at` and `reason`.
    fileprivate init?(_ cursor: borrowing RowCursor, includesSecret: Bool) {
        guard let sealed = try? SealedRow(cursor, includesSecret: includesSecret),
            let moment = cursor.real(10),
            let change = cursor.integer(11).flatMap({ UInt8(exactly: $0) })
                .flatMap({ ItemVersion.Change(rawValue: $0) })
        else { return nil }
        row = sealed
        self.moment = moment
        self.change = change
    }
}

enum StoreVersions {
    static let day = 86_400.0

    /// The range of ids for the versions of a primary key.
    static func ids(of labels: RowLabels) -> ClosedRange<Int64> {
        let place = (labels.first.high ^ labels.second.high ^ labels.rest.high) >> 33
        let first = Int64(place) << 32
        return first...first + 0xFFFF_FFFF
    }

    /// Visits all versions; `visit` gets `nil` for a malformed row.
    static func visit(
        _ database: DatabaseConnection, includesSecret: Bool,
        _ visit: (StoredVersion?) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        let cursor = try database.rows(
            "SELECT id, \(StoreSchema.rowColumns), \(includesSecret ? "secret" : "NULL"), at, reason "
                + "FROM versions ORDER BY at DESC, id DESC")
        while try cursor.next() {
            try visit(StoredVersion(cursor, includesSecret: includesSecret))
        }
    }

    // MARK: The setting

    private static let name = "history"

    /// The policy, and the time at which expired versions were last deleted.
    struct Setting: Equatable {
        var policy = HistoryPolicy.standard
        var sweptAt = 0.0

        var bytes: Data {
            var writer = ByteWriter(capacity: 17)
            writer.number(policy.count)
            writer.number(policy.days)
            writer.number(policy.isForAll ? 1 as UInt8 : 0)
            writer.number(sweptAt.bitPattern)
            return Data(writer.result)
        }

        init() {}

        init?(_ bytes: Data) {
            var reader = ByteReader(Array(bytes))
            guard let count: UInt32 = reader.number(), let days: UInt32 = reader.number(),
                let isForAll: UInt8 = reader.number(), let sweptAt: UInt64 = reader.number(),
                bytes.count == 17, isForAll <= 1
            else { return nil }
            policy = HistoryPolicy(count: count, days: days, isForAll: isForAll == 1)
            self.sweptAt = Double(bitPattern: sweptAt)
            guard policy.isValid else { return nil }
        }
    }

    /// - Returns: The setting; that of a new keychain if none is stored.
    static func setting(in database: DatabaseConnection) throws(KeychainFailure) -> Setting {
        let cursor = try database.rows("SELECT body FROM state WHERE name = '\(name)'")
        guard try cursor.next() else { return Setting() }
        guard let setting = cursor.data(0).flatMap(Setting.init) else {
            throw .damagedStore("the setting for how long earlier versions are kept can't be read")
        }
        return setting
    }

    static func set(
        _ setting: Setting, in database: DatabaseConnection
    ) throws(KeychainFailure) {
        try database.run(
            "INSERT OR REPLACE INTO state(name, body) VALUES ('\(name)', ?)",
            [.blob(setting.bytes)])
    }
}

extension Store {
    package func historyPolicy() throws(KeychainFailure) -> HistoryPolicy {
        try connections.run { database throws(KeychainFailure) in
            try StoreVersions.setting(in: database).policy
        }
    }

    /// Visits all versions, the most recently replaced or deleted first; `visit` gets `nil` for a
    /// malformed row.
    package func forEachVersion(
        includesSecret: Bool, _ visit: (StoredVersion?) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        // A database of version 1, which is opened only for conversion, has no versions.
        guard file.version == StoreSchema.version else { return }
        try connections.run(.reading) { database throws(KeychainFailure) in
            try StoreVersions.visit(database, includesSecret: includesSecret, visit)
        }
    }
}

// MARK: - In a transaction

/// How a transaction keeps versions of the rows that it replaces and deletes.
struct VersionKeeping {
    let policy: HistoryPolicy
    let moment: Double
    /// Whether the request asks for versions.
    let isRequested: Bool
}

extension StoreTransaction {
    /// Keeps versions of the rows that are replaced and deleted from now on, if the policy permits
    /// any, and if the request asks for them or the policy applies to all changes. `moment` is the
    /// current time, in seconds since 2001-01-01.
    package mutating func keepVersions(
        isRequested: Bool, at moment: Double
    ) throws(KeychainFailure) {
        let policy = try StoreVersions.setting(in: database).policy
        guard policy.count > 0, isRequested || policy.isForAll else { return }
        keeping = VersionKeeping(policy: policy, moment: moment, isRequested: isRequested)
    }

    /// Whether versions are kept because the request asks for them.
    package var keepsRequestedVersions: Bool { keeping?.isRequested ?? false }

    /// Keeps a version of a row that is about to be changed or deleted, if a call of
    /// ``keepVersions(isRequested:at:)`` has turned this on.
    func keepVersion(
        _ row: SealedRow, _ change: ItemVersion.Change
    ) throws(KeychainFailure) {
        guard let keeping else { return }
        let ids = StoreVersions.ids(of: row.labels)
        let last = try database.integer(
            "SELECT max(id) FROM versions WHERE id BETWEEN ? AND ?",
            [.integer(ids.lowerBound), .integer(ids.upperBound)])
        // At one change per second, the numbers are exhausted after 136 years.
        let id = (last ?? ids.lowerBound) + 1
        guard ids.contains(id) else {
            throw .param(
                "No further version of this item can be kept. Delete its earlier versions with "
                    + "`keychainctl purge`, and try again.")
        }
        try execute(
            "INSERT INTO versions(id, at, reason, \(StoreSchema.rowColumns), secret) "
                + "SELECT ?, ?, ?, \(StoreSchema.rowColumns), secret FROM items WHERE id = ?",
            [
                .integer(id), .real(keeping.moment), .integer(Int64(change.rawValue)),
                .integer(row.id),
            ])
        guard database.changedRowCount == 1 else { throw .misleadingIndex }
        try dropSurplus(of: row.labels, ids, keeping.policy.count)
        try dropExpired(keeping)
    }

    /// Deletes the oldest versions of a primary key that exceed the permitted number.
    private func dropSurplus(
        of labels: RowLabels, _ ids: ClosedRange<Int64>, _ count: UInt32
    ) throws(KeychainFailure) {
        let ofName = "id BETWEEN ? AND ? AND k1 = ? AND k2 = ? AND k3 = ?"
        let name: [StatementValue] = [
            .label(labels.first), .label(labels.second), .label(labels.rest),
        ]
        let surplus = try database.integer(
            "SELECT id FROM versions WHERE \(ofName) ORDER BY id DESC LIMIT 1 OFFSET ?",
            [.integer(ids.lowerBound), .integer(ids.upperBound)] + name
                + [.integer(Int64(count))])
        guard let surplus else { return }
        try execute(
            "DELETE FROM versions WHERE \(ofName)",
            [.integer(ids.lowerBound), .integer(surplus)] + name)
    }

    /// Deletes all expired versions, at most once a day, because the query examines all rows.
    private func dropExpired(_ keeping: VersionKeeping) throws(KeychainFailure) {
        var setting = try StoreVersions.setting(in: database)
        guard abs(keeping.moment - setting.sweptAt) >= StoreVersions.day else { return }
        setting.sweptAt = keeping.moment
        try StoreVersions.set(setting, in: database)
        try dropVersions(before: keeping.policy.horizon(at: keeping.moment))
    }

    private func dropVersions(before moment: Double) throws(KeychainFailure) {
        try execute("DELETE FROM versions WHERE at < ?", [.real(moment)])
    }

    /// Sets the policy, and deletes the versions that exceed its limits of age and number.
    package mutating func setHistory(
        _ policy: HistoryPolicy, at moment: Double
    ) throws(KeychainFailure) {
        var setting = StoreVersions.Setting()
        setting.policy = policy
        setting.sweptAt = moment
        try StoreVersions.set(setting, in: database)
        try dropVersions(before: policy.horizon(at: moment))
        try execute(
            """
            DELETE FROM versions WHERE id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER (PARTITION BY k1, k2, k3 ORDER BY id DESC) AS place
                    FROM versions)
                WHERE place > ?)
            """, [.integer(Int64(policy.count))])
        noteChange()
    }

    /// Visits all versions, like ``Store/forEachVersion(includesSecret:_:)``.
    package func forEachVersion(
        includesSecret: Bool, _ visit: (StoredVersion?) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        try StoreVersions.visit(database, includesSecret: includesSecret, visit)
    }

    package mutating func delete(_ version: StoredVersion) throws(KeychainFailure) {
        try execute("DELETE FROM versions WHERE id = ?", [.integer(version.row.id)])
        noteChange()
    }

    /// Deletes all versions whose protection class is `protection`, even if their items now have
    /// another one.
    package mutating func deleteVersions(
        of protection: ProtectionClass
    ) throws(KeychainFailure) {
        try execute(
            "DELETE FROM versions WHERE protection = ?", [.integer(Int64(protection.rawValue))])
        noteChange()
    }

    /// Deletes all versions of an item, under all names that it had.
    package mutating func deleteVersions(
        ofItem reference: ItemReference
    ) throws(KeychainFailure) {
        try execute("DELETE FROM versions WHERE uuid = ?", [.label(reference.value)])
        noteChange()
    }

    /// Adds a version from another database. `row` is the version sealed for this database. The
    /// version keeps its number if that number is free.
    package mutating func insert(
        _ version: StoredVersion, as row: SealedRow
    ) throws(KeychainFailure) {
        let ids = StoreVersions.ids(of: row.labels)
        var id = ids.lowerBound + Int64(version.number)
        if try database.integer("SELECT id FROM versions WHERE id = ?", [.integer(id)]) != nil {
            let last = try database.integer(
                "SELECT max(id) FROM versions WHERE id BETWEEN ? AND ?",
                [.integer(ids.lowerBound), .integer(ids.upperBound)])
            id = min((last ?? id) + 1, ids.upperBound)
        }
        try execute(
            "INSERT INTO versions(id, at, reason, \(StoreSchema.rowColumns), secret) "
                + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [.integer(id), .real(version.moment), .integer(Int64(version.change.rawValue))]
                + row.columnValues)
    }
}

extension HistoryPolicy {
    /// Versions that were replaced or deleted before this time are expired.
    package func horizon(at moment: Double) -> Double {
        moment - Double(days) * StoreVersions.day
    }
}
