// DatabaseConnection: an open connection to a database, over SQLite's C interface.
//   (1) One call at a time uses it, on any thread: SQLite takes no locks of its own here.
//   (2) A statement is compiled once and kept, with at most `statementLimit` others.
//   (3) Every failure of SQLite becomes a failure of the keychain where it happens, while the
//       connection still knows what the system said.
//   (4) While another process holds a lock, a call waits, at the longest until `deadline`.
//   (5) A transaction is begun and ended by `Connections.run`, within one call.
//   (6) A failure of SQLite is two numbers. SQLite's messages are never read: they can quote a
//       statement.

import CKeychainSQLite
import Glibc
import KeychainCore

/// `@unchecked`: no lock is needed, for `Connections` lends it to one call at a time.
@safe final class DatabaseConnection: @unchecked Sendable {
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// The one that was used last: a text that is the same object is found without being hashed.
    private var recent: (sql: String, statement: Statement)?
    /// Callers with other access groups search by other statements.
    private static let statementLimit = 128

    /// Until when the present call waits for other processes. nil: ``Store/longestWait`` from the
    /// moment when it first has to.
    var deadline: ContinuousClock.Instant?

    /// Opens what `name` says: a path, a URI that begins with `file:`, or `:memory:`.
    init(_ name: String, isReadOnly: Bool = false) throws(KeychainFailure) {
        let access =
            isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        var opened: OpaquePointer?
        // SAFETY: SQLite gives a handle for a failure too, to be asked and closed; nil where memory
        // is missing, which its functions take. What was opened well is closed by `deinit`.
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
        // SAFETY: SQLite calls it within other calls on the connection, of which this object is the
        // only maker, and no more after `deinit` has taken it back.
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
        // First, so that nothing keeps the connection open.
        statements = [:]
        recent = nil
        // SAFETY: nothing uses the handle from here on. A statement that is still in use keeps
        // what it needs of the connection.
        unsafe sqlite3_busy_handler(handle, nil, nil)
        unsafe sqlite3_close_v2(handle)
    }

    /// Waits a little; false when it has waited long enough.
    ///
    /// Short waits with some randomness, so that waiting writers neither march in step nor leave the
    /// lock unused for long.
    private func waits(attempt: Int) -> Bool {
        let end = deadline ?? .now + Store.longestWait
        deadline = end
        guard .now < end else { return false }
        usleep(UInt32.random(in: 100...UInt32(min(200 + attempt * 100, 2_000))))
        return true
    }

    private func check(_ code: Int32) throws(KeychainFailure) {
        // SAFETY: the handle is open until `deinit`. So below.
        guard code == SQLITE_OK else { throw unsafe StoreFailure.failure(code: code, on: handle) }
    }

    // MARK: Statements

    /// Runs statements that are needed once. Rows that they give are passed over.
    func execute(_ script: String) throws(KeychainFailure) {
        // SAFETY: as above.
        try check(unsafe sqlite3_exec(handle, script, nil, nil, nil))
    }

    /// Runs a statement that gives no rows.
    func run(_ sql: String, _ values: [StatementValue] = []) throws(KeychainFailure) {
        try statement(sql).run(values)
    }

    /// The integer that a statement gives first; nil where it gives anything else.
    func integer(
        _ sql: String, _ values: [StatementValue] = []
    ) throws(KeychainFailure) -> Int64? {
        try statement(sql).integer(values)
    }

    /// The rows that a statement gives for some labels.
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

    /// How many rows the last statement that changed any has changed.
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
        /// Sees one commit throughout.
        case reading = "BEGIN"
        /// Holds the write lock from its start.
        case writing = "BEGIN IMMEDIATE"
    }

    /// Begins a transaction. ``commit()`` or ``rollBack()`` has to follow.
    func begin(_ kind: TransactionKind) throws(KeychainFailure) { try run(kind.rawValue) }

    func commit() throws(KeychainFailure) { try run("COMMIT") }

    /// Ends the transaction, if there is one, as if it had not been.
    func rollBack() {
        if isInsideTransaction { try? run("ROLLBACK") }
    }

    /// False also when SQLite has rolled back by itself, as it does after some failures.
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
    /// The extended result code; its low byte is the primary one.
    package let code: Int32
    /// The `errno` of the file that failed last on the connection; 0 where it isn't known.
    package let systemError: Int32

    package init(code: Int32, systemError: Int32 = 0) {
        self.code = code
        self.systemError = systemError
    }
}

extension StoreFailure {
    /// What a failure is to a caller, right after a call on a connection gave `code`.
    static func failure(code: Int32, on connection: OpaquePointer?) -> KeychainFailure {
        // SAFETY: the caller vouches for the connection; SQLite takes nil too.
        failure(
            of: SQLiteFailure(code: code, systemError: unsafe sqlite3_system_errno(connection)))
    }
}

/// Extended result codes, which C composes with shifts.
enum ResultCode {
    static let readError = SQLITE_IOERR | (1 << 8)
    static let shortRead = SQLITE_IOERR | (2 << 8)
    static let writeError = SQLITE_IOERR | (3 << 8)
    static let syncError = SQLITE_IOERR | (4 << 8)
    static let folderSyncError = SQLITE_IOERR | (5 << 8)
    static let truncateError = SQLITE_IOERR | (6 << 8)
    static let deleteError = SQLITE_IOERR | (10 << 8)
}
