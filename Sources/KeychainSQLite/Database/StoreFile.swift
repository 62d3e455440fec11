// StoreFile: an opened database whose rows can't be read yet, because the keys are missing.
//   (1) Opening never creates a database. `create` does, if the file doesn't exist.
//   (2) A file that is not a keychain database, or that has a newer format, is refused, and its
//       content stays unchanged.
//   (3) SQLite's file layer has the device key for as long as the file is open, so that every page
//       is authenticated. The pages of a database of version 1 have only checksums, and those of a
//       database in memory have neither tags nor checksums.
//   (4) A database of version 1 is opened only to be converted.

import FoundationEssentials
package import KeychainCore
package import KeychainCrypto

package struct StoreFile: Sendable {
    /// `nil` if the database, and therefore the whole keychain, is in memory.
    package let folder: StoreFolder?
    let connections: Connections
    /// The format version; 1 for a database that is opened to be converted.
    let version: Int64
    private let use: PageDamage.Use?
    private let keyUse: PageKeys.Use?

    private init(
        folder: StoreFolder?, connections: Connections, deviceKey: SecretBytes?,
        version: Int64 = StoreSchema.version, isNew: Bool = false
    ) {
        self.folder = folder
        self.connections = connections
        self.version = version
        use = folder.map { _ in connections.damage.use() }
        keyUse = deviceKey.flatMap { deviceKey in
            folder.map {
                PageKeys.use(deviceKey, forPath: $0.path(of: .database), isNew: isNew)
            }
        }
    }

    /// The size, in bytes, of the page cache that keeps all inner pages of a million items in
    /// memory.
    package static let largePageCache = 16 << 20
    package static let smallPageCache = 2 << 20

    /// Opens the database of a folder. Each connection to it keeps up to `pageCacheByteCount` bytes
    /// of pages in memory.
    /// - Throws: `wrongVersion` for a newer format; `notAvailable` for a missing, damaged, foreign
    ///   or refused file, and if a recovery was interrupted; ``KeychainFailure/superseded`` if
    ///   another database has replaced it.
    package static func open(
        _ folder: StoreFolder, deviceKey: SecretBytes, pageCacheByteCount: Int = smallPageCache
    ) throws(KeychainFailure) -> StoreFile {
        let store = try open(
            folder, deviceKey, version: StoreSchema.version, pageCacheByteCount)
        do throws(KeychainFailure) {
            let problem = try store.connections.run { database throws(KeychainFailure) in
                try StoreSchema.difference(from: database, store.connections.damage)
            }
            if let problem { throw KeychainFailure.damagedStore(problem) }
        } catch {
            store.close()
            throw error
        }
        return store
    }

    /// Opens a database of version 1, to convert it.
    package static func openVersion1(_ folder: StoreFolder) throws(KeychainFailure) -> StoreFile {
        try open(folder, nil, version: 1, smallPageCache)
    }

    private static func open(
        _ folder: StoreFolder, _ deviceKey: SecretBytes?, version: Int64,
        _ pageCacheByteCount: Int
    ) throws(KeychainFailure) -> StoreFile {
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
        let store = StoreFile(
            folder: folder,
            connections: Connections(folder, pageCacheByteCount: pageCacheByteCount),
            deviceKey: deviceKey,
            version: version)
        do throws(KeychainFailure) {
            try store.checkIdentity(wanted: version)
        } catch {
            store.close()
            throw error
        }
        return store
    }

    private func checkIdentity(wanted: Int64) throws(KeychainFailure) {
        let version = try connections.run { database throws(KeychainFailure) in
            try database.integer("PRAGMA user_version") ?? 0
        }
        // A page whose tag is wrong may contain any version number.
        guard connections.damage.isEmpty else {
            guard version == wanted else {
                guard version > StoreSchema.version else {
                    throw .damagedStore("the first page of keychain.db is damaged")
                }
                throw KeychainFailure(
                    .notAvailable,
                    "Either a later swift-keychain wrote keychain.db (format version \(version)), "
                        + "or its first page is damaged. If you used a later version, update "
                        + "swift-keychain. If you are sure that you didn't, `keychainctl recover` "
                        + "rebuilds the keychain from all undamaged items. Nothing was changed.",
                    cause: .damage)
            }
            return
        }
        guard version <= StoreSchema.version else {
            throw KeychainFailure(
                .wrongVersion,
                "The keychain has format version \(version); this version of swift-keychain reads "
                    + "up to \(StoreSchema.version). Update swift-keychain. Nothing was changed.")
        }
        guard version == wanted else {
            throw .damagedStore(
                "keychain.db has format version \(version) instead of \(wanted)")
        }
    }

    /// Creates the database with its header and keybag in one transaction, and empties the
    /// write-ahead log, so that the database file contains everything. `generation` is that of its
    /// first commit. `blobClasses` are the classes whose current keys may protect Secure Enclave
    /// blobs that applications keep.
    package static func create(
        _ folder: StoreFolder, hierarchy: KeyHierarchy, tiers: StoreTiers,
        deviceKey: SecretBytes, generation: UInt64 = 1, blobClasses: Set<ProtectionClass> = []
    ) throws(KeychainFailure) -> StoreFile {
        // SQLite would create the file with permissions according to the process's umask. The log
        // and the shared memory inherit the permissions of the file.
        try folder.createEmpty(.database)
        let store = StoreFile(
            folder: folder,
            connections: Connections(folder, pageCacheByteCount: smallPageCache),
            deviceKey: deviceKey,
            isNew: true)
        try store.fill(hierarchy, tiers, generation: generation, blobClasses)
        try store.connections.emptyLog()
        return store
    }

    /// Creates a database in memory with its header and keybag. It exists until the last copy of
    /// the result is released.
    package static func createInMemory(
        _ hierarchy: KeyHierarchy, tiers: StoreTiers
    ) throws(KeychainFailure) -> StoreFile {
        let store = StoreFile(folder: nil, connections: try Connections(), deviceKey: nil)
        try store.fill(hierarchy, tiers)
        return store
    }

    private func fill(
        _ hierarchy: KeyHierarchy, _ tiers: StoreTiers, generation: UInt64 = 1,
        _ blobClasses: Set<ProtectionClass> = []
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
                [.blob(Data(header.encoded(with: tiers)))])
            if !blobClasses.isEmpty { try StoreSchema.setBlobClasses(blobClasses, in: database) }
        }
    }

    /// Whether another database has replaced this one. The items of a replaced database are neither
    /// read nor written.
    package var isSuperseded: Bool {
        get throws(KeychainFailure) {
            try connections.run { database throws(KeychainFailure) in
                try StoreSchema.isSuperseded(database, connections.damage)
            }
        }
    }

    /// The bytes of the keybag row, unchecked; `nil` if there are none.
    package func keybagBytes() throws(KeychainFailure) -> [UInt8]? {
        try connections.run { database throws(KeychainFailure) in
            try Self.body("keybag", in: database)
        }
    }

    /// The header row; `nil` if it is missing or not authentic.
    package func header(_ tiers: StoreTiers) throws(KeychainFailure) -> StoreHeader? {
        try connections.run { database throws(KeychainFailure) in
            try Self.body("header", in: database)
        }.flatMap { StoreHeader($0, tiers) }
    }

    static func body(
        _ table: String, in database: DatabaseConnection
    ) throws(KeychainFailure) -> [UInt8]? {
        let cursor = try database.rows("SELECT body FROM \(table) WHERE id = 1")
        return try cursor.next() ? cursor.data(0).map { Array($0) } : nil
    }

    /// 0 for a database in memory, and if there is no log.
    package var logByteCount: Int { folder?.byteCount(of: .writeAheadLog) ?? 0 }

    package func close() {
        connections.close()
        use?.end()
        keyUse?.end()
    }
}
