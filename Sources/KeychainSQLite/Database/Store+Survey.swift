// Store+Survey: counts items, reads all rows of `items` or all rows of `set_aside`, reads the item
// with a given reference, reads the classes with Secure Enclave blobs, checks that the database is
// the current one, and describes the format.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto

extension Store {
    package static var formatVersion: Int { Int(StoreSchema.version) }

    /// The statements that create the tables and indexes.
    package static var schemaSQL: String { StoreSchema.statements }

    /// The number of items of the classes that satisfy `isCounted`.
    package func itemCount(
        of isCounted: (ProtectionClass) -> Bool
    ) throws(KeychainFailure) -> UInt64 {
        let codes = ProtectionClass.allCases.filter(isCounted).map { "\($0.rawValue)" }
        return try connections.run { database throws(KeychainFailure) in
            let count = try database.integer(
                "SELECT count(*) FROM items WHERE protection IN "
                    + "(\(codes.joined(separator: ", ")))")
            return UInt64(clamping: count ?? 0)
        }
    }

    /// The row with the given reference, and its secret; `nil` if there is no such row.
    package func row(withReference reference: ItemReference) throws(KeychainFailure) -> SealedRow? {
        closeIfDamaged()
        var found: SealedRow?
        try connections.run(.reading) { database throws(KeychainFailure) in
            try Self.visit(
                database, Self.rowOfReferenceSQL, [reference.value], includesSecret: true
            ) { candidate throws(KeychainFailure) in
                guard case .row(let row) = candidate, row.reference == reference else {
                    throw .misleadingIndex
                }
                found = row
                return false
            }
        }
        return found
    }

    private static let rowOfReferenceSQL =
        SearchStatement.select(includesSecret: true, index: "items_uuid") + " WHERE entry.uuid = ?"

    /// Makes sure that what was read before comes from the current database. Call this after
    /// reading only from the tables `versions`, `set_aside`, `outbox` or `state`. When another
    /// database replaces this one, the tables `header`, `keybag` and `items` are renamed, so that
    /// reading them fails, but those four stay readable.
    /// - Throws: `superseded` if another database has replaced this one.
    package func requireCurrent() throws(KeychainFailure) {
        if try file.isSuperseded { throw .superseded }
    }

    static let setAsideSQL =
        "SELECT id, \(StoreSchema.rowColumns), secret, at, reason, tag FROM set_aside ORDER BY id"

    package func setAsideRows() throws(KeychainFailure) -> [SetAsideRow] {
        try connections.run { database throws(KeychainFailure) in
            try file.version == StoreSchema.version
                ? Self.setAsideRows(in: database, tiers.open.authenticator)
                : Self.setAsideRowsOfVersion1(in: database)
        }
    }

    private static func setAsideRowsOfVersion1(
        in database: DatabaseConnection
    ) throws(KeychainFailure) -> [SetAsideRow] {
        let cursor = try database.rows(
            "SELECT id, \(StoreSchema.rowColumns), secret, at, reason FROM set_aside ORDER BY id")
        var rows: [SetAsideRow] = []
        while try cursor.next() {
            if let row = SetAsideRow(version1: cursor) { rows.append(row) }
        }
        return rows
    }

    static func setAsideRows(
        in database: DatabaseConnection, _ authenticator: StoreAuthenticator
    ) throws(KeychainFailure) -> [SetAsideRow] {
        let cursor = try database.rows(setAsideSQL)
        var rows: [SetAsideRow] = []
        while try cursor.next() {
            if let row = SetAsideRow(cursor, authenticator) { rows.append(row) }
        }
        return rows
    }

    /// The classes whose current keys may protect Secure Enclave blobs that applications keep.
    /// Blobs from before the last rotation are protected by retired keys.
    package func blobClasses() throws(KeychainFailure) -> Set<ProtectionClass> {
        try connections.run { database throws(KeychainFailure) in
            try StoreSchema.blobClasses(in: database)
        }
    }

    /// Visits all rows of `items` with their secrets, in the order in which they were added.
    package func forEachRow(
        _ visit: (SealedRow) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        closeIfDamaged()
        try connections.run(.reading) { database throws(KeychainFailure) in
            try Self.visit(
                database, "SELECT id, \(StoreSchema.rowColumns), secret FROM items ORDER BY id",
                [], includesSecret: true
            ) { found throws(KeychainFailure) in
                guard case .row(let row) = found else {
                    throw .damagedStore("a row has columns of the wrong kind")
                }
                try visit(row)
                return true
            }
        }
    }
}
