// StoreFolder: the folder of a keychain, its files and their permissions.
//   (1) The folder and every keychain file in it are accessible to their owner only. A folder or
//       file that other users can access is refused, and its permissions aren't corrected, since
//       another user may have read or written it already. The exception is the file `keybag`, a
//       copy of the keybag in the database: if other users can access it, it is ignored and written
//       again. StoreFolder+Checks has the other reasons for refusal.
//   (2) The device key and the keybag are replaced as a whole: the new content is written to a
//       temporary file, synchronized and renamed, and the folder is synchronized. The process holds
//       the folder's lock meanwhile, so a temporary file that a process finds when it acquires the
//       lock is a leftover and is removed.
//   (3) Each rotation of the keys creates a database with a new name that is never reused, because
//       SQLite uses any file with the matching name beside a database as its log.

import Glibc
package import KeychainCore
import KeychainCrypto

package struct StoreFolder: Hashable, Sendable {
    /// An absolute path without a slash at the end.
    package let path: String
    /// The number of rotations of the keys before this database; 0 for `keychain.db`.
    package let number: Int
    /// Whether ``path(of:)`` returns, for `database`, the path of the recovered database, such as
    /// `keychain.db.recovered`.
    let isOfRecovered: Bool

    package init(path: String, number: Int = 0, isOfRecovered: Bool = false) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        self.number = number
        self.isOfRecovered = isOfRecovered
    }

    init(ofFileAt path: String) {
        self.init(path: String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)))
    }

    package enum File: String, CaseIterable, Sendable {
        case database = "keychain.db"
        case writeAheadLog = "keychain.db-wal"
        case sharedMemory = "keychain.db-shm"
        /// The complete new database of a recovery, until it gets its final name.
        case recoveredDatabase = "keychain.db.recovered"
        case deviceKey = "device.key"
        case keybag = "keybag"
        case anchor = "anchor"
        /// An empty file that exists while the log is damaged and the keychain hasn't been
        /// recovered.
        case damagedLog = "log-is-damaged"
        case lock = "lock"
        case lease = "in-use"

        /// Whether the file's name contains the number of the database, so that each rotation of
        /// the keys changes the name.
        var isNumbered: Bool {
            switch self {
            case .database, .writeAheadLog, .sharedMemory, .recoveredDatabase: true
            case .deviceKey, .keybag, .anchor, .damagedLog, .lock, .lease: false
            }
        }

        /// The part of a numbered file's name that follows the database's name.
        fileprivate var suffix: Substring { rawValue.dropFirst(Self.database.rawValue.count) }
    }

    /// The beginning of the names of databases.
    static let numbered = "keychain"

    package func path(of file: File) -> String {
        guard file.isNumbered else { return path + "/" + file.rawValue }
        return path + "/" + Self.numbered + (number > 0 ? "-\(number)" : "") + ".db"
            + (isOfRecovered ? File.recoveredDatabase.suffix : "") + file.suffix
    }

    /// This folder, with the recovered database, such as `keychain.db.recovered`, as its database.
    package var recovered: StoreFolder {
        StoreFolder(path: path, number: number, isOfRecovered: true)
    }

    // MARK: Permissions

    /// Creates the folder durably if it is missing, and checks that it is a folder of this user
    /// that no other user can access.
    package func prepare() throws(KeychainFailure) {
        var components = ""
        for component in path.split(separator: "/", omittingEmptySubsequences: true) {
            let parent = components.isEmpty ? "/" : components
            components += "/" + component
            if SystemCalls.makeDirectory(components, mode: 0o700) == 0 {
                try StoreFolder(path: parent).synchronize()
            } else if errno != EEXIST, errno != EROFS, errno != EACCES {
                throw Self.failure("make the folder \(components)")
            }
        }
        try checkFolder()
    }

    package func checkFolder() throws(KeychainFailure) {
        guard let status = Self.status(of: path) else {
            throw Self.failure("open the folder \(path)")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .notPermitted("\(path) is not a folder.")
        }
        guard status.st_uid == geteuid() else {
            throw .notPermitted(
                "The keychain folder \(path) belongs to another user (uid \(status.st_uid)).")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .notPermitted(
                "The keychain folder \(path) is accessible to other users. Make sure that no other "
                    + "user has changed it, then run `chmod 700 \(path)`.")
        }
    }

    package func exists(_ file: File) -> Bool { Self.status(of: path(of: file)) != nil }

    package func byteCount(of file: File) -> Int {
        Self.status(of: path(of: file)).map { Int($0.st_size) } ?? 0
    }

    private static func status(of path: String) -> stat? {
        SystemCalls.status(ofLink: path)
    }

    // MARK: Reading and synchronizing

    /// - Returns: `nil` if there is no such file.
    /// - Throws: `notAvailable` if the file is refused; `ioError` if it has more than `limit`
    ///   bytes; errors in reading.
    package func read(
        _ file: File, atMost limit: Int = 1 << 16
    ) throws(KeychainFailure) -> SecretBytes? {
        try check(file)
        let path = path(of: file)
        let descriptor = open(file, O_RDONLY)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("read \(path)")
        }
        defer { close(descriptor) }
        do {
            return try SecretBytes(readingFrom: descriptor, atMost: limit)
        } catch {
            throw Self.failure("read \(path)")
        }
    }

    /// Makes the names in the folder durable.
    package func synchronize() throws(KeychainFailure) {
        try Self.synchronize(path, O_RDONLY | O_DIRECTORY)
    }

    /// Makes a file's content durable.
    package func synchronize(_ file: File) throws(KeychainFailure) {
        try Self.synchronize(path(of: file), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    }

    private static func synchronize(_ path: String, _ flags: Int32) throws(KeychainFailure) {
        let descriptor = SystemCalls.open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("synchronize \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("synchronize \(path)") }
    }

    /// The error for an action that failed, with the reason and the matching status.
    package static func failure(_ action: String, code: Int32 = errno) -> KeychainFailure {
        let reason = "Can't \(action): \(errorText(code))."
        return switch code {
        case ENOSPC, EDQUOT:
            KeychainFailure(.diskFull, reason + " Free some space and try again.")
        case EROFS: KeychainFailure(.readOnly, reason + " Mount the file system writable.")
        case EACCES, EPERM:
            .notPermitted(reason + " Check who owns the folder.")
        default: KeychainFailure(.ioError, reason)
        }
    }
}

extension StoreFolder {
    /// Creates an empty file that only its owner can access. Fails if the file exists.
    package func createEmpty(_ file: File) throws(KeychainFailure) {
        let path = path(of: file)
        let descriptor = SystemCalls.open(
            path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        guard descriptor >= 0 else { throw Self.failure("make \(path)") }
        close(descriptor)
    }

    /// Creates the file ``File/damagedLog``, which tells every process that the log was found
    /// damaged. If this fails, for example because the disk is full or read-only, the next process
    /// that rebuilds the log's index detects the damage again.
    static func noteDamagedLog(besideDatabaseAt path: String) {
        let folder = StoreFolder(ofFileAt: path)
        try? folder.createEmpty(.damagedLog)
        try? folder.synchronize()
    }
}

/// Lets a test run code when the current task creates, renames or removes a file or a folder.
package enum FileProbe {
    /// Called after each call of `SystemCalls` that may create, rename or remove a file or a
    /// folder.
    @TaskLocal package static var current: (@Sendable () -> Void)?

    static func reach() { current?() }
}
