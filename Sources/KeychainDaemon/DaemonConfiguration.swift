// DaemonConfiguration: what a service is told when it starts.

package import KeychainEngine
import KeychainCore

package struct DaemonConfiguration: Sendable {
    /// Whose keychains the service keeps.
    package enum Kind: Hashable, Sendable {
        /// That of the user who runs it: the folder itself is the keychain's.
        case user
        /// Those of all users of the machine: each has a folder of its own in the folder, named
        /// by the number of the user.
        case system
    }

    package var kind: Kind
    /// The folder of the keychain, or of all keychains; an absolute path.
    package var directory: String
    /// Where to listen, an absolute path of at most 107 bytes. Not used where the service is given
    /// a socket.
    package var socket: String
    /// The folder that says which programs have which entitlements, an absolute path.
    package var registry: String
    /// Whether programs that the registry doesn't name get nothing. It is always so for a service
    /// of the system.
    package var isRegistryOnly: Bool
    /// The tool that may see every group of its own user's keychain. nil: there is none.
    package var keychainctl: String?
    /// Locks a keychain when no program opened an item of its when-unlocked classes for so long.
    /// nil: never.
    package var lockAfter: Duration?
    package var limits: Limits
    /// The clock, and the cost of new passcodes, of the keychains. Their log is left out: each
    /// request is logged by the service.
    package var engine: EngineOptions

    /// What keeps one program from using up what all share.
    package struct Limits: Hashable, Sendable {
        /// How long a program may take to show who it is.
        package var handshakeTime: Duration = .seconds(5)
        package var handshakesPerUser = 128
        package var connectionsPerUser = 4096
        /// The most requests of one connection that are carried out at once; nothing is read from
        /// it until one of them is answered and the answer is taken.
        package var requestsPerConnection = 8
        package var subscriptionsPerConnection = 64
        /// The most requests of all connections that are carried out at once.
        package var requests = 16
        /// How long requests may take to end when the service ends.
        package var endTime: Duration = .seconds(10)
        /// After how long without connections a user's keychain is closed, in a service of the
        /// system.
        package var idleTime: Duration = .seconds(600)

        package init() {}
    }

    package init(
        kind: Kind = .user, directory: String, socket: String, registry: String,
        isRegistryOnly: Bool = false, keychainctl: String? = nil, lockAfter: Duration? = nil,
        limits: Limits = Limits(), engine: EngineOptions = EngineOptions()
    ) {
        self.kind = kind
        self.directory = directory
        self.socket = socket
        self.registry = registry
        self.isRegistryOnly = isRegistryOnly || kind == .system
        self.keychainctl = keychainctl
        self.lockAfter = lockAfter
        self.limits = limits
        self.engine = engine
    }
}
