// Store+Survey: every row of one commit, held against the header, and whether the database's tables
// and indexes agree with each other and with it.
//   (1) The check of the structure opens nothing, so it needs no keys beyond the store's.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto

extension Store {
    package static var formatVersion: Int { Int(StoreSchema.version) }

    /// The statements that make the tables and indexes.
    package static var schemaSQL: String { StoreSchema.statements }

    package struct Survey {
        package let problems: [String]
        package let damagedPages: [UInt32]
    }

    /// Examines the structure, then visits all rows with their secrets, in the order of addition.
    /// `visit` is given each row, how many came before it, and how many there should be.
    package func survey(
        _ visit: (Found, Int, Int) -> Bool
    ) throws(KeychainFailure) -> Survey {
        // A page that is in a connection's cache would not be read, and so not be verified.
        connections.close()
        var problems = try StructureCheck.problems(of: self)
        let header = try header()
        var digest = StoreDigest.zero
        var count = 0
        var surveyed: UInt64 = 0
        do {
            surveyed = try connections.run(.reading) {
                database throws(KeychainFailure) in
                let generation = try generation(in: database)
                try Self.visit(
                    database, "SELECT id, \(StoreSchema.rowColumns), secret FROM items ORDER BY id",
                    [], includesSecret: true
                ) { found in
                    guard visit(found, count, Int(clamping: header.itemCount)) else {
                        return false
                    }
                    count += 1
                    if case .row(let row) = found {
                        digest = digest + row.contribution(authenticator)
                    }
                    return true
                }
                return generation
            }
        } catch  where problems.isEmpty {
            throw error
        } catch {}
        if problems.isEmpty, surveyed == header.generation, digest != header.digest {
            problems.append("its rows are not those that its header vouches for")
        }
        return Survey(problems: problems, damagedPages: damage.damagedPages)
    }

    private func generation(
        in database: DatabaseConnection
    ) throws(KeychainFailure) -> UInt64 {
        guard let bytes = try StoreFile.body("header", in: database),
            let header = StoreHeader(bytes, authenticator: authenticator)
        else { throw KeychainFailure.damagedStore("the header was altered or is missing") }
        return header.generation
    }

    package func setAsideRows() throws(KeychainFailure) -> [SetAsideRow] {
        try connections.run { database throws(KeychainFailure) in
            try Self.setAsideRows(in: database, authenticator)
        }
    }

    static func setAsideRows(
        in database: DatabaseConnection, _ authenticator: StoreAuthenticator
    ) throws(KeychainFailure) -> [SetAsideRow] {
        let cursor = try database.rows(
            "SELECT id, \(StoreSchema.rowColumns), secret, at, reason, tag FROM set_aside "
                + "ORDER BY id")
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

// MARK: - Structure

package enum StructureCheck {
    /// What is wrong, in words; empty when nothing is. Reads the whole database.
    package static func problems(of store: Store) throws(KeychainFailure) -> [String] {
        try store.connections.run(.reading) { database throws(KeychainFailure) in
            let answer = try integrityAnswer(database)
            if answer != "ok" {
                // SQLite's answers name tables, indexes and pages only.
                return ["its tables and indexes disagree (\(answer ?? "no answer"))"]
            }
            if store.file.version == StoreSchema.version,
                let difference = try StoreSchema.difference(from: database)
            {
                return [difference]
            }
            guard let bytes = try StoreFile.body("header", in: database),
                let header = StoreHeader(bytes, authenticator: store.authenticator)
            else { return ["the header was altered or is missing"] }
            let count = try database.integer("SELECT count(*) FROM items") ?? -1
            guard count >= 0, UInt64(count) == header.itemCount else {
                return ["it holds \(count) items and should hold \(header.itemCount)"]
            }
            let aside = try database.integer("SELECT count(*) FROM set_aside") ?? -1
            guard aside >= 0, UInt64(aside) == header.setAsideCount else {
                return ["\(aside) rows are set aside and should be \(header.setAsideCount)"]
            }
            if store.file.version == StoreSchema.version,
                try Store.setAsideRows(in: database, store.authenticator)
                    .contains(where: { $0.hasTag && !$0.isAuthentic })
            {
                return ["a row that is set aside is not as it was written"]
            }
            return try termProblems(database)
        }
    }

    /// Whether rows are other ones than those that the header vouches for, where pages have been seen
    /// whose tags don't fit: who wrote them may have left the structure whole.
    static func rowProblems(of store: Store) throws(KeychainFailure) -> [String] {
        try store.connections.run(.reading) { database throws(KeychainFailure) in
            guard let bytes = try StoreFile.body("header", in: database),
                let header = StoreHeader(bytes, authenticator: store.authenticator)
            else { return ["the header was altered or is missing"] }
            var digest = StoreDigest.zero
            try Store.visit(
                database, RowSearch.select(includesSecret: false, index: nil), [],
                includesSecret: false
            ) { found in
                if case .row(let row) = found {
                    digest = digest + row.contribution(store.authenticator)
                }
                return true
            }
            return digest == header.digest
                ? [] : ["its rows are not those that its header vouches for"]
        }
    }

    /// The first problem that SQLite finds, or "ok".
    private static func integrityAnswer(
        _ database: DatabaseConnection
    ) throws(KeychainFailure) -> String? {
        let rows = try database.rows("PRAGMA integrity_check(8)")
        var answer: String?
        // To the end: reading is what finds damaged pages.
        while try rows.next() { answer = answer ?? rows.text(0) }
        return answer
    }

    /// Each term of each row has its entry, and there are no others.
    private static func termProblems(
        _ database: DatabaseConnection
    ) throws(KeychainFailure) -> [String] {
        var expected = 0
        let rows = try database.rows("SELECT id, terms FROM items WHERE length(terms) > 0")
        while try rows.next() {
            // A row whose terms are no labels is reported as a damaged row, not here.
            guard let id = rows.integer(0), let terms = rows.list16(1) else { continue }
            for term in terms {
                expected += 1
                let found = try database.integer(
                    "SELECT count(*) FROM terms WHERE term = ? AND item = ?",
                    [.label(term), .integer(id)])
                if found != 1 { return ["its attribute index lacks an entry"] }
            }
        }
        let actual = try database.integer("SELECT count(*) FROM terms") ?? -1
        return actual == expected ? [] : ["its attribute index has entries without an item"]
    }
}
