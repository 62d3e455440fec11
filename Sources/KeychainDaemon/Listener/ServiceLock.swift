// ServiceLock: no two services for one socket or one keychain folder.
//   (1) The lock ends when it is given back, or with the process that holds it, however that ends;
//       the file stays.

import Glibc
import KeychainCrypto

struct ServiceLock: Sendable {
    /// The lock file in a keychain folder, which stands beside those of the store.
    static let fileName = "service-lock"

    private let descriptor: OwnedDescriptor

    /// Takes the lock.
    /// - Parameters:
    ///   - path: The lock file, which is made where it is missing.
    ///   - subject: What the lock is for, with its path.
    /// - Throws: ``ServiceFailure`` when another service has it.
    init(_ path: String, for subject: String) throws(ServiceFailure) {
        guard let descriptor = Files.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600) else {
            throw ServiceFailure("Can't write \(path): \(errorText(errno)).")
        }
        guard Files.lock(descriptor) else {
            throw ServiceFailure(
                "Another keychaind already serves \(subject). Stop it first, or choose another "
                    + "one.")
        }
        self.descriptor = descriptor
    }

    /// Gives the lock back.
    func end() { descriptor.close() }
}
