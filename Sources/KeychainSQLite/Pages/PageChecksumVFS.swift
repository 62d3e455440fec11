// PageChecksumVFS: SQLite's file layer with a tag (in version 1 a checksum) at the end of every
// page.
//   (1) It wraps the default VFS, is registered once per process, and is never the default: only
//       databases that are opened with `uri(forPath:)` use it.
//   (2) A page gets its tag when it is written, to the database file or to the write-ahead log, and
//       is verified when it is read; in the log, SQLite's own checksum is verified as well. A
//       mismatch is recorded in `PageDamage`, and the page is returned nevertheless, except in a
//       checkpoint, see (3), and if a page is read together with its frame's header, see (4) and
//       (5) of `CheckedLogFile`.
//   (3) A checkpoint that reads a damaged frame fails with SQLITE_IOERR. Otherwise the damaged
//       bytes would get a valid tag.
//   (4) There are no rollback journals. An existing one is ignored, and none is created.
//   (5) Files of other kinds (temporary files) are left to the default VFS.

import CKeychainSQLite
package import KeychainCore

/// Registration of the checksumming VFS, and the functions that a connection needs to use it.
package enum PageChecksumVFS {
    /// The VFS's name, the value of `vfs` in a database's URI.
    package static let name = "keychain"

    /// The first SQLite version that notifies a VFS of the start of a checkpoint.
    private static let oldestLibraryVersion: Int32 = 3_036_000

    private static let registration = Result<Void, KeychainFailure> {
        () throws(KeychainFailure) in try registerOnce()
    }

    private static func registerOnce() throws(KeychainFailure) {
        guard sqlite3_libversion_number() >= oldestLibraryVersion else {
            throw KeychainFailure(
                .notAvailable,
                "This system's SQLite is too old for the keychain. Install version 3.36 or later.")
        }
        // SAFETY: the default VFS and the new one are never freed; the new one is complete.
        guard let base = unsafe sqlite3_vfs_find(nil),
            unsafe sqlite3_vfs_register(ChecksumVFSMethods.makeVFS(over: base), 0) == SQLITE_OK
        else { throw StoreFailure.failure(of: SQLiteFailure(code: SQLITE_NOMEM)) }
    }

    /// Registers the VFS with SQLite. Every call after the first returns the first call's result.
    ///
    /// - Throws: `notAvailable` if the SQLite library doesn't support the VFS, and `allocate` if
    ///   SQLite can't register it. In both cases, this process can't open any keychain in a folder.
    package static func register() throws(KeychainFailure) {
        try registration.get()
    }

    /// The URI with which to open a database so that its pages are checked.
    ///
    /// - Parameter path: An absolute path. It may contain any character but NUL.
    /// - Returns: A URI for `sqlite3_open_v2` with `SQLITE_OPEN_URI`.
    package static func uri(forPath path: String) -> String {
        // With an empty authority, a path that starts with two slashes is still parsed as a path.
        var uri = path.utf8.first == UInt8(ascii: "/") ? "file://" : "file:"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
                uri.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                uri += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return uri + "?vfs=" + name
    }

    /// Makes SQLite reserve room for the tag at the end of each page of the main database.
    ///
    /// Call this on a new connection, before the first statement. It affects only a database that
    /// is still empty. Any other keeps its own value, see ``reservedByteCount(of:)``.
    ///
    /// - Parameter connection: An open `sqlite3 *`; `nil` is refused.
    /// - Throws: ``SQLiteFailure`` if SQLite refuses.
    package static func reservePageEnds(
        of connection: OpaquePointer?
    ) throws(SQLiteFailure) {
        // SAFETY: the caller guarantees an open connection.
        _ = try unsafe exchangeReservedByteCount(
            Int32(PageFormat.reservedByteCount), on: connection)
    }

    /// The number of bytes that SQLite reserves at the end of each page of the main database.
    ///
    /// - Parameter connection: An open `sqlite3 *` that has read the database at least once.
    /// - Returns: The larger of the database's own number and the requested one.
    /// - Throws: ``SQLiteFailure`` if SQLite reports an error.
    package static func reservedByteCount(
        of connection: OpaquePointer?
    ) throws(SQLiteFailure) -> Int {
        // SAFETY: the caller guarantees an open connection.
        Int(try unsafe exchangeReservedByteCount(-1, on: connection))
    }

    /// Whether the pages of a connection's main database are verified.
    ///
    /// This is `false` for a connection that was opened without ``uri(forPath:)``, and for a file
    /// that can't be verified, see (1) and (2) of `PageProtection`.
    package static func verifiesPages(of connection: OpaquePointer?) -> Bool {
        guard let connection = unsafe connection else { return false }
        var file: UnsafeMutablePointer<sqlite3_file>?
        // SAFETY: this file control stores a pointer to the connection's own file object, which
        // lives as long as the connection; the object is used only if it belongs to this VFS.
        let status = unsafe withUnsafeMutablePointer(to: &file) {
            unsafe sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, $0)
        }
        guard status == SQLITE_OK, let file = unsafe file else { return false }
        let database = unsafe CheckedFile.ifOurs(file) as? CheckedDatabaseFile
        return database?.isProtected ?? false
    }

    private static func exchangeReservedByteCount(
        _ byteCount: Int32, on connection: OpaquePointer?
    ) throws(SQLiteFailure) -> Int32 {
        guard let connection = unsafe connection else {
            throw SQLiteFailure(code: SQLITE_MISUSE)
        }
        var value = byteCount
        // SAFETY: this file control reads and writes one `int`.
        let status = unsafe withUnsafeMutablePointer(to: &value) {
            unsafe sqlite3_file_control(connection, "main", SQLITE_FCNTL_RESERVE_BYTES, $0)
        }
        guard status == SQLITE_OK else {
            throw SQLiteFailure(code: status)
        }
        return value
    }
}
