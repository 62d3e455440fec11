// StoreFailureTests: the status and the text of the keychain's failure, for a result code of SQLite
// and an `errno`.

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
        /// The words of the text that say what the user can do.
        let advice: String

        init(
            _ code: Int32, _ systemError: Int32, _ status: Status, _ words: String,
            advice: String
        ) {
            self.code = code
            self.systemError = systemError
            self.status = status
            self.words = words
            self.advice = advice
        }

        var testDescription: String { "\(code), errno \(systemError)" }
    }

    private static let shmSize = SQLITE_IOERR | (19 << 8)
    private static let write = SQLITE_IOERR | (3 << 8)
    private static let fsync = SQLITE_IOERR | (4 << 8)
    private static let read = SQLITE_IOERR | (1 << 8)

    // Result codes of sqlite3.h, each with an error of errno(3) that occurs with the code, or with
    // 0 for a code that occurs without a failed system call.
    static let causes = [
        Row(
            shmSize, ENOSPC, .diskFull, "The disk is full.",
            advice: "Free some space and try again."),
        Row(
            SQLITE_FULL, 0, .diskFull, "The disk is full.",
            advice: "Free some space and try again."),
        Row(
            write, EDQUOT, .diskFull, "This user's disk quota is exceeded.",
            advice: "Free some space and try again."),
        Row(
            SQLITE_CANTOPEN, EROFS, .readOnly, "read-only file system",
            advice: "Mount it writable, or move the keychain."),
        Row(
            SQLITE_CANTOPEN, EACCES, .notAvailable, "This user has no permission to open or write",
            advice: "Check the owner and the permissions of its folder."),
        Row(
            SQLITE_CANTOPEN, EMFILE, .notAvailable, "This process has too many files open.",
            advice: "Close some files, or raise the limit that `ulimit -n` shows"),
        Row(
            SQLITE_CANTOPEN, ENFILE, .notAvailable, "The system has too many files open.",
            advice: "Try again when other programs have closed some files."),
        Row(
            shmSize, ENOMEM, .allocate, "There is not enough memory.",
            advice: "Try again when more memory is free."),
        Row(
            SQLITE_NOMEM, 0, .allocate, "There is not enough memory.",
            advice: "Try again when more memory is free."),
        Row(
            write, EFBIG, .ioError, "exceed this process's file size limit",
            advice: "Raise the limit that `ulimit -f` shows"),
        Row(
            write, EIO, .ioError, "The disk failed to read or write",
            advice: "Look at the system's log, and copy the keychain's folder to another disk."),
        Row(
            fsync, EIO, .ioError, "It is not known whether the change was made.",
            advice: "Check the system log for disk errors, then check whether the change is there."
        ),
    ]

    @Test(arguments: causes)
    func `the text for a known cause names the cause and a remedy, but no result code of SQLite`(
        _ row: Row
    ) {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: row.code, systemError: row.systemError))
        #expect(failure.status == row.status)
        #expect(failure.reason.contains(row.words))
        #expect(!failure.reason.contains("SQLite"))
        #expect(failure.reason.contains(row.advice))
        #expect((failure.cause == .interruption) == (row.code == Self.fsync))
    }

    @Test(arguments: [ResultCode.syncError, ResultCode.folderSyncError], [0, EIO, ENOSPC, EDQUOT])
    func `a commit that could not be synchronized counts as interrupted, whatever the reason`(
        _ code: Int32, _ systemError: Int32
    ) {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: code, systemError: systemError))
        #expect(failure.cause == .interruption)
        #expect(failure.reason.contains("It is not known whether the change was made."))
    }

    @Test func `a failure with an unknown cause has the system's text and SQLite's result code`() {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: Self.shmSize, systemError: EXDEV))
        #expect(failure.status == .ioError)
        #expect(failure.reason.contains("SQLite \(Self.shmSize)"))
        #expect(failure.reason.contains("link"))
    }

    // SQLite can report damage with these four codes although no system call failed. `errno` is
    // then left over from an earlier call of the thread.
    @Test(arguments: [read, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_NOTADB])
    func `the errno of an unrelated call is not reported as the cause`(_ code: Int32) {
        let failure = StoreFailure.failure(
            of: SQLiteFailure(code: code, systemError: ENOSPC))
        #expect(failure.status != .diskFull)
        #expect(!failure.reason.contains("disk is full"))
    }
}
