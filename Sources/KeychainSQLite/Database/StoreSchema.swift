// StoreSchema: the tables and indexes of a database, and the identifiers that distinguish it from
// other SQLite databases.
//   (1) The schema is that of Documentation/Formats/database-v2.md. Any change to the schema
//       requires a new format version.
//   (2) The SQL texts here are identical to those that SQLite stores in `sqlite_schema`, so that
//       both can be compared.
//   (3) A database that a rotation of the keys replaces is marked in `state`, and its tables
//       `header`, `keybag` and `items` are renamed in the same transaction. In every process,
//       SQLite itself therefore rejects later statements on these tables. Every write and every
//       read of items uses one of these tables.

import FoundationEssentials
import KeychainCore

enum StoreSchema {
    /// `PRAGMA application_id`: "KChn".
    static let applicationID: Int64 = 0x4B43_686E
    /// `PRAGMA user_version`.
    static let version: Int64 = 2

    /// The columns of a row, without id and secret, in the order in which `items`, `set_aside` and
    /// `versions` have them.
    static let rowColumns = "uuid, protection, grp, k1, k2, k3, meta, terms"
    /// The id and `rowColumns`, qualified with `items`, for statements with more than one table.
    static let itemColumns =
        "items.id, "
        + rowColumns.split(separator: ", ").map { "items." + $0 }.joined(separator: ", ")

    /// A row of `sqlite_schema`.
    struct Object: Hashable {
        let type: String
        let name: String
        let table: String
        let sql: String
    }

    static var statements: String {
        objects.map { $0.sql + ";\n" }.joined()
            + "PRAGMA application_id = \(applicationID);\nPRAGMA user_version = \(version);\n"
    }

    /// In the order in which they are created.
    static let objects: [Object] = [
        table("header", singleBody), table("keybag", singleBody),
        table("items", "(\n    id INTEGER PRIMARY KEY," + columnDefinitions),
        index("items_uuid", on: "uuid", isUnique: true),
        index("items_key", on: "k1, k2, k3", isUnique: true),
        index("items_k2", on: "k2"), index("items_grp", on: "grp"),
        table(
            "terms",
            """
            (
                term BLOB NOT NULL,
                item INTEGER NOT NULL,
                PRIMARY KEY (term, item)) WITHOUT ROWID
            """),
        table(
            "set_aside",
            """
            (
                id INTEGER PRIMARY KEY,
                at REAL NOT NULL,
                reason INTEGER NOT NULL,
                tag BLOB NOT NULL,
            """ + columnDefinitions),
        table(
            "versions",
            """
            (
                id INTEGER PRIMARY KEY,
                at REAL NOT NULL,
                reason INTEGER NOT NULL,
            """ + columnDefinitions),
        table("outbox", "(id INTEGER PRIMARY KEY, body BLOB NOT NULL)"),
        table("state", "(name TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID"),
    ]

    private static let singleBody =
        "(id INTEGER PRIMARY KEY CHECK (id = 1), body BLOB NOT NULL)"

    private static let columnDefinitions = """

            uuid BLOB NOT NULL,
            protection INTEGER NOT NULL,
            grp BLOB NOT NULL,
            k1 BLOB NOT NULL,
            k2 BLOB NOT NULL,
            k3 BLOB NOT NULL,
            meta BLOB NOT NULL,
            terms BLOB NOT NULL,
            secret BLOB)
        """

    private static func table(_ name: String, _ definition: String) -> Object {
        Object(type: "table", name: name, table: name, sql: "CREATE TABLE \(name)\(definition)")
    }

    private static func index(
        _ name: String, on columns: String, isUnique: Bool = false
    ) -> Object {
        Object(
            type: "index", name: name, table: "items",
            sql: "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name) ON items(\(columns))")
    }

    // MARK: Superseding

    private static let mark = "superseded"
    /// Every write and every read of items needs one of these tables.
    private static let renamed = ["header", "keybag", "items"]

    /// Marks a database as replaced by another.
    static func supersede(
        _ database: DatabaseConnection, by successor: String
    ) throws(KeychainFailure) {
        try database.run(
            "INSERT INTO state(name, body) VALUES ('\(mark)', ?)", [.blob(Data(successor.utf8))])
        for table in renamed {
            try database.execute("ALTER TABLE \(table) RENAME TO \(mark)_\(table)")
        }
    }

    /// Whether the database is marked as replaced by another. Anyone who can write the file can put
    /// a mark on a page that isn't authentic, so the mark is ignored if damage is recorded.
    static func isSuperseded(
        _ database: DatabaseConnection, _ damage: PageDamage
    ) throws(KeychainFailure) -> Bool {
        let cursor = try database.rows("SELECT 1 FROM state WHERE name = '\(mark)'")
        return try cursor.next() && damage.isEmpty
    }

    // MARK: Blobs

    private static let blobs = "secure-enclave"

    /// The classes for which Secure Enclave blobs may have been made since the last rotation. The
    /// next rotation keeps the class keys of these classes as retired keys, which still open the
    /// blobs. Stored as one byte for each class.
    static func blobClasses(
        in database: DatabaseConnection
    ) throws(KeychainFailure) -> Set<ProtectionClass> {
        let cursor = try database.rows("SELECT body FROM state WHERE name = '\(blobs)'")
        guard try cursor.next() else { return [] }
        guard let body = cursor.data(0) else { return Set(ProtectionClass.allCases) }
        return Set(body.compactMap { ProtectionClass(rawValue: $0) })
    }

    static func setBlobClasses(
        _ classes: Set<ProtectionClass>, in database: DatabaseConnection
    ) throws(KeychainFailure) {
        try database.run(
            "INSERT OR REPLACE INTO state(name, body) VALUES ('\(blobs)', ?)",
            [.blob(Data(classes.map(\.rawValue).sorted()))])
    }

    /// A description of one difference between the schema of a database and the one defined here;
    /// `nil` if there is none. Additions count too: a trigger, for example, would change what is
    /// written. Names that this schema lacks are not in the description, because they may contain
    /// anything.
    /// - Throws: `superseded` if another database has replaced this one.
    static func difference(
        from database: DatabaseConnection, _ damage: PageDamage
    ) throws(KeychainFailure) -> String? {
        // The tables of a superseded database are renamed, which is not damage.
        if (try? isSuperseded(database, damage)) == true { throw .superseded }
        let cursor = try database.rows("SELECT type, name, tbl_name, sql FROM sqlite_schema")
        var found: Set<Object> = []
        while try cursor.next() {
            found.insert(
                Object(
                    type: cursor.text(0) ?? "", name: cursor.text(1) ?? "",
                    table: cursor.text(2) ?? "", sql: cursor.text(3) ?? ""))
        }
        for object in objects where !found.contains(object) {
            let isThere = found.contains { $0.type == object.type && $0.name == object.name }
            return "the database's \(object.type) \(object.name) is "
                + (isThere ? "altered" : "missing")
        }
        guard let other = found.subtracting(objects).first else { return nil }
        let kinds = ["table": "a table", "index": "an index", "view": "a view"]
        return "the database's schema has \(kinds[other.type] ?? "a trigger") that no keychain has"
    }
}
