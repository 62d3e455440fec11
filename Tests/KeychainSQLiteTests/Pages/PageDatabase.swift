// PageDatabase: a database in a temporary folder, opened through SQLite's C interface.

import CKeychainSQLite
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSQLite
import Testing

/// A database file in a temporary folder.
final class PageDatabase: Sendable {
    let path: String
    private let folder: String
    private let use: PageKeys.Use
    /// The default device key. All databases share this key, so a copy of one database can replace
    /// another database.
    static let deviceKey = SecretBytes(copying: [UInt8](repeating: 7, count: 32))

    init(
        named name: String = "keychain.db", deviceKey: SecretBytes = PageDatabase.deviceKey
    ) throws {
        folder = NSTemporaryDirectory() + "keychain-pages-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        path = folder + "/" + name
        use = PageKeys.use(deviceKey, forPath: path, isNew: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    var damage: PageDamage { .registry(forPath: path) }

    /// Opens a connection that verifies pages.
    func open() throws -> PageConnection {
        try PageChecksumVFS.register()
        let connection = try PageConnection(PageChecksumVFS.uri(forPath: path))
        try connection.reservePageEnds()
        try connection.run("PRAGMA busy_timeout = 20000")
        if try connection.texts("PRAGMA page_count") == ["0"] {
            try connection.run("PRAGMA journal_mode = MEMORY")
        }
        try connection.run("PRAGMA journal_mode = WAL")
        return connection
    }

    /// Creates a table `item` with `rowCount` rows. Closing the connection moves the table from the
    /// log into the database file.
    func fill(rowCount: Int) throws {
        let connection = try open()
        try connection.run("CREATE TABLE item (id INTEGER PRIMARY KEY, label TEXT, secret BLOB)")
        try connection.run("CREATE INDEX item_label ON item (label)")
        try connection.addItems(rowCount)
        connection.close()
    }

    func bytes(suffix: String = "") throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: path + suffix))
    }

    /// Overwrites bytes in place, as a failing disk does.
    func overwrite(_ bytes: [UInt8], at offset: Int, suffix: String = "") throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: path + suffix))
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    func flipByte(at offset: Int, suffix: String = "") throws {
        let byte = try bytes(suffix: suffix)[offset]
        try overwrite([byte ^ 0x55], at: offset, suffix: suffix)
    }
}

/// A connection to a database. Only one thread at a time may use it.
@safe final class PageConnection: @unchecked Sendable {
    // Sendable: only one thread at a time uses a connection, and SQLite serializes the use of a
    // connection that is opened with FULLMUTEX.
    private var handle: OpaquePointer?

    init(_ name: String) throws {
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_URI
        // SAFETY: the handle is closed in `close`, also after a failure.
        let status = unsafe sqlite3_open_v2(name, &handle, flags, nil)
        guard status == SQLITE_OK else {
            close()
            throw SQLiteFailure(code: status)
        }
    }

    deinit {
        close()
    }

    func close() {
        // SAFETY: a handle is closed only once, because `handle` is nil afterwards. Every statement
        // is finalized before the handle is closed.
        unsafe sqlite3_close_v2(handle)
        unsafe handle = nil
    }

    private func open() throws -> OpaquePointer {
        // SAFETY: the handle is valid from `init` until `close`. The callers use it only while this
        // object is alive.
        try unsafe #require(handle)
    }

    func reservePageEnds() throws {
        // SAFETY: the handle is open.
        try unsafe PageChecksumVFS.reservePageEnds(of: open())
    }

    func reservedByteCount() throws -> Int {
        // SAFETY: the handle is open.
        try unsafe PageChecksumVFS.reservedByteCount(of: open())
    }

    func verifiesPages() throws -> Bool {
        // SAFETY: the handle is open.
        try unsafe PageChecksumVFS.verifiesPages(of: open())
    }

    func run(_ sql: String) throws {
        // SAFETY: the handle is open.
        let status = try unsafe sqlite3_exec(open(), sql, nil, nil, nil)
        guard status == SQLITE_OK else { throw SQLiteFailure(code: status) }
    }

    /// The first column of all rows, as text.
    @discardableResult
    func texts(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        // SAFETY: the statement is finalized before the handle is closed; a column's text is
        // copied before the next step.
        let status = try unsafe sqlite3_prepare_v2(open(), sql, -1, &statement, nil)
        defer { unsafe sqlite3_finalize(statement) }
        guard status == SQLITE_OK else { throw SQLiteFailure(code: status) }
        var result: [String] = []
        while true {
            let step = unsafe sqlite3_step(statement)
            if step == SQLITE_DONE { return result }
            guard step == SQLITE_ROW else { throw SQLiteFailure(code: step) }
            let text = unsafe sqlite3_column_text(statement, 0)
            result.append(unsafe text.map { unsafe String(cString: $0) } ?? "")
        }
    }

    func checkpoint(_ mode: Int32 = SQLITE_CHECKPOINT_TRUNCATE) throws -> Int32 {
        // SAFETY: the handle is open; the counts are not requested.
        try unsafe sqlite3_wal_checkpoint_v2(open(), "main", mode, nil, nil)
    }

    /// Truncates the log, and writes the header of a frame for the given page, both through the
    /// VFS, as SQLite does. Before each of the two calls, `errno` is set to `systemError`. The
    /// results contain the value of `errno` after each call.
    func changeLog(
        page: UInt32, after systemError: Int32
    ) throws -> (truncation: SQLiteFailure, write: SQLiteFailure) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        var header = [UInt8](repeating: 0, count: 24)
        for index in 0..<4 { header[index] = UInt8(truncatingIfNeeded: page >> (24 - 8 * index)) }
        // SAFETY: the handle is open, and with it the log's file. The calls use the header only
        // while they run.
        let status = try unsafe sqlite3_file_control(
            open(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard status == SQLITE_OK, let methods = unsafe file?.pointee.pMethods?.pointee,
            let truncate = unsafe methods.xTruncate, let write = unsafe methods.xWrite
        else { throw SQLiteFailure(code: status) }
        errno = systemError
        let truncated = unsafe truncate(file, 0)
        let truncation = SQLiteFailure(code: truncated, systemError: errno)
        errno = systemError
        let written = unsafe write(file, header, 24, 32)
        return (truncation, SQLiteFailure(code: written, systemError: errno))
    }

    func addItems(_ count: Int) throws {
        try run("BEGIN IMMEDIATE")
        try run(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO item (label, secret) SELECT 'label ' || i, randomblob(100) FROM n
            """)
        try run("COMMIT")
    }

    /// Reads every page that is in use.
    /// - Returns: The findings of `integrity_check`: "ok" for a sound database.
    func readAll() throws -> [String] {
        let findings = try texts("PRAGMA integrity_check")
        try texts("SELECT sum(length(secret)) FROM item")
        return findings
    }
}
