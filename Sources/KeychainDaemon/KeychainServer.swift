// KeychainServer: the service as a whole, from its locks to its connections.
//   (1) The service reads requests of a caller only after it has identified the caller.
//   (2) At its end, the service stops accepting connections and removes the sockets that it has
//       created, carries out and answers the requests that it has received, as far as `endTime`
//       permits, then closes the keychains.

import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
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
    private let answers: AnswerBudget
    private let acceptor = Mutex<Acceptor?>(nil)
    private let credentials: CredentialServer?
    private let ownSockets = Mutex<OwnSockets?>(nil)
    private let givenSockets: [String: Int32]
    /// The revision of the registry that sockets and connections have been adjusted to.
    private let followed = Mutex((revision: 0, isNew: false))

    /// Takes the locks, and creates the socket unless one is passed. No connection is accepted yet.
    ///
    /// - Parameters:
    ///   - configuration: The configuration.
    ///   - socket: The file descriptor of a listening socket from the service manager. `nil` to
    ///     create one.
    ///   - credentialSocket: The same for the socket at which systemd requests credentials.
    ///   - ownSockets: File descriptors of dedicated sockets from the service manager, by name.
    ///   - log: Receives a line for each request.
    /// - Throws: ``ServiceFailure`` if a lock is held by another service, if a folder or a socket
    ///   can't be used, or if the thread of the audit can't be started. If the audit can't be
    ///   written, nothing is thrown here: see ``AuditTrail``.
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
        answers = AnswerBudget(configuration.limits.answersOnTheirWay)
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

    /// Starts accepting connections.
    package func start() throws(ServiceFailure) {
        for problem in rules.registry.problems() { log.problem("registry", reason: problem) }
        let owner = geteuid()
        let isForEverybody = configuration.kind == .system
        let acceptor = try acceptor(
            listener, by: isForEverybody ? .account : .program,
            accepting: { isForEverybody || $0 == owner })
        self.acceptor.withLock { $0 = acceptor }
        let ownSockets = OwnSockets(beside: isForEverybody ? nil : configuration.socket) {
            [self] listener, name throws(ServiceFailure) in
            try self.acceptor(listener, by: .socket(name), accepting: { _ in true })
        }
        self.ownSockets.withLock { $0 = ownSockets }
        try ownSockets.take(givenSockets)
        try credentials?.start()
        followRegistry()
        watch()
    }

    /// Creates and removes dedicated sockets as the registry says, and closes connections whose
    /// rights have changed.
    private func followRegistry() {
        _ = followed.withLockIfAvailable { followed in
            let revision = rules.registry.revision()
            // After a change, connections are checked once more at the next interval, since a
            // connection may have been in the middle of its admission.
            let isNew = revision != followed.revision
            guard isNew || followed.isNew else { return }
            followed = (revision, isNew)
            let names = Set(rules.registry.sockets().keys)
            let problems = ownSockets.withLock { $0 }?.follow(names) ?? []
            for problem in problems { log.problem("socket", reason: problem) }
            connections.tell(RightsMayHaveChanged())
        }
    }

    /// Starts accepting the callers of a socket.
    private func acceptor(
        _ listener: ListeningSocket, by identification: Identification,
        accepting isAccepted: @escaping @Sendable (uid_t) -> Bool
    ) throws(ServiceFailure) -> Acceptor {
        let acceptor = try Acceptor(
            listener.descriptor.number,
            Acceptor.Rules(
                accepts: isAccepted, identification: identification,
                timeLimit: configuration.limits.handshakeTime,
                handshakesPerUser: configuration.limits.handshakesPerUser,
                untakenPerUser: configuration.limits.untakenPerUser),
            run: { [workers] in workers.identify(for: $0, $1) },
            onPeer: { [self] in admit($0, $1) }, onRefusal: { [log] in log.refused($0, $1) })
        try acceptor.start()
        return acceptor
    }

    /// Ends the service, see (2), and waits until it has ended. Call this function only once, and
    /// not on an event loop.
    package func stop() {
        let acceptor = acceptor.withLock { acceptor in
            defer { acceptor = nil }
            return acceptor
        }
        acceptor?.stop()
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

    /// Locks every keychain that is unlocked and has a passcode or another way to unlock it.
    package func lock() {
        let locked = keychains.lock(ifUnusedFor: nil)
        let noun = locked.count == 1 ? "keychain" : "keychains"
        log.note("locked on request: \(locked.count) \(noun)")
    }

    /// The number of connections.
    package var connectionCount: Int { connections.count }

    // MARK: Connections

    /// Called on the acceptor's thread.
    private func admit(_ peer: Peer, _ socket: OwnedDescriptor) {
        let name = PeerName(pid: peer.pid, uid: peer.uid, identity: peer.identity)
        let party = name.party(configuration.kind)
        let refuse: @Sendable (PeerRefusal) -> Void = { [log] refusal in
            log.refused(refusal, peer.uid)
            refusal.tell(socket)
            socket.close()
        }
        guard connections.reserve(for: peer.uid, party, configuration.limits) else {
            return refuse(.tooMany(uid: peer.uid))
        }
        // The rights are read from files, whose file system may hang.
        let decision = Once()
        let deadline = group.next().scheduleTask(in: TimeAmount(configuration.limits.rightsTime)) {
            [connections] in
            guard decision.isFirst() else { return }
            connections.release(for: peer.uid, party)
            refuse(.slowFile(pid: peer.pid))
        }
        workers.identify(for: party) { [self] in
            let rights = Result { () throws(KeychainFailure) in try rules.rights(of: peer) }
            guard decision.isFirst() else { return }
            deadline.cancel()
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
        // A client without access also gets a connection, over which it receives the reason.
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
        let answers = answers
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
                            session, workers, configuration.limits, events: events, held: held,
                            answers: answers, log: log, onEnd: onEnd))
                }
            }
            .withConnectedSocket(socket.handOn())
        opened.whenSuccess { [connections] in connections.add($0) }
        opened.whenFailure { _ in onEnd() }
    }

    // MARK: Periodic tasks

    /// Starts the periodic tasks: following the registry, logging counts of refusals, closing idle
    /// connections, locking and closing unused keychains, and verifying keychains that aren't
    /// recorded as verified. A user's service also opens its keychain, so that it is verified.
    private func watch() {
        let limits = configuration.limits
        let workers = workers
        let keychains = keychains
        let log = log
        every(limits.registryInterval) { [self] in
            log.tellCounts()
            workers.identify(for: .service) { self.followRegistry() }
        }
        every(limits.idleInterval) { [connections] in connections.tell(LookForIdleness()) }
        if let lockAfter = configuration.lockAfter {
            every(min(max(lockAfter / 4, .milliseconds(20)), .seconds(15))) {
                workers.run(for: .service) {
                    for user in keychains.lock(ifUnusedFor: lockAfter) {
                        log.note("locked after inactivity: the keychain of uid \(user)")
                    }
                }
            }
        }
        if configuration.engine.freshness != nil {
            if configuration.kind == .user {
                workers.run(for: .service) { keychains.open(geteuid()) }
            }
            every(limits.verificationInterval) { keychains.verify() }
        }
        if configuration.kind == .system {
            every(min(max(limits.idleTime / 4, .milliseconds(20)), .seconds(60))) {
                workers.run(for: .service) { keychains.closeIdle(since: limits.idleTime) }
            }
        }
    }

    /// Calls `onLife` at intervals of half of `time`, for as long as the service's threads accept
    /// work.
    package func showLife(
        within time: Duration, _ onLife: @escaping @Sendable (_ connectionCount: Int) -> Void
    ) {
        let probe: Watchdog.Probe = { [workers, group] then in
            Self.pass(Array(group.makeIterator())) { workers.probe(then) }
        }
        let watchdog = Watchdog(probe) { [connections] in onLife(connections.count) }
        every(time / 2) { watchdog.ask() }
    }

    /// Calls `then` once, after all event loops have carried out a task each. If a loop has ended,
    /// `then` is not called. This function calls a closure and doesn't complete a promise: if a
    /// loop has ended, the promise would be left without a result, which SwiftNIO doesn't permit.
    private static func pass(
        _ loops: [any EventLoop], _ then: @escaping @Sendable () -> Void
    ) {
        guard let loop = loops.first else { return then() }
        loop.execute { pass(Array(loops.dropFirst()), then) }
    }

    private func every(_ interval: Duration, _ body: @escaping @Sendable () -> Void) {
        let amount = TimeAmount(interval)
        group.next().scheduleRepeatedTask(initialDelay: amount, delay: amount) { _ in body() }
    }
}

/// Decides a race between closures: `isFirst()` returns `true` only for the first call.
private final class Once: Sendable {
    private let isDecided = Atomic(false)

    func isFirst() -> Bool { !isDecided.exchange(true, ordering: .acquiringAndReleasing) }
}
