// KeychainServer: the service as a whole, from its locks to its connections; what it is told when
// it starts, and why it can't start.
//   (1) A caller is spoken to only once it is known which program it is.
//   (2) When the service ends, no connection is accepted any more, requests that were received are
//       carried out and answered, then the keychains are closed and the socket is removed.

import Glibc
import KeychainCore
import KeychainCrypto
package import KeychainEngine
import KeychainRuntime
import KeychainWire
package import Logging
import NIOCore
import NIOPosix
import Synchronization

package final class KeychainServer: Sendable {
    private let configuration: DaemonConfiguration
    private let log: AuditLog
    private let rules: EntitlementRules
    private let keychains: ServedKeychains
    private let verification: BackgroundVerification
    private let folderLock: ServiceLock
    private let audit: AuditTrail
    private let listener: ListeningSocket
    private let group: MultiThreadedEventLoopGroup
    private let workers: Workers
    private let connections = ConnectionTable()
    private let held = HeldBytes()
    private let doorkeeper = Mutex<Doorkeeper?>(nil)
    private let credentials: CredentialServer?
    private let ownSockets = Mutex<OwnSockets?>(nil)
    private let givenSockets: [String: Int32]
    /// The revision of the registry that sockets and connections follow.
    private let followed = Mutex((revision: 0, isNew: false))

    /// Takes the locks and the socket. No connection is accepted yet.
    ///
    /// - Parameters:
    ///   - configuration: What to serve, and where.
    ///   - socket: A descriptor that listens, which the service was given. nil: it makes one.
    ///   - credentialSocket: The same for the socket at which systemd asks for credentials.
    ///   - ownSockets: Such descriptors of sockets that are identities, by their names.
    ///   - log: Told of every request.
    /// - Throws: ``ServiceFailure``
    package init(
        _ configuration: DaemonConfiguration, socket: Int32? = nil, credentialSocket: Int32? = nil,
        ownSockets: [String: Int32] = [:], log: Logger
    ) throws(ServiceFailure) {
        self.configuration = configuration
        givenSockets = ownSockets
        self.log = AuditLog(log: log)
        rules = EntitlementRules(
            registry: ProgramRegistry(folder: configuration.registry, kind: configuration.kind),
            isRegistryOnly: configuration.isRegistryOnly, keychainctl: configuration.keychainctl)
        verification = BackgroundVerification(self.log)
        keychains = ServedKeychains(configuration, verification)
        folderLock = try Self.lockFolder(configuration)
        if let socket {
            listener = try ListeningSocket(given: socket)
        } else {
            listener = try ListeningSocket(
                at: configuration.socket, isForEverybody: configuration.kind == .system,
                keychain: configuration.kind == .user ? configuration.directory : nil)
        }
        audit = try AuditTrail(
            folder: configuration.directory + "/audit", limits: configuration.audit, log: self.log)
        group = MultiThreadedEventLoopGroup(numberOfThreads: min(System.coreCount, 4))
        workers = Workers(count: configuration.limits.requests)
        credentials = try CredentialServer.make(
            configuration, given: credentialSocket, keychains, workers, self.log, audit)
    }

    private static func lockFolder(
        _ configuration: DaemonConfiguration
    ) throws(ServiceFailure) -> ServiceLock {
        do throws(KeychainFailure) {
            try KeychainEngine.prepareFolder(configuration.directory)
        } catch {
            throw ServiceFailure(error.reason)
        }
        return try ServiceLock(
            configuration.directory + "/" + EmbeddedKeychain.serviceLockName,
            for: "the keychain folder \(configuration.directory)")
    }

    /// Accepts connections from now on.
    package func start() throws(ServiceFailure) {
        for problem in rules.registry.problems() { log.problem("registry", reason: problem) }
        let owner = geteuid()
        let isForEverybody = configuration.kind == .system
        let doorkeeper = try doorkeeper(
            listener, by: isForEverybody ? .account : .program,
            accepting: { isForEverybody || $0 == owner })
        self.doorkeeper.withLock { $0 = doorkeeper }
        let ownSockets = OwnSockets(beside: isForEverybody ? nil : configuration.socket) {
            [self] listener, name throws(ServiceFailure) in
            try self.doorkeeper(listener, by: .socket(name), accepting: { _ in true })
        }
        self.ownSockets.withLock { $0 = ownSockets }
        try ownSockets.take(givenSockets)
        try credentials?.start()
        followRegistry()
        watch()
    }

    /// Makes and removes sockets, and ends connections whose rights are no longer what they were.
    private func followRegistry() {
        _ = followed.withLockIfAvailable { followed in
            let revision = rules.registry.revision()
            // Told of once more the next time: a connection may have been on its way in.
            let isNew = revision != followed.revision
            guard isNew || followed.isNew else { return }
            followed = (revision, isNew)
            let names = Set(rules.registry.sockets().keys)
            let problems = ownSockets.withLock { $0 }?.follow(names) ?? []
            for problem in problems { log.problem("socket", reason: problem) }
            connections.tell(RightsMayHaveChanged())
        }
    }

    /// Accepts the callers of a socket.
    private func doorkeeper(
        _ listener: ListeningSocket, by identification: Identification,
        accepting isAccepted: @escaping @Sendable (uid_t) -> Bool
    ) throws(ServiceFailure) -> Doorkeeper {
        let doorkeeper = try Doorkeeper(
            listener.descriptor.number,
            Doorkeeper.Rules(
                accepts: isAccepted, identification: identification,
                timeLimit: configuration.limits.handshakeTime,
                handshakesPerUser: configuration.limits.handshakesPerUser,
                untakenPerUser: configuration.limits.untakenPerUser),
            onPeer: { [self] in admit($0, $1) }, onRefusal: { [log] in log.refused($0) })
        try doorkeeper.start()
        return doorkeeper
    }

    /// Ends the service, see (2), and waits for that. It is called once, and on no event loop.
    package func stop() {
        let doorkeeper = doorkeeper.withLock { doorkeeper in
            defer { doorkeeper = nil }
            return doorkeeper
        }
        doorkeeper?.stop()
        credentials?.stop()
        listener.close()
        let ownSockets = ownSockets.withLock { sockets in
            defer { sockets = nil }
            return sockets
        }
        ownSockets?.stop()
        connections.end(within: configuration.limits.endTime)
        workers.stop()
        verification.stop()
        keychains.close()
        audit.stop()
        log.tellCounts(atOnce: true)
        folderLock.end()
        try? group.syncShutdownGracefully()
    }

    /// Locks every keychain that is unlocked and has a passcode.
    package func lock() {
        let locked = keychains.lock(ifUnusedFor: nil)
        log.note("locked on request: \(locked.count) keychains")
    }

    /// How many connections there are.
    package var connectionCount: Int { connections.count }

    // MARK: Connections

    /// Called on the doorkeeper's thread.
    private func admit(_ peer: Peer, _ socket: OwnedDescriptor) {
        let name = PeerName(pid: peer.pid, uid: peer.uid, identity: peer.identity)
        let party = name.party(configuration.kind)
        guard connections.reserve(for: peer.uid, party, configuration.limits) else {
            log.refused(.tooMany(uid: peer.uid))
            PeerRefusal.tooMany(uid: peer.uid).tell(socket)
            return
        }
        workers.identify(for: party) { [self] in
            let rights = Result { () throws(KeychainFailure) in try rules.rights(of: peer) }
            log.connected(name)
            if case .failure(let failure) = rights {
                log.withoutAccess(name, failure.reason)
                keychains.keychain(of: peer.uid).noteRefusal()
            }
            open(socket, name, rights) { [rules] in
                Result { () throws(KeychainFailure) in try rules.rights(of: peer) }
            }
        }
    }

    private func open(
        _ socket: OwnedDescriptor, _ peer: PeerName,
        _ rights: Result<Rights, KeychainFailure>,
        _ rightsNow: @escaping @Sendable () -> Result<Rights, KeychainFailure>
    ) {
        // One that gets nothing has a connection on which it is told so.
        let keychain = keychains.keychain(of: (try? rights.get())?.user ?? peer.uid)
        keychain.addConnection()
        let party = peer.party(configuration.kind)
        let onEnd: @Sendable () -> Void = { [connections, log] in
            keychain.removeConnection()
            connections.release(for: peer.uid, party)
            log.disconnected(peer)
        }
        let configuration = configuration
        let log = log
        let workers = workers
        let audit = audit
        let held = held
        let opened = ClientBootstrap(group: group)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 4)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let events = EventQueue()
                    let session = PeerSession(
                        peer: peer, rights: rights, rightsNow: rightsNow, keychain: keychain,
                        configuration: configuration, log: log, audit: audit,
                        onEvent: { events.add($0, $1) })
                    try channel.pipeline.syncOperations.addHandler(
                        Connection(
                            session, workers,
                            requestLimit: configuration.limits.requestsPerConnection,
                            events: events, held: held, log: log, onEnd: onEnd))
                }
            }
            .withConnectedSocket(socket.handOn())
        opened.whenSuccess { [connections] in connections.add($0) }
        opened.whenFailure { _ in onEnd() }
    }

    // MARK: Time

    /// Locks and closes what no program uses, and verifies what was changed by anything but a
    /// keychain.
    private func watch() {
        let limits = configuration.limits
        let workers = workers
        let keychains = keychains
        let log = log
        every(limits.registryInterval) { [self] in
            log.tellCounts()
            workers.identify(for: 0) { self.followRegistry() }
        }
        if let lockAfter = configuration.lockAfter {
            every(min(max(lockAfter / 4, .milliseconds(20)), .seconds(15))) {
                workers.run(for: 0) {
                    for user in keychains.lock(ifUnusedFor: lockAfter) {
                        log.note("locked for want of use: the keychain of uid \(user)")
                    }
                }
            }
        }
        if configuration.engine.freshness != nil {
            if configuration.kind == .user { workers.run(for: 0) { keychains.open(geteuid()) } }
            every(limits.verificationInterval) { keychains.verify() }
        }
        if configuration.kind == .system {
            every(min(max(limits.idleTime / 4, .milliseconds(20)), .seconds(60))) {
                workers.run(for: 0) { keychains.closeIdle(since: limits.idleTime) }
            }
        }
    }

    /// Has signs of life given, at least twice in a time, for as long as the service's threads take
    /// work.
    package func showLife(
        within time: Duration, _ onLife: @escaping @Sendable (_ connectionCount: Int) -> Void
    ) {
        let watchdog = Watchdog(workers.probe) { [connections] in onLife(connections.count) }
        every(time / 2) { watchdog.ask() }
    }

    private func every(_ interval: Duration, _ body: @escaping @Sendable () -> Void) {
        let amount = TimeAmount(interval)
        group.next().scheduleRepeatedTask(initialDelay: amount, delay: amount) { _ in body() }
    }
}

// MARK: - Configuration

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
