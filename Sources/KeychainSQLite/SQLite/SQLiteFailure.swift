// SQLiteFailure: what a call of SQLite's gives when it fails.
//   (1) It is two numbers. SQLite's messages are never read: they can quote a statement.

import CKeychainSQLite
import KeychainCore

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
