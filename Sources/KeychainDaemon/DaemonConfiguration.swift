// DaemonConfiguration: the configuration of a service, the limits that keep one program from
// exhausting shared resources, and the error that says why a service can't start.

package import KeychainEngine
import KeychainWire

package struct DaemonConfiguration: Sendable {
    /// The users whose keychains the service keeps.
    package enum Kind: Hashable, Sendable {
        /// The keychain of the user who runs the service. The configured folder is that of the
        /// keychain.
        case user
        /// The keychains of all users of the machine. The configured folder has a folder for each
        /// user, named by the user id.
        case system
    }

    package var kind: Kind
    /// The folder of the keychain, or the folder of all keychains. An absolute path.
    package var directory: String
    /// The path of the socket to listen at: absolute, at most 107 bytes. If the service manager
    /// passes a socket, the path only determines where a user's service creates dedicated sockets.
    package var socket: String
    /// The path of the socket at which systemd requests the credentials of units: absolute. `nil`
    /// if there is none, unless the service manager passes one.
    package var credentialSocket: String?
    /// The folder of the registry, which defines the entitlements of programs. An absolute path.
    package var registry: String
    /// Whether programs that the registry doesn't name get no access. In the machine's service,
    /// this applies to users.
    package var isRegistryOnly: Bool
    /// The path of `keychainctl`, which may use every access group of the keychain of the user who
    /// runs it. `nil` if no program has this right.
    package var keychainctl: String?
    /// The duration after which a keychain is locked if no program has read or saved a secret of
    /// the when-unlocked classes or the when-passcode-set class. `nil` to never lock it.
    package var lockAfter: Duration?
    package var limits: Limits
    package var audit = AuditLimits()
    /// The options with which the keychains are opened. They don't set a log: the service logs each
    /// request.
    package var engine: EngineOptions

    /// Limits that keep one program from exhausting shared resources.
    package struct Limits: Hashable, Sendable {
        /// The maximum duration of a handshake.
        package var handshakeTime: Duration = .seconds(5)
        /// The maximum duration of reading the entitlements of a program that has completed the
        /// handshake.
        package var rightsTime: Duration = .seconds(10)
        /// The maximum number of unfinished handshakes of one user at one socket.
        package var handshakesPerUser = 128
        /// The service passes each caller a new socket during the handshake. This is the maximum
        /// number of passed sockets that one user's callers at one listening socket haven't
        /// received.
        package var untakenPerUser = 1024
        /// The maximum number of connections of one user.
        package var connectionsPerUser = 4096
        /// How many connections of each user are reserved for programs with fewer than
        /// `connectionsOfFew` connections. The machine's service counts a user as one program,
        /// which lowers the maximum for the user by this number.
        package var connectionsKeptForFew = 512
        package var connectionsOfFew = 16
        /// The maximum number of requests of one connection that are carried out at once. Beyond
        /// it, the service reads nothing more from the connection until it has sent an answer.
        package var requestsPerConnection = 8
        package var subscriptionsPerConnection = 64
        /// The maximum number of requests of all connections that are carried out at once, not
        /// counting those that have threads of their own or run on an event loop: see ``Workers``.
        package var requests = 16
        /// A connection without subscriptions is closed if it has had no request for this long. A
        /// connection without `hello` is closed after `handshakeTime`.
        package var connectionIdleTime: Duration = .seconds(600)
        /// The duration after which a connection is closed if data for the client is waiting and
        /// the client receives none of it.
        package var answerTime: Duration = .seconds(30)
        /// The number of bytes of answers in flight, over all connections of one ``Party``, at
        /// which further requests of that party have to wait.
        package var answersOnTheirWay = 64 << 20
        /// The maximum size in bytes of the answer to a request that changes nothing. Clients
        /// accept no larger ones.
        package var answerByteCount = WireLimits.answerByteCount
        /// How long an ending service waits for pending requests to be answered, before it closes
        /// the connections.
        package var endTime: Duration = .seconds(10)
        /// The machine's service closes a user's keychain that has had neither connections nor
        /// verifications for this long, unless closing would lock it.
        package var idleTime: Duration = .seconds(600)
        /// The interval at which the service checks whether the registry has changed.
        package var registryInterval: Duration = .seconds(2)
        /// The interval at which the service checks whether a keychain has to be verified.
        package var verificationInterval: Duration = .seconds(60)

        package init() {}

        /// The interval at which the service looks for idle connections.
        var idleInterval: Duration {
            max(min(connectionIdleTime, answerTime, handshakeTime) / 4, .milliseconds(20))
        }
    }

    package init(
        kind: Kind = .user, directory: String, socket: String, registry: String,
        isRegistryOnly: Bool = false, keychainctl: String? = nil, lockAfter: Duration? = nil,
        limits: Limits = Limits(), engine: EngineOptions = EngineOptions(),
        credentialSocket: String? = nil
    ) {
        self.kind = kind
        self.directory = directory
        self.socket = socket
        self.registry = registry
        self.isRegistryOnly = isRegistryOnly
        self.keychainctl = keychainctl
        self.lockAfter = lockAfter
        self.limits = limits
        self.engine = engine
        self.credentialSocket = credentialSocket
    }
}

package struct ServiceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and how to resolve it, for the user.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }

    package var description: String { reason }
}
