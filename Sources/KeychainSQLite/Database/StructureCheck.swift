// StructureCheck: whether the database's tables and indexes agree with each other and with the
// header. It opens nothing, so it needs no keys beyond the store's.

import KeychainCrypto
package import KeychainCore

package enum StructureCheck {
    /// What is wrong, in words; empty when nothing is. Reads the whole database.
    package static func problems(of store: Store) throws(KeychainFailure) -> [String] {
        try store.connections.readConsistently { database throws(KeychainFailure) in
            let answer = try integrityAnswer(database)
            if answer != "ok" {
                // SQLite's answers name tables, indexes and pages only.
                return ["its tables and indexes disagree (\(answer ?? "no answer"))"]
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
            return try termProblems(database)
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
