// Floor: the cost of storing and finding a sealed secret without a keychain, with one SQLite table
// and AES-256-GCM.
//   (1) The settings that determine the time are the same as the keychain's: WAL, synchronous =
//       FULL.
//   (2) Statements are prepared once. `load` and `store` bind pointers to a statement. SQLite uses
//       these pointers only until the function returns.

import CBenchmarkSQLite
import Crypto
import Foundation

struct FloorFailure: Error, CustomStringConvertible {
    let description: String
}

@safe
final class Floor {
    /// Additional bytes per row, so that rows are as long as in a keychain.
    private static let restByteCount = 400
    /// The number of single-row commits after the filling. Together they write more pages than the
    /// log contains when SQLite runs a checkpoint, so the log then has its final length.
    private static let logLengthCommits = 600

    let path: String
    private let database: OpaquePointer
    private let selection: OpaquePointer
    private let insertion: OpaquePointer
    private let change: OpaquePointer
    private let key = SymmetricKey(size: .bits256)
    private let rest = Data(Sample.choice(of: restByteCount, from: 256).map { UInt8($0) })

    /// Creates a database with the first `count` items of the sample, and with `logLengthCommits`
    /// other rows.
    init(path: String, count: Int) throws {
        self.path = path
        // SAFETY: the connection and its statements stay open as long as this object lives.
        unsafe database = try Self.open(path)
        try unsafe Self.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;
            CREATE TABLE items(
                id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
                secret BLOB NOT NULL, rest BLOB NOT NULL);
            """, database)
        unsafe selection = try Self.prepare("SELECT secret FROM items WHERE key = ?", database)
        unsafe insertion = try Self.prepare(
            "INSERT INTO items(key, secret, rest) VALUES (?, ?, ?)", database)
        unsafe change = try Self.prepare(
            "UPDATE items SET secret = ?2, rest = ?3 WHERE key = ?1", database)
        // In one transaction, since filling isn't measured.
        try unsafe Self.execute("BEGIN IMMEDIATE", database)
        for index in 0..<count {
            try unsafe store(Sample.secret(of: index), under: Sample.key(of: index), insertion)
        }
        try unsafe Self.execute("COMMIT", database)
        try unsafe Self.execute("PRAGMA wal_checkpoint(TRUNCATE)", database)
        // A commit that extends the log file waits for the disk twice. The logs of the filled
        // keychains have their final length, and these commits extend the floor's log to its final
        // length too.
        for index in 0..<Self.logLengthCommits {
            try add(Sample.secret(of: index), under: Sample.key(of: .min + index))
        }
    }

    deinit {
        // SAFETY: nothing else has the statements and the connection.
        unsafe sqlite3_finalize(selection)
        unsafe sqlite3_finalize(insertion)
        unsafe sqlite3_finalize(change)
        unsafe sqlite3_close(database)
    }

    /// Finds a row by its name, with the index of the table, and decrypts its secret.
    func load(_ name: Data) throws -> Data {
        // SAFETY: the name outlives the step; the column's bytes are copied before the reset.
        let sealed = try unsafe name.withUnsafeBytes { bytes in
            defer { unsafe sqlite3_reset(selection) }
            unsafe sqlite3_bind_blob(selection, 1, bytes.baseAddress, Int32(bytes.count), nil)
            guard unsafe sqlite3_step(selection) == SQLITE_ROW,
                let blob = unsafe sqlite3_column_blob(selection, 0)
            else { throw FloorFailure(description: "An item is missing.") }
            return unsafe Data(bytes: blob, count: Int(sqlite3_column_bytes(selection, 0)))
        }
        return try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key)
    }

    /// Commits a new row with a sealed secret.
    func add(_ secret: Data, under name: Data) throws {
        // SAFETY: the statement is this object's.
        try unsafe store(secret, under: name, insertion)
    }

    /// Commits a changed row with a sealed secret.
    func replace(_ secret: Data, under name: Data) throws {
        // SAFETY: the statement is this object's.
        try unsafe store(secret, under: name, change)
    }

    /// Commits all changes that `body` makes in one transaction. If this function throws, none of
    /// them are committed.
    func together(_ body: () throws -> Void) throws {
        // SAFETY: the connection is open as long as this object lives.
        try unsafe Self.execute("BEGIN IMMEDIATE", database)
        do {
            try body()
            // SAFETY: as above.
            try unsafe Self.execute("COMMIT", database)
        } catch {
            // SAFETY: as above. This fails if SQLite has already rolled back.
            try? unsafe Self.execute("ROLLBACK", database)
            throw error
        }
    }

    private func store(
        _ secret: Data, under name: Data, _ statement: OpaquePointer
    ) throws {
        guard let sealed = try AES.GCM.seal(secret, using: key).combined else {
            throw FloorFailure(description: "A secret can't be sealed.")
        }
        // SAFETY: all three values outlive the step.
        let code = unsafe name.withUnsafeBytes { name in
            unsafe sealed.withUnsafeBytes { sealed in
                unsafe rest.withUnsafeBytes { rest in
                    unsafe bind(name, 1, statement)
                    unsafe bind(sealed, 2, statement)
                    unsafe bind(rest, 3, statement)
                    defer { unsafe sqlite3_reset(statement) }
                    return unsafe sqlite3_step(statement)
                }
            }
        }
        guard code == SQLITE_DONE else {
            throw FloorFailure(description: "SQLite returned \(code) for a write.")
        }
    }

    private func bind(
        _ value: UnsafeRawBufferPointer, _ position: Int32, _ statement: OpaquePointer
    ) {
        // SAFETY: the caller keeps the value until the step is done.
        unsafe sqlite3_bind_blob(statement, position, value.baseAddress, Int32(value.count), nil)
    }

    // MARK: SQLite

    private static func open(_ path: String) throws -> OpaquePointer {
        var database: OpaquePointer?
        // SAFETY: SQLite fills the pointer; this object closes the connection.
        let code = unsafe sqlite3_open_v2(
            path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let database = unsafe database else {
            throw FloorFailure(description: "SQLite can't open \(path).")
        }
        return unsafe database
    }

    private static func execute(_ sql: String, _ database: OpaquePointer) throws {
        // SAFETY: the connection is open.
        let code = unsafe sqlite3_exec(database, sql, nil, nil, nil)
        guard code == SQLITE_OK else {
            throw FloorFailure(description: "SQLite returned \(code) for \(sql).")
        }
    }

    private static func prepare(_ sql: String, _ database: OpaquePointer) throws -> OpaquePointer {
        var statement: OpaquePointer?
        // SAFETY: the connection is open; this object finalizes the statement.
        unsafe sqlite3_prepare_v3(
            database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard let statement = unsafe statement else {
            throw FloorFailure(description: "SQLite can't prepare \(sql).")
        }
        return unsafe statement
    }
}
