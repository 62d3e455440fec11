// StoreFolder+Moving: what recovery does with whole files, and who may do it when.
//   (1) A new database is made in a folder of its own, beside the old one.
//   (2) From the moment that it stands as `keychain.db.recovered`, it is the database, and nothing
//       opens the keychain before it has its own name.
//   (3) The folder that the damaged files go to has the same number as the one of (1), which goes
//       last, so a recovery that goes on finds it again.

import Glibc
package import KeychainCore
import Synchronization

extension StoreFolder {
    package var exists: Bool { SystemCalls.status(ofLink: path) != nil }

    /// Whether it is a folder, and no link to one.
    var isFolder: Bool {
        SystemCalls.status(ofLink: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Whether there is certainly no folder of that name, nor anything else.
    package var isMissing: Bool { !exists && errno == ENOENT }

    /// What is said where there is no database: a log alone can be recovered.
    package var failureForMissingDatabase: KeychainFailure {
        byteCount(of: .writeAheadLog) > 0
            ? .damagedStore("keychain.db is missing from \(path)") : .missingDatabase(in: path)
    }

    /// Refuses a folder in which a recovery has stopped half-way.
    package func requireFinishedRecovery() throws(KeychainFailure) {
        guard exists(.recoveredDatabase) else { return }
        throw KeychainFailure(
            .notAvailable,
            "A recovery of the keychain was interrupted. Nothing was changed. Run "
                + "`keychainctl recover`: it finishes it.", cause: .damage)
    }

    // MARK: The folders of a recovery

    private static let rebuilding = "rebuilding-"

    /// Where a recovery makes the new database, and where it moves the damaged files.
    package struct RecoveryFolders: Hashable, Sendable {
        package let rebuilding: StoreFolder
        package let damaged: StoreFolder

        fileprivate init(in folder: StoreFolder, _ number: String) {
            rebuilding = StoreFolder(path: folder.path + "/" + StoreFolder.rebuilding + number)
            damaged = StoreFolder(path: folder.path + "/damaged-" + number)
        }
    }

    /// Those of recoveries that have not come to their end; of one that goes on, there is one.
    package var recoveryFolders: [RecoveryFolders] {
        names.compactMap { name in
            guard name.hasPrefix(Self.rebuilding) else { return nil }
            let number = name.dropFirst(Self.rebuilding.count)
            return number.allSatisfy { $0.isNumber || $0 == "-" } ? String(number) : nil
        }.sorted().map { RecoveryFolders(in: self, $0) }
    }

    /// The paths of those with files from before a recovery. No key of them changes any more.
    package var damagedFolders: [String] {
        names.filter { $0.hasPrefix("damaged-") }.sorted().map { path + "/" + $0 }
            .filter { StoreFolder(path: $0).isFolder }
    }

    /// Those of a new recovery, neither of which is there yet.
    package func newRecoveryFolders(_ stamp: Int) -> RecoveryFolders {
        var folders = RecoveryFolders(in: self, "\(stamp)")
        var number = 1
        while folders.damaged.exists || folders.rebuilding.exists {
            number += 1
            folders = RecoveryFolders(in: self, "\(stamp)-\(number)")
        }
        return folders
    }

    /// Moves a `keychain.db.recovered` that no recovery has made out of the way.
    package func setAsideRecovered(in damaged: StoreFolder) throws(KeychainFailure) {
        try damaged.prepare()
        try move(.recoveredDatabase, to: damaged)
        try damaged.synchronize()
        try synchronize()
    }

    /// Removes what SQLite makes beside a database, which holds nothing of it.
    package func removeLogs() {
        for file in [File.writeAheadLog, .sharedMemory] { SystemCalls.unlink(path(of: file)) }
    }

    /// Makes the finished database of `rebuilding` the one that counts: the commit of a recovery.
    ///
    /// Its last connection is closed. It is on the disk before it gets the name.
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

    /// Moves the damaged files away and gives the recovered database its name. What has been done
    /// already is not done again.
    ///
    /// A log of the old database beside the new one would be taken for its own, so that the old
    /// files are gone for certain before the new one comes.
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

    /// Moves a file to another folder of the same file system, if it is there.
    private func move(
        _ file: File, to other: StoreFolder, as name: File? = nil
    ) throws(KeychainFailure) {
        guard exists(file) else { return }
        guard SystemCalls.rename(path(of: file), other.path(of: name ?? file)) == 0 else {
            throw Self.failure("move \(path(of: file))")
        }
    }

    /// Removes a folder of our own making with the files in it, SQLite's journal among them. Of a link
    /// to a folder it removes the link.
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

    /// Whether the database is one of version 1, which is converted before it is used.
    package var holdsVersion1: Bool {
        guard exists(.database), !exists(.recoveredDatabase), (try? check(.database)) != nil,
            let header = try? DatabaseFileHeader(ofFileAt: path(of: .database))
        else { return false }
        return header.reservedByteCount == PageChecksum.byteCount
    }

    // MARK: Who may

    /// Says that this process uses the keychain, or, exclusively, that no other may.
    ///
    /// - Parameters:
    ///   - exclusive: Whether no other may.
    ///   - refusal: What is said to one that wants it for itself while others use it.
    /// - Returns: What lasts until it is ended.
    /// - Throws: `notAvailable` at once where the two contradict each other.
    package func lease(
        exclusive: Bool,
        refusal: String = "Other processes use this keychain. End them and try again."
    ) throws(KeychainFailure) -> Lease {
        let path = path(of: .lease)
        let descriptor = open(.lease, O_RDWR | O_CREAT)
        guard descriptor >= 0 else {
            // On a read-only file system there is nothing to recover, so nothing to keep apart.
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

    /// A lock that lasts until it is ended or the process is gone.
    package final class Lease: Sendable {
        private let descriptor: Mutex<Int32>

        fileprivate init(descriptor: Int32) {
            self.descriptor = Mutex(descriptor)
        }

        deinit { end() }

        package func end() {
            descriptor.withLock { descriptor in
                guard descriptor >= 0 else { return }
                // A child that another thread has just forked has the descriptor until it becomes
                // another program. As long, closing alone would leave the lock to it.
                _ = SystemCalls.lock(descriptor, LOCK_UN)
                close(descriptor)
                descriptor = -1
            }
        }
    }
}
