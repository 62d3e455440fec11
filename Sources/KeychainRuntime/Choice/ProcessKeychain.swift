// ProcessKeychain: the keychain of this process, wherever it is.
//   (1) There is one client for a process. A failure to reach the service is not remembered.

import KeychainEngine
package import KeychainCore
import KeychainWire
import Synchronization

/// The keychain that a process uses unless it names another one.
package enum ProcessKeychain {
    private static let clients = Mutex<[String: ServiceClient]>([:])

    /// The keychain, and the groups that this program has there.
    /// - Throws: `missingEntitlement` when the entitlements give no group; why the keychain can't
    ///   be opened or reached.
    package static func connection() throws(KeychainFailure) -> KeychainConnection {
        switch try KeychainChoice.current().mode {
        case .embedded: return try EmbeddedKeychain.connection()
        case .service(let socket):
            let client = client(for: socket)
            return KeychainConnection(
                service: client, caller: try client.welcome().entitlements.accessGroups)
        }
    }

    /// What there is to administer. With a service, nothing is sent yet.
    package static func administration() throws(KeychainFailure) -> any RequestHandler {
        switch try KeychainChoice.current().mode {
        case .embedded:
            return try EmbeddedKeychain.keychain(in: EmbeddedKeychain.location().directory)
        case .service(let socket): return client(for: socket)
        }
    }

    /// What this program is entitled to.
    package static func entitlements() throws(KeychainFailure) -> Entitlements {
        switch try KeychainChoice.current().mode {
        case .embedded: return try EmbeddedKeychain.entitlements()
        case .service(let socket): return try client(for: socket).welcome().entitlements
        }
    }

    /// The one client of this process for a socket.
    package static func client(for socket: String) -> ServiceClient {
        clients.withLock { clients in
            if let client = clients[socket] { return client }
            let client = ServiceClient(socketPath: socket)
            clients[socket] = client
            return client
        }
    }
}
