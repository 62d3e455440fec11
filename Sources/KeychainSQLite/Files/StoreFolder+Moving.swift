// StoreFolder+Moving: moves whole files for a recovery, recognizes a database of version 1, and
// provides the lease with which a process registers as a user of the keychain or excludes others.
//   (1) The new database of a recovery is created in a separate folder inside the keychain's
//       folder.
//   (2) Once it has the name `keychain.db.recovered`, it counts as the keychain's database,
//       provided that it is intact. The keychain can't be opened until the new database gets its
//       final name.
//   (3) The folder for the damaged files has the same number as the folder of (1). A resumed
//       recovery finds it by that number, so the folder of (1) is removed last.

import Glibc
package import KeychainCore
import Synchronization

extension StoreFolder {
    package var exists: Bool { SystemCalls.status(ofLink: path) != nil }

    /// Whether it is a folder and not a link to one.
    var isFolder: Bool {
        SystemCalls.status(ofLink: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Whether it is certain that nothing has this name.
    package var isMissing: Bool { !exists && errno == ENOENT }

    /// The error for a missing database. If the log still has content, the error advises a
    /// recovery, which can use the log alone.
    package var failureForMissingDatabase: KeychainFailure {
        byteCount(of: .writeAheadLog) > 0
            ? .damagedStore("keychain.db is missing from \(path)") : .missingDatabase(in: path)
    }

    /// Refuses a folder with an interrupted recovery.
    package func requireFinishedRecovery() throws(KeychainFailure) {
        guard exists(.recoveredDatabase) else { return }
        throw KeychainFailure(
            .notAvailable,
            "A recovery of the keychain was interrupted. Nothing was changed. Run `keychainctl "
                + "recover` to finish it.", cause: .damage)
    }

    // MARK: The folders of a recovery

    private static let rebuilding = "rebuilding-"

    /// The folder in which a recovery creates the new database, and the one it moves the damaged
    /// files to.
    package struct RecoveryFolders: Hashable, Sendable {
        package let rebuilding: StoreFolder
        package let damaged: StoreFolder

        fileprivate init(in folder: StoreFolder, _ number: String) {
            rebuilding = StoreFolder(path: folder.path + "/" + StoreFolder.rebuilding + number)
            damaged = StoreFolder(path: folder.path + "/damaged-" + number)
        }
    }

    /// The folders of unfinished recoveries. They include those of a recovery that has to be
    /// finished, unless something else removed them.
    package var recoveryFolders: [RecoveryFolders] {
        names.compactMap { name in
            guard name.hasPrefix(Self.rebuilding) else { return nil }
            let number = name.dropFirst(Self.rebuilding.count)
            return number.allSatisfy { $0.isNumber || $0 == "-" } ? String(number) : nil
        }.sorted().map { RecoveryFolders(in: self, $0) }
    }

    /// The paths of the folders with files from before a recovery. A rotation doesn't change the
    /// keys of these files.
    package var damagedFolders: [String] {
        names.filter { $0.hasPrefix("damaged-") }.sorted().map { path + "/" + $0 }
            .filter { StoreFolder(path: $0).isFolder }
    }

    /// Folders for a new recovery. Neither exists yet.
    package func newRecoveryFolders(_ stamp: Int) -> RecoveryFolders {
        var folders = RecoveryFolders(in: self, "\(stamp)")
        var number = 1
        while folders.damaged.exists || folders.rebuilding.exists {
            number += 1
            folders = RecoveryFolders(in: self, "\(stamp)-\(number)")
        }
        return folders
    }

    /// Moves `keychain.db.recovered` out of the way. Call this if the file isn't the sound result
    /// of a recovery.
    package func setAsideRecovered(in damaged: StoreFolder) throws(KeychainFailure) {
        try damaged.prepare()
        try move(.recoveredDatabase, to: damaged)
        try damaged.synchronize()
        try synchronize()
    }

    /// Removes the log and the shared memory beside a database. Call this only if the log contains
    /// no commits of this database.
    package func removeLogs() {
        for file in [File.writeAheadLog, .sharedMemory] { SystemCalls.unlink(path(of: file)) }
    }

    /// Makes the finished database of `rebuilding` the current one. This commits the recovery.
    ///
    /// All connections to the database must be closed. The database is made durable before it gets
    /// the name `keychain.db.recovered`.
    package func adoptRecovered(from rebuilding: StoreFolder) throws(KeychainFailure) {
        guard rebuilding.byteCount(of: .writeAheadLog) == 0 else {
            throw KeychainFailure(
                .ioError, "The rebuilt database could not be finished. Nothing was changed.")
        }
        try rebuilding.synchronize(.database)
        try rebuilding.synchronize()
        try rebuilding.move(.database, to: self, as: .recoveredDatabase)
        try synchronize()
    }

    /// Moves the damaged files away and gives the recovered database its final name. Idempotent.
    ///
    /// If the old database's log were still there, SQLite would use it as the new database's log.
    /// The old files are therefore durably gone before the new database is moved.
    package func placeRecovered(movingOldTo damaged: StoreFolder) throws(KeychainFailure) {
        try damaged.prepare()
        for file in [File.writeAheadLog, .sharedMemory, .database, .damagedLog] {
            try move(file, to: damaged)
        }
        try damaged.synchronize()
        try synchronize()
        try move(.recoveredDatabase, to: self, as: .database)
        try synchronize()
    }

    /// Moves a file to another folder of the same file system, if it exists.
    private func move(
        _ file: File, to other: StoreFolder, as name: File? = nil
    ) throws(KeychainFailure) {
        guard exists(file) else { return }
        guard SystemCalls.rename(path(of: file), other.path(of: name ?? file)) == 0 else {
            throw Self.failure("move \(path(of: file))")
        }
    }

    /// Removes this folder with all files in it. If it contains another folder, both folders stay.
    /// If the path is a link to a folder, only the link is removed.
    package func removeAll() {
        let folder = SystemCalls.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard folder >= 0 else {
            SystemCalls.unlink(path)
            return
        }
        for name in SystemCalls.names(in: folder) { SystemCalls.unlink(name, in: folder) }
        close(folder)
        SystemCalls.removeDirectory(path)
    }

    // MARK: Versions

    /// Whether the database has version 1 and therefore is converted before it is used.
    package var holdsVersion1: Bool {
        guard exists(.database), !exists(.recoveredDatabase), (try? check(.database)) != nil,
            let header = try? DatabaseFileHeader(ofFileAt: path(of: .database))
        else { return false }
        return header.reservedByteCount == PageChecksum.byteCount
    }

    // MARK: Lease

    /// Registers this process as a user of the keychain or, with `exclusive`, as its only user.
    ///
    /// - Parameters:
    ///   - exclusive: Pass `true` to exclude other processes.
    ///   - refusal: The error text if exclusive use is refused because other processes use the
    ///     keychain.
    /// - Returns: The lease, which lasts until it is ended or released. In a folder that this user
    ///   can't write, a shared lease has no lock.
    /// - Throws: `notAvailable`, without waiting, if another lease conflicts with this one; the
    ///   error of opening the file.
    package func lease(
        exclusive: Bool,
        refusal: String = "Other processes are using this keychain. Stop them and try again."
    ) throws(KeychainFailure) -> Lease {
        let path = path(of: .lease)
        let descriptor = open(.lease, O_RDWR | O_CREAT)
        guard descriptor >= 0 else {
            // If this user can't write the folder, nothing can be recovered in it, so no lease is
            // needed.
            if !exclusive, errno == EROFS || errno == EACCES { return Lease(descriptor: -1) }
            throw Self.failure("write \(path)")
        }
        guard flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 else {
            close(descriptor)
            throw .busy(
                exclusive
                    ? refusal
                    : "This keychain is being recovered. Try again when that has ended.")
        }
        return Lease(descriptor: descriptor)
    }

    /// A lock that lasts until it is ended or released, or the process terminates.
    package final class Lease: Sendable {
        private let descriptor: Mutex<Int32>

        fileprivate init(descriptor: Int32) {
            self.descriptor = Mutex(descriptor)
        }

        deinit { end() }

        package func end() {
            descriptor.withLock { descriptor in
                guard descriptor >= 0 else { return }
                // A child process that another thread has just forked has a copy of the descriptor
                // until it executes another program. Until then, closing alone would not release
                // the lock.
                _ = SystemCalls.lock(descriptor, LOCK_UN)
                close(descriptor)
                descriptor = -1
            }
        }
    }
}
