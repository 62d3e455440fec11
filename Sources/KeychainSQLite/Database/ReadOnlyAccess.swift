// ReadOnlyAccess: how a database is read in a folder that can't be written.
//   (1) Without a log, or with an empty one, the file alone is the database: SQLite reads it as one
//       that no process changes, without locks. It is looked at before and after each read, since
//       it may be written through another mount: what was read meanwhile counts for nothing.
//   (2) With a log and its shared memory SQLite reads both, under its locks, and writes neither.
//   (3) A log without shared memory, as in a copy that was made while the keychain was in use, can't
//       be read where nothing can be written. It holds commits, so it is never passed over.

import KeychainCore
import Glibc

/// What a database in a read-only folder looked like at a moment.
struct ReadOnlyMoment: Equatable {
    let inode: UInt64
    let byteCount: Int64
    let modified: [Int]
    let hasLog: Bool

    /// How SQLite is asked to open it, to follow a URI.
    var parameters: String {
        "&mode=ro" + (hasLog ? "&readonly_shm=1" : "&immutable=1")
    }

    /// Whether what was read between this moment and another is of one state.
    func isOneState(with other: ReadOnlyMoment) -> Bool { hasLog || self == other }

    /// Whether a connection that was opened at this moment can be used at another.
    func servesConnections(of other: ReadOnlyMoment) -> Bool {
        hasLog ? other.hasLog && inode == other.inode : self == other
    }
}

extension StoreFolder {
    /// Whether this user can only read here: by permissions, or since the file system is read-only.
    package var isReadOnly: Bool { writeRefusal != nil }

    /// `EROFS` or `EACCES`. nil: the folder can be written, or isn't there.
    private var writeRefusal: Int32? {
        guard !SystemCalls.mayWrite(path), errno == EROFS || errno == EACCES else { return nil }
        return errno
    }

    /// - Throws: `notAvailable` where the log can't be read, see (3).
    func readOnlyMoment() throws(KeychainFailure) -> ReadOnlyMoment {
        guard let status = SystemCalls.status(ofLink: path(of: .database)) else {
            throw failureForMissingDatabase
        }
        let hasLog = byteCount(of: .writeAheadLog) > 0
        guard !hasLog || exists(.sharedMemory) else {
            throw .notPermitted(
                "The keychain folder \(path) can only be read, and its last commits stand in a log "
                    + "that can't be read without writing. Open the keychain once where the folder "
                    + "can be written, or copy the folder to such a place.")
        }
        return ReadOnlyMoment(
            inode: UInt64(status.st_ino), byteCount: Int64(status.st_size),
            modified: [
                Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec),
                Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec),
            ],
            hasLog: hasLog)
    }

    /// What a change is answered with.
    var readOnlyFailure: KeychainFailure {
        KeychainFailure(
            .readOnly,
            writeRefusal == EACCES
                ? "The keychain can be read and not changed: this user can't write its folder, "
                    + "\(path). Run `chmod 700 \(path)`."
                : "The keychain can be read and not changed: its folder, \(path), is on a "
                    + "read-only file system. Mount it for writing.")
    }
}
