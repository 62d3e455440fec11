// Store+Survey: every row of a table, for those that need all of them.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto

extension Store {
    package static var formatVersion: Int { Int(StoreSchema.version) }

    /// The statements that make the tables and indexes.
    package static var schemaSQL: String { StoreSchema.statements }

    static let setAsideSQL =
        "SELECT id, \(StoreSchema.rowColumns), secret, at, reason, tag FROM set_aside ORDER BY id"

    package func setAsideRows() throws(KeychainFailure) -> [SetAsideRow] {
        try connections.run { database throws(KeychainFailure) in
            try Self.setAsideRows(in: database, authenticator)
        }
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
}

// MARK: - Version 1

/// A row that stands aside in a database of version 1.
package struct SetAsideRowOfVersion1: Sendable {
    package let row: SealedRow
    package let moment: Double
    /// What its text has become.
    package let reason: Int64
}

extension Store {
    /// The rows that stand aside in a database of version 1. nil: one can't be read.
    package func setAsideRowsOfVersion1() throws(KeychainFailure) -> [SetAsideRowOfVersion1]? {
        try connections.run { database throws(KeychainFailure) in
            let cursor = try database.rows(
                "SELECT id, \(StoreSchema.rowColumns), secret, at, reason FROM set_aside "
                    + "ORDER BY id")
            var rows: [SetAsideRowOfVersion1] = []
            while try cursor.next() {
                guard let row = try? SealedRow(cursor, includesSecret: true),
                    let moment = cursor.real(10), let reason = cursor.text(11)
                else { return nil }
                rows.append(
                    SetAsideRowOfVersion1(
                        row: row, moment: moment,
                        reason: SetAsideReason.number(ofVersion1: reason)))
            }
            return rows
        }
    }

    /// Visits all rows of a database with their secrets, in the order of addition.
    package func forEachRow(
        _ visit: (SealedRow) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
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
