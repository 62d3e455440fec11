// DatabaseConnection: an open connection to a database, through SQLite's C interface.
//   (1) One call at a time uses it, on any thread. SQLite's own mutexes are disabled for it.
//   (2) Prepared statements are cached, at most `statementLimit` of them.
//   (3) Every SQLite error is converted to a keychain error immediately, while the connection still
//       has the system's error code.
//   (4) While another connection holds a lock, a call waits, at most until `deadline`.
//   (5) A transaction is begun and ended within one call of `Connections.run`.
//   (6) Only the result code and the `errno` of an SQLite error are used. SQLite's messages are
//       never read, because they can quote a statement.

import CKeychainSQLite
import Glibc
import KeychainCore

/// `@unchecked`: no lock is needed, because `Connections` gives it to one call at a time.
@safe final class DatabaseConnection: @unchecked Sendable {
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// The statement that was used last. It is found by comparison with its SQL text, without
    /// hashing.
    private var recent: (sql: String, statement: Statement)?
    /// The limit is needed because callers with different access groups use different search
    /// statements.
    private static let statementLimit = 128

    /// The time until which the current call waits for other processes. `nil` for
    /// ``Store/longestWait``, counted from the call's first wait.
    var deadline: ContinuousClock.Instant?

    /// Opens the database `name`: a path, a URI that begins with `file:`, or `:memory:`.
    init(_ name: String, isReadOnly: Bool = false) throws(KeychainFailure) {
        let access =
            isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var opened: OpaquePointer?
        // SAFETY: after a failure SQLite also provides a handle, which has to be closed. It is nil
        // if memory is exhausted, and SQLite's functions accept nil. After a success `deinit`
        // closes it.
        let code = unsafe sqlite3_open_v2(
            name, &opened, access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let connection = unsafe opened else {
            let failure = unsafe StoreFailure.failure(
                code: sqlite3_extended_errcode(opened), on: opened)
            unsafe sqlite3_close_v2(opened)
            throw failure
        }
        unsafe handle = connection
        unsafe sqlite3_extended_result_codes(connection, 1)
        try check(unsafe keychain_sqlite3_disable_double_quoted_text(connection))
        // SAFETY: SQLite calls the handler only within other calls on the connection, which only
        // this object makes, and not after `deinit` has removed the handler.
        try check(
            unsafe sqlite3_busy_handler(
                connection,
                { context, attempt in
                    guard let context = unsafe context else { return 0 }
                    let connection = unsafe Unmanaged<DatabaseConnection>.fromOpaque(context)
                        .takeUnretainedValue()
                    return connection.waits(attempt: Int(attempt)) ? 1 : 0
                }, Unmanaged.passUnretained(self).toOpaque()))
    }

    deinit {
        // The cached statements are released first, so that they don't keep the connection open.
        statements = [:]
        recent = nil
        // SAFETY: nothing uses the handle from here on. A statement that is still in use keeps the
        // connection alive.
        unsafe sqlite3_busy_handler(handle, nil, nil)
        unsafe sqlite3_close_v2(handle)
    }

    /// Waits briefly and returns `true`, or returns `false` at once if the deadline has passed.
    ///
    /// The waits are short and randomized, so that waiting writers don't retry in lockstep and the
    /// lock isn't left unused for long.
    private func waits(attempt: Int) -> Bool {
        let end = deadline ?? .now + Store.longestWait
        deadline = end
        guard .now < end else { return false }
        usleep(UInt32.random(in: 100...UInt32(min(200 + attempt * 100, 2_000))))
        return true
    }

    private func check(_ code: Int32) throws(KeychainFailure) {
        // SAFETY: the handle is open until `deinit`. The same applies below.
        guard code == SQLITE_OK else { throw unsafe StoreFailure.failure(code: code, on: handle) }
    }

    // MARK: Statements

    /// Runs statements that are not worth caching. Rows that they return are ignored.
    func execute(_ script: String) throws(KeychainFailure) {
        // SAFETY: as above.
        try check(unsafe sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// Runs a statement that returns no rows.
    func run(_ sql: String, _ values: [StatementValue] = []) throws(KeychainFailure) {
        try statement(sql).run(values)
    }

    /// The first integer that a statement returns; `nil` if it returns anything else.
    func integer(
        _ sql: String, _ values: [StatementValue] = []
    ) throws(KeychainFailure) -> Int64? {
        try statement(sql).integer(values)
    }

    /// The rows that a statement returns with the labels as the values of its placeholders.
    func rows(_ sql: String, _ labels: [Bytes16] = []) throws(KeychainFailure) -> RowCursor {
        try RowCursor(statement(sql), labels)
    }

    private func statement(_ sql: String) throws(KeychainFailure) -> Statement {
        if let recent, recent.sql == sql { return recent.statement }
        let statement: Statement
        if let known = statements[sql] {
            statement = known
        } else {
            // SAFETY: as above.
            statement = try unsafe Statement(sql, on: handle)
            if statements.count == Self.statementLimit { statements = [:] }
            statements[sql] = statement
        }
        recent = (sql, statement)
        return statement
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE statement changed; 0 if none.
    var changedRowCount: Int {
        // SAFETY: as above.
        unsafe Int(sqlite3_changes(handle))
    }

    var lastInsertedRowID: Int64 {
        // SAFETY: as above.
        unsafe sqlite3_last_insert_rowid(handle)
    }

    // MARK: Transactions

    enum TransactionKind: String {
        /// Doesn't see commits that are made after its first read.
        case reading = "BEGIN"
        /// Holds the write lock from its start.
        case writing = "BEGIN IMMEDIATE"
    }

    /// Begins a transaction. ``commit()`` or ``rollBack()`` has to follow.
    func begin(_ kind: TransactionKind) throws(KeychainFailure) { try run(kind.rawValue) }

    func commit() throws(KeychainFailure) { try run("COMMIT") }

    /// Rolls back the transaction, if there is one.
    func rollBack() {
        if isInsideTransaction { try? run("ROLLBACK") }
    }

    /// Also `false` if SQLite has rolled back by itself, as it does after some errors.
    var isInsideTransaction: Bool {
        // SAFETY: as above.
        unsafe sqlite3_get_autocommit(handle) == 0
    }

    /// See ``PageChecksumVFS/reservePageEnds(of:)``.
    func reservePageEnds() throws(KeychainFailure) {
        do {
            // SAFETY: as above.
            try unsafe PageChecksumVFS.reservePageEnds(of: handle)
        } catch {
            throw StoreFailure.failure(of: error)
        }
    }
}

// MARK: - Failures

package struct SQLiteFailure: Error, Hashable, Sendable {
    /// The extended result code; its low byte is the primary result code.
    package let code: Int32
    /// The `errno` of the file operation that failed last on the connection; 0 if unknown.
    package let systemError: Int32

    package init(code: Int32, systemError: Int32 = 0) {
        self.code = code
        self.systemError = systemError
    }
}

extension StoreFailure {
    /// The keychain error for the result code of a call on a connection. Must be called immediately
    /// after that call.
    static func failure(code: Int32, on connection: OpaquePointer?) -> KeychainFailure {
        // SAFETY: the caller guarantees the connection; SQLite accepts nil, too.
        failure(
            of: SQLiteFailure(code: code, systemError: unsafe sqlite3_system_errno(connection)))
    }
}

/// Extended result codes, which are macros with shifts in C.
enum ResultCode {
    static let readError = SQLITE_IOERR | (1 << 8)
    static let shortRead = SQLITE_IOERR | (2 << 8)
    static let writeError = SQLITE_IOERR | (3 << 8)
    static let syncError = SQLITE_IOERR | (4 << 8)
    static let folderSyncError = SQLITE_IOERR | (5 << 8)
    static let truncateError = SQLITE_IOERR | (6 << 8)
    static let deleteError = SQLITE_IOERR | (10 << 8)

    /// The code for a call that the VFS refuses by itself. SQLite reports `errno` as the cause of
    /// most codes, so this removes the value that an earlier call has left there.
    static func refusing(_ code: Int32) -> Int32 {
        errno = 0
        return code
    }
}
