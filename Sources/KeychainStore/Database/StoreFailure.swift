// StoreFailure: the one place where errors of the database become failures of the keychain.

import GRDB
import GRDBSQLite
import KeychainModel

enum StoreFailure {
    /// An unknown error keeps its number in the text; no value of a statement is in it, since
    /// statement arguments are not public in this configuration.
    static func failure(from error: any Error) -> KeychainFailure {
        if let failure = error as? KeychainFailure { return failure }
        let code: Int32
        if let error = error as? DatabaseError {
            code = error.extendedResultCode.rawValue
        } else if let error = error as? SQLiteFailure {
            code = error.code
        } else {
            return KeychainFailure(.internalError, "Unexpected error: \(type(of: error)).")
        }
        let detail = "SQLite \(code)"
        // The low byte is the primary code.
        return switch code & 0xFF {
        case SQLITE_CORRUPT: .damagedStore("the database's structure is broken (\(detail))")
        case SQLITE_NOTADB: .damagedStore("keychain.db is not a database (\(detail))")
        case SQLITE_ERROR, SQLITE_SCHEMA, SQLITE_MISMATCH:
            // No statement of ours is wrong, so a table or index it names is not as it was made.
            .damagedStore("the database's schema is not what it was (\(detail))")
        case SQLITE_FULL:
            KeychainFailure(
                .diskFull, "The disk is full. Nothing was changed. Free some space and try again.")
        case SQLITE_READONLY:
            KeychainFailure(
                .readOnly, "The keychain can't be written: the file or its folder is read-only.")
        case SQLITE_IOERR:
            KeychainFailure(.ioError, "Reading or writing the keychain failed (\(detail)).")
        case SQLITE_NOMEM: KeychainFailure(.allocate, "Out of memory.")
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH:
            .notPermitted(
                "The keychain can't be opened. Check who owns its folder and may write there "
                    + "(\(detail)).")
        case SQLITE_BUSY, SQLITE_LOCKED:
            .busy(
                "Another process kept the keychain busy for too long. Nothing was changed. "
                    + "Try again.")
        case SQLITE_TOOBIG:
            KeychainFailure(.param, "The value is larger than the keychain can hold.")
        default: KeychainFailure(.notAvailable, "The keychain can't be used (\(detail)).")
        }
    }
}
