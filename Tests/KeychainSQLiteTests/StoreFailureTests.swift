// StoreFailureTests: the text for a failure of SQLite, including the system error.

import CKeychainSQLite
import Glibc
import KeychainCore
import Testing

@testable import KeychainSQLite

@Suite struct StoreFailureTests {
    /// An extended error code of SQLite with an `errno`, and the expected failure.
    struct Row: Sendable, CustomTestStringConvertible {
        let code: Int32
        let systemError: Int32
        let status: Status
        let words: String

        init(_ code: Int32, _ systemError: Int32, _ status: Status, _ words: String) {
            self.code = code
            self.systemError = systemError
            self.status = status
            self.words = words
        }

        var testDescription: String { "\(code), errno \(systemError)" }
    }

    private static let shmSize = SQLITE_IOERR | (19 << 8)
    private static let write = SQLITE_IOERR | (3 << 8)
    private static let fsync = SQLITE_IOERR | (4 << 8)
    private static let read = SQLITE_IOERR | (1 << 8)

    // Result codes of sqlite3.h, each with an error of errno(3) that occurs with the code. Without
    // such an error, the number is 0.
    static let causes = [
        Row(shmSize, ENOSPC, .diskFull, "The disk is full."),
        Row(SQLITE_FULL, 0, .diskFull, "The disk is full."),
        Row(write, EDQUOT, .diskFull, "This user's disk quota is exceeded."),
        Row(SQLITE_CANTOPEN, EROFS, .readOnly, "read-only file system"),
        Row(SQLITE_CANTOPEN, EACCES, .notAvailable, "This user has no permission to open or write"),
        Row(SQLITE_CANTOPEN, EMFILE, .notAvailable, "This process has too many files open."),
        Row(SQLITE_CANTOPEN, ENFILE, .notAvailable, "The system has too many files open."),
        Row(shmSize, ENOMEM, .allocate, "There is not enough memory."),
        Row(SQLITE_NOMEM, 0, .allocate, "There is not enough memory."),
        Row(write, EFBIG, .ioError, "exceed this process's file size limit"),
        Row(write, EIO, .ioError, "The disk failed to read or write"),
        Row(fsync, EIO, .ioError, "It is not known whether it was made."),
    ]

    @Test(arguments: causes)
    func `the text of a store failure names the cause and contains no result code of SQLite`(
        _ row: Row
    ) {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: row.code, systemError: row.systemError))
        #expect(failure.status == row.status)
        #expect(failure.reason.contains(row.words))
        #expect(!failure.reason.contains("SQLite"))
        // The text has a further sentence, which says what the user can do.
        #expect(failure.reason.contains(". "))
    }

    @Test func `a failure with an unknown cause has the system's text and SQLite's result code`() {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: Self.shmSize, systemError: EXDEV))
        #expect(failure.status == .ioError)
        #expect(failure.reason.contains("SQLite \(Self.shmSize)"))
        #expect(failure.reason.contains("link"))
    }

    // These codes can report damage without a failed system call. `errno` is then from an earlier
    // call of the thread.
    @Test(arguments: [read, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB])
    func `the errno of an unrelated call is not reported as the cause`(_ code: Int32) {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: code, systemError: ENOSPC))
        #expect(failure.status != .diskFull)
        #expect(!failure.reason.contains("disk is full"))
    }
}
