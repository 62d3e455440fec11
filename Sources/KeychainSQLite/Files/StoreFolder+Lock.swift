// StoreFolder+Lock: operations on a folder's files that only one process at a time may carry out.
//   (1) `write` and `stage` create a file or folder under a unique temporary name and then rename
//       it. `createDatabase` moves the database out of such a folder. A process that is killed
//       leaves the file or folder behind.
//   (2) Leftovers, and any key in them, are removed when the lock is next acquired.

import FoundationEssentials
import Glibc
import KeychainCrypto
package import KeychainCore

extension StoreFolder {
    /// Runs `body` with the exclusive lock of this folder.
    package func withLock<Result>(
        _ body: (Lock) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        guard let result = try withLock(LOCK_EX, body) else {
            throw Self.failure("lock \(path(of: .lock))", code: EWOULDBLOCK)
        }
        return result
    }

    /// Runs `body` with the lock, unless another process, or another thread of this process, holds
    /// it. Doesn't wait, because the holder may keep the lock for a long time.
    /// - Returns: `nil` if the lock is held.
    @discardableResult
    package func withLockIfFree<Result>(
        _ body: (Lock) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result? {
        try withLock(LOCK_EX | LOCK_NB, body)
    }

    private func withLock<Result>(
        _ operation: Int32, _ body: (Lock) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result? {
        let path = path(of: .lock)
        let descriptor = open(.lock, O_RDWR | O_CREAT)
        guard descriptor >= 0 else { throw Self.failure("write \(path)") }
        defer { close(descriptor) }
        guard SystemCalls.lock(descriptor, operation) == 0 else {
            if errno == EWOULDBLOCK { return nil }
            throw Self.failure("lock \(path)")
        }
        let lock = Lock(folder: self)
        lock.removeLeftovers()
        return try body(lock)
    }

    /// The folder's lock, held.
    package struct Lock {
        package let folder: StoreFolder

        fileprivate init(folder: StoreFolder) { self.folder = folder }

        /// The same lock, used for a folder inside this one. No other process uses that folder.
        func inside(_ folder: StoreFolder) -> Lock { Lock(folder: folder) }

        /// Replaces a file atomically: at any time it has the old or the new content, never a
        /// mixture.
        package func write(_ contents: SecretBytes, to file: File) throws(KeychainFailure) {
            let path = folder.path(of: file)
            let temporary = folder.newPath(of: file)
            let descriptor = SystemCalls.open(
                temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
            guard descriptor >= 0 else { throw StoreFolder.failure("write \(path)") }
            let isWritten = contents.write(to: descriptor) && fsync(descriptor) == 0
            let code = errno
            close(descriptor)
            guard isWritten, SystemCalls.rename(temporary, path) == 0 else {
                let reason = isWritten ? errno : code
                SystemCalls.unlink(temporary)
                throw StoreFolder.failure("write \(path)", code: reason)
            }
            try folder.synchronize()
        }

        /// Creates a database: `make` creates and closes it in a new folder; then it is moved to
        /// its final place atomically.
        package func createDatabase(
            _ make: (StoreFolder) throws(KeychainFailure) -> Void
        ) throws(KeychainFailure) {
            let new = StoreFolder(path: folder.newPath(of: .database))
            defer { new.removeAll() }
            try new.prepare()
            try make(new)
            try new.synchronize(.database)
            guard SystemCalls.rename(new.path(of: .database), folder.path(of: .database)) == 0
            else { throw StoreFolder.failure("make \(folder.path(of: .database))") }
            try folder.synchronize()
        }

        /// Removes a database without any commit, and its other files. Such a database was left by
        /// a killed process of an earlier version, which created databases in place.
        package func removeUnfinishedDatabase() {
            guard !folder.exists(.keybag),
                folder.byteCount(of: .database) <= PageFormat.pageByteCount
            else { return }
            do {
                let log = try LogFileCheck(besideDatabaseAt: folder.path(of: .database))
                guard (log?.committedFrameCount ?? 0) + (log?.droppedFrameCount ?? 0) == 0
                else { return }
            } catch { return }
            for file in [File.sharedMemory, .writeAheadLog, .database] {
                SystemCalls.unlink(folder.path(of: file))
            }
        }

        fileprivate func removeLeftovers() {
            for name in folder.leftovers {
                let path = folder.path + "/" + name
                if SystemCalls.unlink(path) != 0 { StoreFolder(path: path).removeAll() }
            }
        }
    }

    /// Whether there are files or folders that a killed process has left behind, or temporary ones
    /// of a process that holds the lock.
    package var hasLeftovers: Bool { !leftovers.isEmpty }

    private var leftovers: [String] {
        let names = names
        let current = located(names)
        let hasDatabase = current.number > 0 && current.exists(.database)
        return names.filter { name in
            if let infix = name.firstRange(of: Self.newInfix) {
                let base = String(name[..<infix.lowerBound])
                return File(rawValue: base) != nil || base == Self.rotation
                    || Self.number(ofDatabase: base) != nil
            }
            let isEarlierRotation =
                Self.number(ofStaging: name).map { $0 < current.number } ?? false
            return hasDatabase && (isEarlierRotation || isOrphan(name, before: current))
        }
    }

    private static let newInfix = ".new-"

    private func newPath(of file: File) -> String { Self.newPath(of: path(of: file)) }

    static func newPath(of path: String) -> String {
        path + newInfix + String(UInt64.random(in: 0 ... .max), radix: 16)
    }
}
