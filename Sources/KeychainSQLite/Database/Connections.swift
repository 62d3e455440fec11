// Connections: the pool of open connections to one database file, in a writable or read-only
// folder, or the one connection to a database in memory.
//   (1) A connection is used by one call at a time and returned when the call ends.
//   (2) A call waits for other processes for at most `Store.longestWait`; a write waits until its
//       deadline. Writes of a `Store` take place one at a time, see `CommitQueue`.
//   (3) Every commit to a file is synchronized to the disk before it returns (WAL, synchronous =
//       FULL).
//   (4) A database in memory has one connection, which calls use in turn, and exists as long as the
//       connection. Nothing of it is written to a file, not even a rollback journal.
//   (5) In a read-only folder, reading works as described in (6), (7) and (9), and every write is
//       refused.
//   (6) If there is no log or an empty one, the database file alone is read, as an immutable
//       database without locks. The file's status is checked before and after each read, because it
//       may be written through another mount. If it has changed, the results are discarded.
//   (7) If there is a log with its shared memory, SQLite reads both, under its locks, and writes
//       neither.
//   (8) In every folder, a connection is used only if the database file still had its name after
//       the connection opened the log. This is because a rotation removes the old database before
//       its log. If a call fails and its database has been replaced, the error says so.
//   (9) A log without shared memory, as in a copy that was made while the keychain was in use,
//       can't be read in a read-only folder. Because it contains commits, it is never ignored.

import Dispatch
import Glibc
import KeychainCore
import KeychainCrypto
import Synchronization

final class Connections: Sendable {
    /// Unused for a database in memory.
    private let path: String
    /// The one connection to a database in memory, and the semaphore that serializes its use.
    private let memory: (connection: DatabaseConnection, turn: DispatchSemaphore)?
    private let idle = Mutex<[Pooled]>([])
    /// The database's folder, if it is read-only.
    private let readOnly: StoreFolder?
    /// `nil` for a database in memory, which nothing can replace.
    private let folder: StoreFolder?
    /// The maximum size of the pages that each connection keeps in memory, in KiB.
    private let cacheSize: Int
    /// The damage found on any connection of this process to the database.
    let damage: PageDamage

    /// A connection to a file.
    private struct Pooled {
        let connection: DatabaseConnection
        /// In a read-only folder, the state of the files when the connection was opened.
        let moment: ReadOnlyMoment?

        func serves(_ now: ReadOnlyMoment?) -> Bool {
            guard let moment, let now else { return true }
            return moment.servesConnections(of: now)
        }
    }

    init(_ folder: StoreFolder, pageCacheByteCount: Int) {
        cacheSize = pageCacheByteCount >> 10
        path = folder.path(of: .database)
        self.folder = folder
        damage = PageDamage.registry(forPath: path)
        memory = nil
        readOnly = folder.isReadOnly ? folder : nil
    }

    /// Creates an empty database in memory.
    init() throws(KeychainFailure) {
        path = ""
        cacheSize = 0
        folder = nil
        damage = PageDamage.none
        readOnly = nil
        let connection = try DatabaseConnection(":memory:")
        try connection.execute(Self.settings)
        memory = (connection, DispatchSemaphore(value: 1))
    }

    /// Runs `body` on a connection.
    ///
    /// - Parameters:
    ///   - transaction: The transaction in which `body` runs. An error rolls it back. `nil` for
    ///     none: each statement then sees the last commit before it.
    ///   - isNew: Pass `true` to use a new connection with an empty page cache, and close it
    ///     afterwards. Ignored for a database in memory.
    ///   - deadline: The time until which to wait for other processes. `nil` to wait for
    ///     ``Store/longestWait``.
    ///   - body: The operation.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of `body`; `readOnly` for a write to a read-only folder; `notAvailable`
    ///   if the files in such a folder changed meanwhile; ``KeychainFailure/superseded`` if another
    ///   database has replaced this one; errors in opening, beginning and committing.
    func run<Result>(
        _ transaction: DatabaseConnection.TransactionKind? = nil, isNew: Bool = false,
        until deadline: ContinuousClock.Instant? = nil,
        _ body: (DatabaseConnection) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let loan = try lend(for: transaction, isNew: isNew)
        loan.connection.deadline = deadline
        let result: Swift.Result<Result, KeychainFailure>
        do throws(KeychainFailure) {
            if let transaction { try loan.connection.begin(transaction) }
            let answer = try body(loan.connection)
            if transaction != nil { try loan.connection.commit() }
            result = .success(answer)
        } catch {
            if transaction != nil { loan.connection.rollBack() }
            result = .failure(isSuperseded(error, on: loan.connection) ? .superseded : error)
        }
        try takeBack(loan, isKept: !isNew)
        return try result.get()
    }

    /// Whether the current call must not wait for other processes.
    @TaskLocal static var mustNotWait = false

    /// Runs `body` on an idle connection, without a transaction. Only reads from the disk may
    /// block.
    ///
    /// - Returns: `nil` if no connection is idle, if a lock isn't free, if `body` fails or returns
    ///   `nil`, or if the database is in memory or in a read-only folder.
    func runAtOnce<Result>(
        _ body: (DatabaseConnection) throws(KeychainFailure) -> Result?
    ) -> Result? {
        guard memory == nil, readOnly == nil, let loan = idle.withLock({ $0.popLast() }) else {
            return nil
        }
        loan.connection.deadline = .now
        defer { idle.withLock { $0.append(loan) } }
        return Self.$mustNotWait.withValue(true) { (try? body(loan.connection)) ?? nil }
    }

    /// Whether another database has replaced this one, and the error is one that this can cause.
    private func isSuperseded(
        _ failure: KeychainFailure, on connection: DatabaseConnection? = nil
    ) -> Bool {
        guard let folder else { return false }
        switch failure.status {
        case .notAvailable, .ioError, .invalidKeychain, .internalError, .readOnly: break
        default: return false
        }
        if let connection, (try? StoreSchema.isSuperseded(connection, damage)) == true {
            return true
        }
        return folder.located.number > folder.number
    }

    /// Checkpoints the log and truncates it to zero bytes.
    func emptyLog() throws(KeychainFailure) {
        if let readOnly { throw readOnly.readOnlyFailure }
        let busy = try run { database throws(KeychainFailure) in
            try database.integer("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        guard busy == 0 else {
            throw .busy("Another process reads the log. Try again.")
        }
    }

    /// Closes the idle connections. A database in memory stays open, because it ends with its
    /// connection.
    func close() {
        // The connections are closed after the lock is released, because closing the last one
        // checkpoints the log.
        _ = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
    }

    /// Takes a connection for one call, after which ``takeBack(_:isKept:)`` has to be called.
    private func lend(
        for transaction: DatabaseConnection.TransactionKind?, isNew: Bool
    ) throws(KeychainFailure) -> Pooled {
        if let memory {
            memory.turn.wait()
            return Pooled(connection: memory.connection, moment: nil)
        }
        if transaction == .writing, let readOnly { throw readOnly.readOnlyFailure }
        do throws(KeychainFailure) {
            let moment = try readOnly?.readOnlyMoment()
            if !isNew, let waiting = waiting(moment) { return waiting }
            do throws(KeychainFailure) {
                return Pooled(connection: try open(moment), moment: moment)
            } catch {
                try checkNothingChanged(since: moment)
                throw error
            }
        } catch {
            throw isSuperseded(error) ? .superseded : error
        }
    }

    /// Takes a connection back from a call.
    /// - Throws: `notAvailable` if the database, in a read-only folder, changed meanwhile, so that
    ///   the results have to be discarded.
    private func takeBack(_ loan: Pooled, isKept: Bool) throws(KeychainFailure) {
        if let memory {
            memory.turn.signal()
            return
        }
        // A connection that could not leave its transaction is closed, which ends the transaction.
        if isKept, !loan.connection.isInsideTransaction { idle.withLock { $0.append(loan) } }
        try checkNothingChanged(since: loan.moment)
    }

    private func checkNothingChanged(since before: ReadOnlyMoment?) throws(KeychainFailure) {
        guard let readOnly, let before else { return }
        guard before.isOneState(with: try readOnly.readOnlyMoment()) else {
            throw .busy("The keychain was changed while it was read. Try again.")
        }
    }

    /// An idle connection that can be used in the current state of the files. Those that can't are
    /// closed.
    private func waiting(_ moment: ReadOnlyMoment?) -> Pooled? {
        while let waiting = idle.withLock({ $0.popLast() }) {
            if waiting.serves(moment) { return waiting }
        }
        return nil
    }

    private func open(_ moment: ReadOnlyMoment?) throws(KeychainFailure) -> DatabaseConnection {
        try PageChecksumVFS.register()
        let database = try DatabaseConnection(
            PageChecksumVFS.uri(forPath: path) + (moment?.parameters ?? "&mode=rw"),
            isReadOnly: moment != nil)
        if moment == nil { try database.reservePageEnds() }
        // This check precedes the settings, because setting the journal mode would change a
        // database of another program.
        let isNew = try Self.isNew(database)
        if moment == nil {
            // SQLite switches a new database to WAL mode in a transaction that has no log yet. With
            // this setting, that transaction never opens a rollback journal.
            if isNew { try database.execute("PRAGMA journal_mode = MEMORY;") }
            try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        }
        try database.execute(Self.settings + "PRAGMA cache_size = -\(cacheSize);")
        // The log is open by now, see (8).
        guard SystemCalls.status(ofLink: path) != nil else { throw .missingDatabase(at: path) }
        return database
    }

    /// Whether a database file is empty. A database of another program is refused. If a keychain's
    /// database is damaged, it can look like that of another program.
    private static func isNew(_ database: DatabaseConnection) throws(KeychainFailure) -> Bool {
        let application = try database.integer("PRAGMA application_id")
        guard application != StoreSchema.applicationID else { return false }
        guard try database.integer("PRAGMA page_count") == 0 else {
            throw .damagedStore(
                "the first page of keychain.db is damaged, or the file belongs to another program")
        }
        return true
    }

    /// The settings for both files and memory.
    private static let settings = """
        PRAGMA secure_delete = ON;
        PRAGMA cell_size_check = ON;
        PRAGMA trusted_schema = OFF;
        PRAGMA temp_store = MEMORY;
        """
}

// MARK: - Read-only folders

/// The state of the files of a database in a read-only folder at one time.
struct ReadOnlyMoment: Equatable {
    let inode: UInt64
    let byteCount: Int64
    let modified: [Int]
    let hasLog: Bool

    /// The URI parameters with which SQLite opens the database.
    var parameters: String {
        "&mode=ro" + (hasLog ? "&readonly_shm=1" : "&immutable=1")
    }

    /// Whether what was read between this moment and another can be used. If there is a log,
    /// SQLite's own locks ensure this.
    func isOneState(with other: ReadOnlyMoment) -> Bool { hasLog || self == other }

    /// Whether a connection that was opened at this moment can be used at another.
    func servesConnections(of other: ReadOnlyMoment) -> Bool {
        hasLog ? other.hasLog && inode == other.inode : self == other
    }
}

extension StoreFolder {
    /// Whether this user can't write the folder, because of its permissions or a read-only file
    /// system.
    package var isReadOnly: Bool { writeRefusal != nil }

    /// `EROFS` or `EACCES`; `nil` if the folder is writable, or can't be written for another
    /// reason, such as that it doesn't exist.
    private var writeRefusal: Int32? {
        guard !Files.mayWrite(path), errno == EROFS || errno == EACCES else { return nil }
        return errno
    }

    /// - Throws: `notAvailable` if the database is missing, or if the log can't be read, see (9).
    func readOnlyMoment() throws(KeychainFailure) -> ReadOnlyMoment {
        guard let status = SystemCalls.status(ofLink: path(of: .database)) else {
            throw failureForMissingDatabase
        }
        let hasLog = byteCount(of: .writeAheadLog) > 0
        guard !hasLog || exists(.sharedMemory) else {
            throw .notPermitted(
                "The keychain folder \(path) is read-only, and its last commits are in a log that "
                    + "can't be read in a read-only folder. Open the keychain once while the "
                    + "folder is writable, or copy the folder to a writable location.")
        }
        return ReadOnlyMoment(
            inode: UInt64(status.st_ino), byteCount: Int64(status.st_size),
            modified: [
                Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec),
                Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec),
            ],
            hasLog: hasLog)
    }

    /// The error for a write.
    var readOnlyFailure: KeychainFailure {
        KeychainFailure(
            .readOnly,
            writeRefusal == EACCES
                ? "The keychain is read-only: this user can't write its folder, \(path). Run "
                    + "`chmod 700 \(path)`."
                : "The keychain is read-only: its folder, \(path), is on a read-only file system. "
                    + "Mount it writable.")
    }
}
