// Connections: the open connections to one database file, in a folder that can be written or not.
//   (1) A connection is used by one call at a time and goes back when the call ends.
//   (2) A call waits for other processes, at the most for `Store.longestWait`; one that writes
//       until its deadline. Those of this process come one at a time, see `CommitQueue`.
//   (3) Every commit is synchronized to the disk before it returns (WAL, synchronous = FULL).
//   (4) A database in memory has one connection, on which every call waits for its turn, and goes
//       with it. Nothing of it is written to a file, rollback journal included.
//   (5) In a folder that can't be written, it reads as (6) to (8) say, and refuses every write.
//   (6) Without a log, or with an empty one, the file alone is the database: SQLite reads it as one
//       that no process changes, without locks. It is looked at before and after each read, since
//       it may be written through another mount: what was read meanwhile counts for nothing.
//   (7) With a log and its shared memory SQLite reads both, under its locks, and writes neither.
//   (8) A connection is used only where its database still had its name when its log was open: what takes
//       another database's place removes the log last. A failure of one whose place was taken says so.
//   (9) A log without shared memory, as in a copy that was made while the keychain was in use,
//       can't be read where nothing can be written. It holds commits, so it is never passed over.

import Dispatch
import Glibc
import KeychainCore
import KeychainCrypto
import Synchronization

final class Connections: Sendable {
    /// Unused for a database in memory.
    private let path: String
    /// The one connection to a database in memory, and whose turn it is to use it.
    private let memory: (connection: DatabaseConnection, turn: DispatchSemaphore)?
    private let idle = Mutex<[Pooled]>([])
    /// The database's folder, where it can't be written.
    private let readOnly: StoreFolder?
    /// nil: a database in memory, whose place nothing takes.
    private let folder: StoreFolder?
    /// What was met on any connection of this process to the database.
    let damage: PageDamage

    /// A connection to a file.
    private struct Pooled {
        let connection: DatabaseConnection
        /// What it was opened at, in a folder that can't be written.
        let moment: ReadOnlyMoment?

        func serves(_ now: ReadOnlyMoment?) -> Bool {
            guard let moment, let now else { return true }
            return moment.servesConnections(of: now)
        }
    }

    init(_ folder: StoreFolder) {
        path = folder.path(of: .database)
        self.folder = folder
        damage = PageDamage.registry(forPath: path)
        memory = nil
        readOnly = folder.isReadOnly ? folder : nil
    }

    /// Makes an empty database in memory.
    init() throws(KeychainFailure) {
        path = ""
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
    ///   - transaction: The transaction that `body` is in, which an error rolls back. nil: none, so
    ///     that each statement sees one commit.
    ///   - isNew: Whether the connection has to be one without a page in its cache, and isn't kept.
    ///   - deadline: Until when other processes are waited for. nil: ``Store/longestWait`` long.
    ///   - body: What is to be done.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `readOnly` for a write to a folder that can't be written.
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

    /// Whether a failure is that of a database whose place another one has taken.
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

    /// Folds the log into the database and cuts it to nothing.
    func emptyLog() throws(KeychainFailure) {
        if let readOnly { throw readOnly.readOnlyFailure }
        let busy = try run { database throws(KeychainFailure) in
            try database.integer("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        guard busy == 0 else {
            throw .busy("Another process reads the log. Try again.")
        }
    }

    /// A database in memory stays: it would be gone with its connection.
    func close() {
        // What is taken out goes when the lock is free again: the last connection folds the log in.
        _ = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
    }

    /// A connection for one call. ``takeBack(_:isKept:)`` has to follow.
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

    /// Takes a connection back.
    /// - Throws: `notAvailable` where what was read on it counts for nothing.
    private func takeBack(_ loan: Pooled, isKept: Bool) throws(KeychainFailure) {
        if let memory {
            memory.turn.signal()
            return
        }
        // One that could not leave its transaction is closed, which ends it.
        if isKept, !loan.connection.isInsideTransaction { idle.withLock { $0.append(loan) } }
        try checkNothingChanged(since: loan.moment)
    }

    private func checkNothingChanged(since before: ReadOnlyMoment?) throws(KeychainFailure) {
        guard let readOnly, let before else { return }
        guard before.isOneState(with: try readOnly.readOnlyMoment()) else {
            throw .busy("The keychain was changed while it was read. Try again.")
        }
    }

    /// A connection that can be used at a moment. Those that can't any more are closed.
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
        // Before anything else: the first of the settings would change a foreign database.
        let isNew = try Self.isNew(database)
        if moment == nil {
            // A new database is made a database with a log by a transaction that has none yet, and no
            // rollback journal is ever opened.
            if isNew { try database.execute("PRAGMA journal_mode = MEMORY;") }
            try database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        }
        try database.execute(Self.settings)
        // The log is open by now, see (8).
        guard SystemCalls.status(ofLink: path) != nil else { throw .missingDatabase(at: path) }
        return database
    }

    /// Whether a file holds nothing yet. Only that, or one of ours, is opened any further.
    private static func isNew(_ database: DatabaseConnection) throws(KeychainFailure) -> Bool {
        let application = try database.integer("PRAGMA application_id")
        guard application != StoreSchema.applicationID else { return false }
        guard try database.integer("PRAGMA page_count") == 0 else {
            throw .damagedStore("keychain.db is a database of another program")
        }
        return true
    }

    /// What files and memory have in common.
    private static let settings = """
        PRAGMA secure_delete = ON;
        PRAGMA cell_size_check = ON;
        PRAGMA trusted_schema = OFF;
        PRAGMA temp_store = MEMORY;
        """
}

// MARK: - Folders that can't be written

/// What a database in a read-only folder looked like at a moment.
struct ReadOnlyMoment: Equatable {
    let inode: UInt64
    let byteCount: Int64
    let modified: [Int]
    let hasLog: Bool

    /// How SQLite is asked to open it, to follow a URI.
    var parameters: String {
        "&mode=ro" + (hasLog ? "&readonly_shm=1" : "&immutable=1")
    }

    /// Whether what was read between this moment and another is of one state.
    func isOneState(with other: ReadOnlyMoment) -> Bool { hasLog || self == other }

    /// Whether a connection that was opened at this moment can be used at another.
    func servesConnections(of other: ReadOnlyMoment) -> Bool {
        hasLog ? other.hasLog && inode == other.inode : self == other
    }
}

extension StoreFolder {
    /// Whether this user can only read here: by permissions, or since the file system is read-only.
    package var isReadOnly: Bool { writeRefusal != nil }

    /// `EROFS` or `EACCES`. nil: the folder can be written, or isn't there.
    private var writeRefusal: Int32? {
        guard !Files.mayWrite(path), errno == EROFS || errno == EACCES else { return nil }
        return errno
    }

    /// - Throws: `notAvailable` where the log can't be read, see (3).
    func readOnlyMoment() throws(KeychainFailure) -> ReadOnlyMoment {
        guard let status = SystemCalls.status(ofLink: path(of: .database)) else {
            throw failureForMissingDatabase
        }
        let hasLog = byteCount(of: .writeAheadLog) > 0
        guard !hasLog || exists(.sharedMemory) else {
            throw .notPermitted(
                "The keychain folder \(path) can only be read, and its last commits stand in a log "
                    + "that can't be read without writing. Open the keychain once where the folder "
                    + "can be written, or copy the folder to such a place.")
        }
        return ReadOnlyMoment(
            inode: UInt64(status.st_ino), byteCount: Int64(status.st_size),
            modified: [
                Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec),
                Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec),
            ],
            hasLog: hasLog)
    }

    /// What a change is answered with.
    var readOnlyFailure: KeychainFailure {
        KeychainFailure(
            .readOnly,
            writeRefusal == EACCES
                ? "The keychain can be read and not changed: this user can't write its folder, "
                    + "\(path). Run `chmod 700 \(path)`."
                : "The keychain can be read and not changed: its folder, \(path), is on a "
                    + "read-only file system. Mount it for writing.")
    }
}
