// Store+Survey: every row of one commit, held against the header.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore

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
            surveyed = try connections.readConsistently {
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
        try connections.read { database throws(KeychainFailure) in
            let cursor = try database.rows(
                "SELECT id, \(StoreSchema.rowColumns), secret, at, reason FROM set_aside "
                    + "ORDER BY id")
            var rows: [SetAsideRow] = []
            while try cursor.next() {
                if let row = SetAsideRow(cursor) { rows.append(row) }
            }
            return rows
        }
    }
}
