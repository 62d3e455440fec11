// Connections: the open connections to one database file.
//   (1) A connection is used by one call at a time and goes back when the call ends.
//   (2) A call waits for other processes, at the most for `Store.longestWait`; one that writes until
//       its deadline. Those of this process come one at a time, see `CommitQueue`.
//   (3) Every commit is synchronized to the disk before it returns (WAL, synchronous = FULL).
//   (4) A database in memory has one connection, on which every call waits for its turn, and
//       goes with it. Nothing of it is written to a file, rollback journal included.
//   (5) In a folder that can't be written, it reads as `ReadOnlyAccess.swift` says, and refuses every
//       write.

import Dispatch
import GRDB
import Glibc
import KeychainModel
import Synchronization

final class Connections: Sendable {
    /// Unused for a database in memory.
    private let path: String
    /// The one connection to a database in memory.
    private let memory: Connection?
    private let idle = Mutex<[Connection]>([])
    /// The database's folder, where it can't be written.
    private let readOnly: StoreFolder?

    /// An open connection.
    private struct Connection {
        let queue: DatabaseQueue
        /// Until when its present call waits for other processes.
        let limit: WaitLimit
        /// What it was opened at, in a folder that can't be written.
        let moment: ReadOnlyMoment?

        func serves(_ now: ReadOnlyMoment?) -> Bool {
            guard let moment, let now else { return true }
            return moment.servesConnections(of: now)
        }
    }

    init(_ folder: StoreFolder) {
        path = folder.path(of: .database)
        memory = nil
        readOnly = folder.isReadOnly ? folder : nil
    }

    /// Makes an empty database in memory.
    init() throws(KeychainFailure) {
        path = ""
        readOnly = nil
        do {
            let limit = WaitLimit()
            memory = Connection(
                queue: try DatabaseQueue(configuration: Self.configuration(limit) { _ in }),
                limit: limit, moment: nil)
        } catch {
            throw StoreFailure.failure(from: error)
        }
    }

    /// Runs `body` on a connection outside a transaction: a single statement sees one commit.
    func read<Result>(_ body: (Database) throws -> Result) throws(KeychainFailure) -> Result {
        try run { connection in
            try connection.unsafeRead { database in try Self.explained(database, body) }
        }
    }

    /// Runs `body` in a transaction that sees one commit throughout.
    func readConsistently<Result>(
        _ body: (Database) throws -> Result
    ) throws(KeychainFailure) -> Result {
        try run { connection in
            try connection.read { database in try Self.explained(database, body) }
        }
    }

    /// Runs `body` in a transaction that holds the write lock from its start. An error rolls back.
    ///
    /// GRDB's own form compiles the statements anew each time, which takes longer than to run them.
    /// Other processes are waited for until `deadline`; nil: ``Store/longestWait`` long.
    func write<Result>(
        until deadline: ContinuousClock.Instant? = nil, _ body: (Database) throws -> Result
    ) throws(KeychainFailure) -> Result {
        if let readOnly { throw readOnly.readOnlyFailure }
        return try run(until: deadline) { connection in
            try connection.writeWithoutTransaction { database in
                try Self.explained(database) { database in
                    try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
                }
                do {
                    return try Self.explained(database) { database in
                        let result = try body(database)
                        try database.cachedStatement(sql: "COMMIT").execute()
                        return result
                    }
                } catch {
                    try? database.rollback()
                    throw error
                }
            }
        }
    }

    /// Folds the log into the database and cuts it to nothing.
    func emptyLog() throws(KeychainFailure) {
        if let readOnly { throw readOnly.readOnlyFailure }
        try run { connection in
            try connection.writeWithoutTransaction { database in
                let busy = try Self.explained(database) { database in
                    try Int.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                }
                guard busy == 0 else {
                    throw KeychainFailure.busy("Another process reads the log. Try again.")
                }
            }
        }
    }

    /// A database in memory stays: it would be gone with its connection.
    func close() {
        for waiting in idle.withLock({ idle in
            defer { idle = [] }
            return idle
        }) {
            // A connection that can't close now closes when its last statement goes.
            try? waiting.queue.close()
        }
    }

    private func run<Result>(
        until deadline: ContinuousClock.Instant? = nil, _ body: (DatabaseQueue) throws -> Result
    ) throws(KeychainFailure) -> Result {
        guard let readOnly else { return try runOnConnection(nil, until: deadline, body) }
        let before = try readOnly.readOnlyMoment()
        let result = Swift.Result { () throws(KeychainFailure) in
            try runOnConnection(before, until: deadline, body)
        }
        guard before.isOneState(with: try readOnly.readOnlyMoment()) else {
            throw .busy("The keychain was changed while it was read. Try again.")
        }
        return try result.get()
    }

    private func runOnConnection<Result>(
        _ moment: ReadOnlyMoment?, until deadline: ContinuousClock.Instant?,
        _ body: (DatabaseQueue) throws -> Result
    ) throws(KeychainFailure) -> Result {
        let connection: Connection
        if let memory {
            connection = memory
        } else if let waiting = waiting(moment) {
            connection = waiting
        } else {
            connection = try open(moment)
        }
        defer { if memory == nil { idle.withLock { $0.append(connection) } } }
        connection.limit.end.withLock { $0 = deadline }
        do {
            return try body(connection.queue)
        } catch {
            throw StoreFailure.failure(from: error)
        }
    }

    /// Runs `body`; what it throws is said in words while the connection still knows what the system
    /// said.
    private static func explained<Result>(
        _ database: Database, _ body: (Database) throws -> Result
    ) throws -> Result {
        do {
            return try body(database)
        } catch {
            throw StoreFailure.failure(from: error, systemError: database.systemError)
        }
    }

    /// A connection that can be used at a moment. Those that can't any more are closed.
    private func waiting(_ moment: ReadOnlyMoment?) -> Connection? {
        while let waiting = idle.withLock({ $0.popLast() }) {
            if waiting.serves(moment) { return waiting }
            try? waiting.queue.close()
        }
        return nil
    }

    private func open(_ moment: ReadOnlyMoment?) throws(KeychainFailure) -> Connection {
        let limit = WaitLimit()
        var configuration = Self.configuration(limit) { database in
            guard moment == nil else { return try Self.checkOwner(of: database) }
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
        configuration.readonly = moment != nil
        do {
            try PageChecksumVFS.register()
            return Connection(
                queue: try DatabaseQueue(
                    path: PageChecksumVFS.uri(forPath: path) + (moment?.parameters ?? ""),
                    configuration: configuration),
                limit: limit, moment: moment)
        } catch {
            // There is no connection that could be asked: it could not be opened.
            throw StoreFailure.failure(from: error, systemError: errno)
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
        _ limit: WaitLimit, _ prepare: @escaping @Sendable (Database) throws -> Void
    ) -> Configuration {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.acceptsDoubleQuotedStringLiterals = false
        configuration.busyMode = .callback(limit.wait)
        configuration.label = "keychain"
        configuration.qos = .userInitiated
        configuration.prepareDatabase { database in
            try Self.explained(database) { database in
                try prepare(database)
                try database.execute(
                    sql: """
                        PRAGMA secure_delete = ON;
                        PRAGMA cell_size_check = ON;
                        PRAGMA trusted_schema = OFF;
                        PRAGMA temp_store = MEMORY;
                        """)
            }
        }
        return configuration
    }
}

/// How long the call that a connection is used for waits for other processes.
private final class WaitLimit: Sendable {
    /// nil: it has not had to wait yet.
    let end = Mutex<ContinuousClock.Instant?>(nil)

    /// Waits a little; false when it has waited long enough.
    ///
    /// Short waits with some randomness, so that waiting writers neither march in step nor leave the
    /// lock unused for long.
    func wait(_ attempt: Int) -> Bool {
        let end = end.withLock { end in
            let known = end ?? .now + Store.longestWait
            end = known
            return known
        }
        guard .now < end else { return false }
        usleep(UInt32.random(in: 100...UInt32(min(200 + attempt * 100, 2_000))))
        return true
    }
}
