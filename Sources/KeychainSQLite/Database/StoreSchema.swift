// StoreSchema: the tables and indexes, and what tells this database from others.
// Documentation/Formats/database-v1.md. A change here is a new format version.

enum StoreSchema {
    /// `PRAGMA application_id`: "KChn".
    static let applicationID: Int64 = 0x4B43_686E
    /// `PRAGMA user_version`.
    static let version: Int64 = 1

    /// The columns of a row, without id and secret, as they stand in `items` and `set_aside`.
    static let rowColumns = "uuid, protection, grp, k1, k2, k3, meta, terms"
    /// The columns of a row of `items` with its id, in statements over more than one table.
    static let itemColumns =
        "items.id, "
        + rowColumns.split(separator: ", ").map { "items." + $0 }.joined(separator: ", ")

    static let statements = """
        CREATE TABLE header(id INTEGER PRIMARY KEY CHECK (id = 1), body BLOB NOT NULL);
        CREATE TABLE keybag(id INTEGER PRIMARY KEY CHECK (id = 1), body BLOB NOT NULL);
        CREATE TABLE items(
            id INTEGER PRIMARY KEY,
            uuid BLOB NOT NULL,
            protection INTEGER NOT NULL,
            grp BLOB NOT NULL,
            k1 BLOB NOT NULL,
            k2 BLOB NOT NULL,
            k3 BLOB NOT NULL,
            meta BLOB NOT NULL,
            terms BLOB NOT NULL,
            secret BLOB);
        CREATE UNIQUE INDEX items_uuid ON items(uuid);
        CREATE UNIQUE INDEX items_key ON items(k1, k2, k3);
        CREATE INDEX items_k2 ON items(k2);
        CREATE INDEX items_grp ON items(grp);
        CREATE TABLE terms(
            term BLOB NOT NULL,
            item INTEGER NOT NULL,
            PRIMARY KEY (term, item)) WITHOUT ROWID;
        CREATE TABLE set_aside(
            id INTEGER PRIMARY KEY,
            at REAL NOT NULL,
            reason TEXT NOT NULL,
            uuid BLOB NOT NULL,
            protection INTEGER NOT NULL,
            grp BLOB NOT NULL,
            k1 BLOB NOT NULL,
            k2 BLOB NOT NULL,
            k3 BLOB NOT NULL,
            meta BLOB NOT NULL,
            terms BLOB NOT NULL,
            secret BLOB);
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        """
}
