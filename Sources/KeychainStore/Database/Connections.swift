// Connections: the open connections to one database file.
//   (1) A connection is used by one call at a time and goes back when the call ends.
//   (2) A call that writes waits for other processes, at the most for `busyTimeout`. Those of
//       this process come one at a time, see `CommitQueue`.
//   (3) Every commit is synchronized to the disk before it returns (WAL, synchronous = FULL).
//   (4) A database in memory has one connection, on which every call waits for its turn, and
//       goes with it. Nothing of it is written to a file, rollback journal included.

import Dispatch
import GRDB
import Glibc
import KeychainModel
import Synchronization

final class Connections: Sendable {
    /// How long a writer waits for other processes.
    static let busyTimeout: Duration = .seconds(30)

    /// Unused for a database in memory.
    private let path: String
    /// The one connection to a database in memory.
    private let memory: DatabaseQueue?
    private let idle = Mutex<[DatabaseQueue]>([])

    init(path: String) {
        self.path = path
        memory = nil
    }

    /// Makes an empty database in memory.
    init() throws(KeychainFailure) {
        path = ""
        do {
            memory = try DatabaseQueue(configuration: Self.configuration { _ in })
        } catch {
            throw StoreFailure.failure(from: error)
        }
    }

    /// Runs `body` on a connection outside a transaction: a single statement sees one commit.
    func read<Result>(_ body: (Database) throws -> Result) throws(KeychainFailure) -> Result {
        try run { connection in try connection.unsafeRead(body) }
    }

    /// Runs `body` in a transaction that sees one commit throughout.
    func readConsistently<Result>(
        _ body: (Database) throws -> Result
    ) throws(KeychainFailure) -> Result {
        try run { connection in try connection.read(body) }
    }

    /// Runs `body` in a transaction that holds the write lock from its start. An error rolls back.
    ///
    /// GRDB's own form compiles the statements anew each time, which takes longer than to run them.
    func write<Result>(_ body: (Database) throws -> Result) throws(KeychainFailure) -> Result {
        try run { connection in
            try connection.writeWithoutTransaction { database in
                try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
                do {
                    let result = try body(database)
                    try database.cachedStatement(sql: "COMMIT").execute()
                    return result
                } catch {
                    try? database.rollback()
                    throw error
                }
            }
        }
    }

    /// Runs `body` outside any transaction, for statements that can't be in one.
    func maintain(_ body: (Database) throws -> Void) throws(KeychainFailure) {
        try run { connection in try connection.writeWithoutTransaction(body) }
    }

    /// A database in memory stays: it would be gone with its connection.
    func close() {
        for connection in idle.withLock({ connections in
            defer { connections = [] }
            return connections
        }) {
            // A connection that can't close now closes when its last statement goes.
            try? connection.close()
        }
    }

    private func run<Result>(
        _ body: (DatabaseQueue) throws -> Result
    ) throws(KeychainFailure) -> Result {
        let connection: DatabaseQueue
        if let memory {
            connection = memory
        } else if let waiting = idle.withLock({ $0.popLast() }) {
            connection = waiting
        } else {
            connection = try open()
        }
        defer { if memory == nil { idle.withLock { $0.append(connection) } } }
        do {
            return try body(connection)
        } catch {
            throw StoreFailure.failure(from: error)
        }
    }

    private func open() throws(KeychainFailure) -> DatabaseQueue {
        let configuration = Self.configuration { database in
            // SAFETY: the connection is open and stays so for the call.
            try unsafe PageChecksumVFS.reserveChecksumBytes(of: database.sqliteConnection)
            // Before anything else: the first of the settings would change a foreign database.
            try Self.checkOwner(of: database)
            try database.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = FULL;
                    """)
        }
        do {
            try PageChecksumVFS.register()
            return try DatabaseQueue(
                path: PageChecksumVFS.uri(forPath: path), configuration: configuration)
        } catch {
            throw StoreFailure.failure(from: error)
        }
    }

    /// Only a file of ours, or one that holds nothing yet, is opened any further.
    private static func checkOwner(of database: Database) throws {
        let application = try Int64.fetchOne(database, sql: "PRAGMA application_id")
        guard application != StoreSchema.applicationID else { return }
        guard try Int64.fetchOne(database, sql: "PRAGMA page_count") == 0 else {
            throw KeychainFailure.damagedStore("keychain.db is a database of another program")
        }
    }

    /// What files and memory have in common; `prepare` comes before the first other statement.
    private static func configuration(
        _ prepare: @escaping @Sendable (Database) throws -> Void
    ) -> Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.acceptsDoubleQuotedStringLiterals = false
        configuration.busyMode = .callback(waitForOtherProcess)
        configuration.label = "keychain"
        configuration.qos = .userInitiated
        configuration.prepareDatabase { database in
            try prepare(database)
            try database.execute(
                sql: """
                    PRAGMA secure_delete = ON;
                    PRAGMA cell_size_check = ON;
                    PRAGMA trusted_schema = OFF;
                    PRAGMA temp_store = MEMORY;
                    """)
        }
        return configuration
    }

    /// Short waits with some randomness, so that waiting writers neither march in step nor
    /// leave the lock unused for long.
    private static func waitForOtherProcess(_ attempt: Int) -> Bool {
        let longest = min(200 + attempt * 100, 2_000)
        guard attempt < Int(busyTimeout.components.seconds) * 900 else { return false }
        usleep(UInt32.random(in: 100...UInt32(longest)))
        return true
    }
}
