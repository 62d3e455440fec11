// ServedKeychains: the keychains of a service, one for each user.

import KeychainCore
import Glibc
import Synchronization

final class ServedKeychains: Sendable {
    private let configuration: DaemonConfiguration
    private let keychains = Mutex<[uid_t: ServedKeychain]>([:])

    init(_ configuration: DaemonConfiguration) {
        self.configuration = configuration
    }

    /// The keychain of a user, which may not be open yet.
    func keychain(of user: uid_t) -> ServedKeychain {
        keychains.withLock { keychains in
            if let keychain = keychains[user] { return keychain }
            let directory =
                switch configuration.kind {
                case .user: configuration.directory
                case .system: "\(configuration.directory)/\(user)"
                }
            let keychain = ServedKeychain(directory: directory, options: configuration.engine)
            keychains[user] = keychain
            return keychain
        }
    }

    private var all: [uid_t: ServedKeychain] { keychains.withLock { $0 } }

    /// Locks what is unlocked.
    /// - Parameter limit: Only what no program used for so long. nil: everything.
    /// - Returns: Whose keychains were locked.
    func lock(ifUnusedFor limit: Duration?) -> [uid_t] {
        all.filter { $0.value.lock(ifUnusedFor: limit) }.map(\.key)
    }

    func closeIdle(since limit: Duration) {
        for keychain in all.values { keychain.closeIfIdle(since: limit) }
    }

    func close() {
        for keychain in all.values { keychain.close() }
    }
}
