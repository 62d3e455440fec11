// StoreFolder+Lock: what is done to a folder's files by one process at a time.
//   (1) What is being made stands under a name of its own, which nothing else ever has, and takes
//       its place by being renamed. A process that is killed leaves it behind.
//   (2) What was left behind goes as soon as the lock is taken again, a key in it included.

import FoundationEssentials
import Glibc
import KeychainCrypto
package import KeychainCore

extension StoreFolder {
    /// Runs `body` while no other process does so for this folder.
    package func withLock<Result>(
        _ body: (Lock) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        guard let result = try withLock(LOCK_EX, body) else {
            throw Self.failure("lock \(path(of: .lock))", code: EWOULDBLOCK)
        }
        return result
    }

    /// The same, unless another process does so: what is being made may take long.
    /// - Returns: nil: another one does.
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

        /// The same for a folder in it that nothing else knows of.
        func inside(_ folder: StoreFolder) -> Lock { Lock(folder: folder) }

        /// Replaces a file. The old or the new content is there at any moment, never a mixture.
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

        /// Makes a database: `make` in a folder of its own, closed; then it takes its place whole.
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

        /// Removes a database that holds nothing, not even a commit, and what belongs to it: what a
        /// first use left that was killed, before databases were made in a place of their own.
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

    /// Whether a process was killed while it made something.
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
