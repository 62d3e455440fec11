// StoreFolder: the folder of a keychain, its files and their permissions.
//   (1) The folder is readable by its owner only, and so is every file in it; anything else is
//       refused, not mended, since another user may have read or written it already.
//   (2) A file is replaced whole: written beside, synchronized, renamed, folder synchronized. Who
//       does it has the folder's lock, so what stands beside without one is left over, and goes.
//   (3) Each rotation of the keys makes a database of a name of its own, which no other ever has:
//       SQLite takes what stands beside a database for its log.

import Glibc
package import KeychainCore
import KeychainCrypto

package struct StoreFolder: Hashable, Sendable {
    /// Absolute, without a slash at the end.
    package let path: String
    /// How many rotations of the keys the database comes after. 0: it is `keychain.db`.
    package let number: Int

    package init(path: String, number: Int = 0) {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        self.path = path
        self.number = number
    }

    init(ofFileAt path: String) {
        self.init(path: String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)))
    }

    package enum File: String, CaseIterable, Sendable {
        case database = "keychain.db"
        case writeAheadLog = "keychain.db-wal"
        case sharedMemory = "keychain.db-shm"
        /// The new database of a recovery that has not moved the old one yet.
        case recoveredDatabase = "keychain.db.recovered"
        case deviceKey = "device.key"
        case keybag = "keybag"
        case anchor = "anchor"
        /// Empty. There while the log is damaged and the keychain hasn't been recovered.
        case damagedLog = "log-is-damaged"
        case lock = "lock"
        case lease = "in-use"

        /// Whether each rotation of the keys makes one of another name.
        var isNumbered: Bool {
            switch self {
            case .database, .writeAheadLog, .sharedMemory, .recoveredDatabase: true
            case .deviceKey, .keybag, .anchor, .damagedLog, .lock, .lease: false
            }
        }
    }

    /// What names of databases begin with.
    static let numbered = "keychain"

    package func path(of file: File) -> String {
        guard number > 0, file.isNumbered else { return path + "/" + file.rawValue }
        return path + "/" + Self.numbered + "-\(number)"
            + file.rawValue.dropFirst(Self.numbered.count)
    }

    // MARK: Permissions

    /// Makes the folder where it is missing, durably, and checks who may enter it.
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
                "The keychain folder \(path) is open to other users. Run `chmod 700 \(path)` "
                    + "after making sure that no other user changed it.")
        }
    }

    package func exists(_ file: File) -> Bool { Self.status(of: path(of: file)) != nil }

    package func isPlainFile(_ file: File) -> Bool {
        Self.status(of: path(of: file)).map { $0.st_mode & S_IFMT == S_IFREG } ?? false
    }

    package func byteCount(of file: File) -> Int {
        Self.status(of: path(of: file)).map { Int($0.st_size) } ?? 0
    }

    /// Refuses a file that is no plain file of ours or that others may use.
    package func check(_ file: File) throws(KeychainFailure) {
        let path = path(of: file)
        guard let status = Self.status(of: path) else { return }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw .notPermitted(
                "\(path) is not a file of this user, but a link, a folder, or another user's. Nothing "
                    + "was changed. Move it away and try again.")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .notPermitted(
                "\(path) is open to other users. Run `chmod 600 \(path)`; if another user may "
                    + "have read it, its secrets are no longer secret.")
        }
    }

    private static func status(of path: String) -> stat? {
        SystemCalls.status(ofLink: path)
    }

    // MARK: Whole files

    /// - Returns: nil where there is no such file.
    package func read(
        _ file: File, atMost limit: Int = 1 << 16
    ) throws(KeychainFailure) -> SecretBytes? {
        try check(file)
        let path = path(of: file)
        let descriptor = SystemCalls.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
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
        try Self.synchronize(path(of: file), O_RDONLY)
    }

    private static func synchronize(_ path: String, _ flags: Int32) throws(KeychainFailure) {
        let descriptor = SystemCalls.open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("synchronize \(path)") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("synchronize \(path)") }
    }

    /// Says what could not be done and why, with the status that fits.
    package static func failure(_ action: String, code: Int32 = errno) -> KeychainFailure {
        let reason = "Can't \(action): \(errorText(code))."
        return switch code {
        case ENOSPC, EDQUOT:
            KeychainFailure(.diskFull, reason + " Free some space and try again.")
        case EROFS: KeychainFailure(.readOnly, reason + " Mount it for writing.")
        case EACCES, EPERM:
            .notPermitted(reason + " Check who owns the folder.")
        default: KeychainFailure(.ioError, reason)
        }
    }
}

extension StoreFolder {
    /// Makes a file of 0 bytes that only its owner may use. Fails where there is one.
    package func createEmpty(_ file: File) throws(KeychainFailure) {
        let path = path(of: file)
        let descriptor = SystemCalls.open(
            path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        guard descriptor >= 0 else { throw Self.failure("make \(path)") }
        close(descriptor)
    }

    /// Notes for every process that the log was found damaged. Where that fails, on a full disk or
    /// one that can't be written, the next one to recover the log finds it again.
    static func noteDamagedLog(besideDatabaseAt path: String) {
        let folder = StoreFolder(ofFileAt: path)
        try? folder.createEmpty(.damagedLog)
        try? folder.synchronize()
    }
}

/// What a test has to do with the files of the current task.
package enum FileProbe {
    /// Called behind each call that may make, rename or remove a file or a folder.
    @TaskLocal package static var current: (@Sendable () -> Void)?

    static func reach() { current?() }
}
