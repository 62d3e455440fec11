// StoreFailure: the one place where database errors become keychain errors.
//   (1) A text says what happened and what the user can do. SQLite's result code is added if the
//       text doesn't identify the error completely. The text contains no values of a statement,
//       because SQLite's own messages are not used.

import CKeychainSQLite
import Glibc
import KeychainCrypto
import KeychainCore

enum StoreFailure {
    /// The keychain error for a database error.
    static func failure(of cause: SQLiteFailure) -> KeychainFailure {
        let (code, systemError) = (cause.code, cause.systemError)
        if code == ResultCode.syncError || code == ResultCode.folderSyncError {
            return uncertainCommit(systemError)
        }
        if isOfSystem(code), let failure = failure(ofSystem: systemError) { return failure }
        let detail = "SQLite \(code)"
        // The low byte is the primary result code.
        return switch code & 0xFF {
        case SQLITE_CORRUPT: .damagedStore("the database's structure is broken (\(detail))")
        case SQLITE_NOTADB: .damagedStore("keychain.db is not a database (\(detail))")
        case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH:
            // The statements are correct, so a table or index that they use has been altered.
            .damagedStore("the database's schema has been altered (\(detail))")
        case SQLITE_FULL: fullDisk
        case SQLITE_READONLY:
            KeychainFailure(
                .readOnly,
                "The keychain can't be written: the file or its folder is read-only. Check the "
                    + "owner and the permissions of the folder.")
        case SQLITE_IOERR: unknownFailure(of: code, systemError)
        case SQLITE_NOMEM: noMemory
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            .notPermitted(
                "The keychain can't be opened (\(detail)). Check the owner and the permissions of "
                    + "its folder.")
        case SQLITE_BUSY, SQLITE_LOCKED:
            .busy(
                "Another process kept the keychain busy for too long. Nothing was changed. "
                    + "Try again.")
        case SQLITE_TOOBIG:
            KeychainFailure(
                .param, "The value is larger than the keychain can hold. Store less in one item.")
        default:
            KeychainFailure(
                .notAvailable,
                "The keychain can't be used (\(detail)). Run `keychainctl check`, which says what "
                    + "is wrong with it.")
        }
    }

    // MARK: The system's errors

    /// Whether an extended result code is one with which SQLite usually reports a failed system
    /// call, so that `errno` describes the failure. The checksumming VFS also returns some of these
    /// codes itself, when it refuses a call, with 0 as `errno`.
    ///
    /// Read errors and the code without an extension are excluded: they also report damage of a
    /// page or of the log, without a failed system call.
    private static func isOfSystem(_ code: Int32) -> Bool {
        switch code & 0xFF {
        case SQLITE_CANTOPEN: true
        case SQLITE_IOERR: code >> 8 > 2
        default: false
        }
    }

    /// - Returns: `nil` if the error code alone is not specific enough.
    private static func failure(ofSystem code: Int32) -> KeychainFailure? {
        switch code {
        case ENOSPC: fullDisk
        case EDQUOT:
            KeychainFailure(
                .diskFull,
                "This user's disk quota is exceeded. Nothing was changed. Free some space and try "
                    + "again.")
        case EROFS:
            KeychainFailure(
                .readOnly,
                "The keychain's folder is on a read-only file system. Mount it writable, or move "
                    + "the keychain.")
        case EACCES, EPERM:
            .notPermitted(
                "This user has no permission to open or write the keychain's files. Check the "
                    + "owner and the permissions of its folder.")
        case EMFILE:
            KeychainFailure(
                .notAvailable,
                "This process has too many files open. Close some files, or raise the limit "
                    + "that `ulimit -n` shows, and try again.")
        case ENFILE:
            KeychainFailure(
                .notAvailable,
                "The system has too many files open. Try again when other programs have closed "
                    + "some files."
            )
        case EFBIG:
            KeychainFailure(
                .ioError,
                "A file of the keychain would exceed this process's file size limit. Raise the "
                    + "limit that `ulimit -f` shows, and try again.")
        case EIO:
            KeychainFailure(
                .ioError,
                "The disk failed to read or write the keychain. Look at the system's log, and copy "
                    + "the keychain's folder to another disk.")
        case ENOMEM: noMemory
        default: nil
        }
    }

    private static let fullDisk = KeychainFailure(
        .diskFull, "The disk is full. Nothing was changed. Free some space and try again.")

    private static let noMemory = KeychainFailure(
        .allocate,
        "There is not enough memory. Nothing was changed. Try again when more memory is free.")

    /// The error for a commit that could not be synchronized. The change may be in the log. A
    /// restart of the machine may keep or lose the change.
    private static func uncertainCommit(_ systemError: Int32) -> KeychainFailure {
        let reason = systemError == 0 ? "" : ": \(errorText(systemError))"
        return KeychainFailure(
            systemError == ENOSPC || systemError == EDQUOT ? .diskFull : .ioError,
            "The change could not be synchronized to the disk\(reason). It is not known whether "
                + "the change was made. Check the system log for disk errors, then check whether "
                + "the change is there.", cause: .interruption)
    }

    private static func unknownFailure(of code: Int32, _ systemError: Int32) -> KeychainFailure {
        let what = isOfSystem(code) && systemError != 0 ? ": \(errorText(systemError))" : ""
        return KeychainFailure(
            .ioError,
            "Reading or writing the keychain failed\(what) (SQLite \(code)). Check the system log "
                + "for disk errors, and run `keychainctl check`.")
    }
}
