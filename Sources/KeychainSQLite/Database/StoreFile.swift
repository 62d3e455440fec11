// StoreFile: a database that was opened and whose rows can't be read yet, for want of keys; its
// tables and indexes, and what tells this database from others.
//   (1) Opening never makes a database; `create` alone does, and only where there is none.
//   (2) A file that is no database of ours, or of a newer format, is refused and left as it is.
//   (3) The schema is that of Documentation/Formats/database-v1.md. A change of it is a new format
//       version.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto

package struct StoreFile: Sendable {
    /// nil: the database is in memory, and with it all there is of the keychain.
    package let folder: StoreFolder?
    let connections: Connections
    private let use: PageDamage.Use?

    private init(folder: StoreFolder?, connections: Connections) {
        self.folder = folder
        self.connections = connections
        use = folder.map { PageDamage.registry(forPath: $0.path(of: .database)).use() }
    }

    /// Opens the database of a folder.
    /// - Throws: `wrongVersion` for a newer format; `notAvailable` for a damaged or foreign file.
    package static func open(_ folder: StoreFolder) throws(KeychainFailure) -> StoreFile {
        for file in [StoreFolder.File.database, .writeAheadLog, .sharedMemory] {
            try folder.check(file)
        }
        try folder.requireFinishedRecovery()
        guard folder.exists(.database) else {
            throw folder.failureForMissingDatabase
        }
        guard folder.byteCount(of: .database) > 0 else {
            throw .damagedStore("keychain.db is empty")
        }
        let store = StoreFile(folder: folder, connections: Connections(folder))
        try store.checkIdentity(in: folder)
        return store
    }

    private func checkIdentity(in folder: StoreFolder) throws(KeychainFailure) {
        let version = try connections.run { database throws(KeychainFailure) in
            try database.integer("PRAGMA user_version") ?? 0
        }
        // A page whose checksum is wrong may hold any version.
        guard PageDamage.registry(forPath: folder.path(of: .database)).isEmpty else {
            guard version == StoreSchema.version else {
                throw .damagedStore("its first page is damaged")
            }
            return
        }
        guard version <= StoreSchema.version else {
            throw KeychainFailure(
                .wrongVersion,
                "The keychain has format version \(version); this version reads up to "
                    + "\(StoreSchema.version). Update swift-keychain. Nothing was changed.")
        }
        guard version == StoreSchema.version else {
            throw .damagedStore("keychain.db names format version \(version)")
        }
    }

    /// Makes the database with its header and keybag, in one transaction, all of it in one file.
    /// `generation` is that of its first commit.
    package static func create(
        _ folder: StoreFolder, hierarchy: KeyHierarchy, authenticator: StoreAuthenticator,
        generation: UInt64 = 1
    ) throws(KeychainFailure) -> StoreFile {
        // SQLite would make the file with the process's mask; log and shared memory take their
        // permissions from it.
        try folder.createEmpty(.database)
        let store = StoreFile(folder: folder, connections: Connections(folder))
        try store.fill(hierarchy, authenticator, generation: generation)
        try store.connections.emptyLog()
        return store
    }

    /// Makes a database in memory with its header and keybag. It goes with the last copy of
    /// what is returned.
    package static func createInMemory(
        _ hierarchy: KeyHierarchy, authenticator: StoreAuthenticator
    ) throws(KeychainFailure) -> StoreFile {
        let store = StoreFile(folder: nil, connections: try Connections())
        try store.fill(hierarchy, authenticator)
        return store
    }

    private func fill(
        _ hierarchy: KeyHierarchy, _ authenticator: StoreAuthenticator, generation: UInt64 = 1
    ) throws(KeychainFailure) {
        let header = StoreHeader(
            keychainID: hierarchy.keybag.keychainID,
            keybagGeneration: hierarchy.keybag.generation, generation: generation)
        try connections.run(.writing) { database throws(KeychainFailure) in
            try database.execute(StoreSchema.statements)
            try database.run(
                "INSERT INTO keybag(id, body) VALUES (1, ?)", [.blob(Data(hierarchy.encoded))])
            try database.run(
                "INSERT INTO header(id, body) VALUES (1, ?)",
                [.blob(Data(header.encoded(with: authenticator)))])
        }
    }

    /// The keybag row's bytes as they stand; nil where there are none.
    package func keybagBytes() throws(KeychainFailure) -> [UInt8]? {
        try connections.run { database throws(KeychainFailure) in
            try Self.body("keybag", in: database)
        }
    }

    /// The header row, if it is authentic.
    package func header(_ authenticator: StoreAuthenticator) throws(KeychainFailure) -> StoreHeader?
    {
        try connections.run { database throws(KeychainFailure) in
            try Self.body("header", in: database)
        }.flatMap { StoreHeader($0, authenticator: authenticator) }
    }

    static func body(
        _ table: String, in database: DatabaseConnection
    ) throws(KeychainFailure) -> [UInt8]? {
        let cursor = try database.rows("SELECT body FROM \(table) WHERE id = 1")
        return try cursor.next() ? cursor.data(0).map { Array($0) } : nil
    }

    package func close() {
        connections.close()
        use?.end()
    }
}

// MARK: - Schema

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
