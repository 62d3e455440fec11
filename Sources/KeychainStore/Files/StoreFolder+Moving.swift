// StoreFolder+Moving: what recovery does with whole files, and who may do it when.

import Glibc
package import KeychainModel
import Synchronization

extension StoreFolder {
    package var exists: Bool { SystemCalls.status(ofLink: path) != nil }

    /// Whether there is certainly no folder of that name, nor anything else.
    package var isMissing: Bool { !exists && errno == ENOENT }

    /// Where recovery makes the new database. One that is finished is moved from there.
    package var rebuilt: StoreFolder { StoreFolder(path: path + "/rebuilt") }

    /// What is said where there is no database: a recovery that stopped half-way can go on.
    package var failureForMissingDatabase: KeychainFailure {
        rebuilt.exists(.database) || byteCount(of: .writeAheadLog) > 0
            ? .damagedStore("keychain.db is missing from \(path)") : .missingDatabase(in: path)
    }

    /// Moves a file to another folder of the same file system, if it is there.
    package func move(_ file: File, to other: StoreFolder) throws(KeychainFailure) {
        guard exists(file) else { return }
        guard SystemCalls.rename(path(of: file), other.path(of: file)) == 0 else {
            throw Self.failure("move \(path(of: file))")
        }
    }

    /// Removes a folder of our own making with the files that this type names.
    package func removeAll() {
        for file in File.allCases { SystemCalls.unlink(path(of: file)) }
        SystemCalls.removeDirectory(path)
    }

    /// Says that this process uses the keychain, or, exclusively, that no other may.
    ///
    /// - Throws: `notAvailable` at once where the two contradict each other.
    package func lease(exclusive: Bool) throws(KeychainFailure) -> Lease {
        let path = path(of: .lease)
        let descriptor = SystemCalls.open(
            path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode: 0o600)
        guard descriptor >= 0 else {
            // On a read-only file system there is nothing to recover, so nothing to keep apart.
            if !exclusive, errno == EROFS || errno == EACCES { return Lease(descriptor: -1) }
            throw Self.failure("write \(path)")
        }
        guard flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 else {
            close(descriptor)
            throw .busy(
                exclusive
                    ? "Other processes use this keychain. End them and try again."
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
                if descriptor >= 0 { close(descriptor) }
                descriptor = -1
            }
        }
    }
}
