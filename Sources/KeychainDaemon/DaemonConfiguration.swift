// DaemonConfiguration: what a service is told when it starts, the limits that keep one program from
// using up what all share, and why a service can't start.

package import KeychainEngine
import KeychainWire

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
    /// Where systemd asks for the credentials of units, an absolute path. nil: nowhere, unless the
    /// service is given a socket for that.
    package var credentialSocket: String?
    /// The folder that says which programs have which entitlements, an absolute path.
    package var registry: String
    /// Whether programs, or users of the machine's service, that the registry doesn't name get
    /// nothing.
    package var isRegistryOnly: Bool
    /// The tool that may see every group of its own user's keychain. nil: there is none.
    package var keychainctl: String?
    /// Locks a keychain when no program opened an item of its when-unlocked classes for so long.
    /// nil: never.
    package var lockAfter: Duration?
    package var limits: Limits
    package var audit = AuditLimits()
    /// The clock, and the cost of new passcodes, of the keychains. Their log is left out: each
    /// request is logged by the service.
    package var engine: EngineOptions

    /// What keeps one program from using up what all share.
    package struct Limits: Hashable, Sendable {
        /// How long a program may take to show who it is.
        package var handshakeTime: Duration = .seconds(5)
        /// How long it may take to read what a program that showed who it is may do.
        package var rightsTime: Duration = .seconds(10)
        package var handshakesPerUser = 128
        package var untakenPerUser = 1024
        package var connectionsPerUser = 4096
        /// How many of them are for programs that have fewer than `connectionsOfFew`, or, of the
        /// machine's service, for users that do.
        package var connectionsKeptForFew = 512
        package var connectionsOfFew = 16
        /// The most requests of one connection that are carried out at once; nothing is read from
        /// it until one of them is answered and the answer is taken.
        package var requestsPerConnection = 8
        package var subscriptionsPerConnection = 64
        /// The most requests of all connections that are carried out at once.
        package var requests = 16
        /// After how long without a request a connection is closed that follows no changes. One that
        /// begins with nothing is closed after `handshakeTime`.
        package var connectionIdleTime: Duration = .seconds(600)
        /// How long a program may take nothing of an answer that it is sent.
        package var answerTime: Duration = .seconds(30)
        /// How many bytes of answers one party may have on their way, before its next requests wait.
        package var answersOnTheirWay = 64 << 20
        /// The most bytes of an answer that changed nothing: what a client takes.
        package var answerByteCount = WireLimits.answerByteCount
        /// How long requests may take to end when the service ends.
        package var endTime: Duration = .seconds(10)
        /// After how long without connections a user's keychain is closed, in a service of the
        /// system.
        package var idleTime: Duration = .seconds(600)
        /// How often is looked whether the registry has changed.
        package var registryInterval: Duration = .seconds(2)
        /// How often is looked whether a keychain has to be verified.
        package var verificationInterval: Duration = .seconds(60)

        package init() {}

        /// How often is looked for connections that do nothing.
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
    /// A sentence for people, and what to do.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }

    package var description: String { reason }
}
