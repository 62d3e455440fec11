// KeychainServer: the service as a whole, from its locks to its connections.
//   (1) A caller is spoken to only once it is known which program it is.
//   (2) When the service ends, no connection is accepted any more, requests that were received are
//       carried out and answered, then the keychains are closed and the socket is removed.

import Glibc
import KeychainCrypto
import KeychainEngine
import KeychainCore
package import Logging
import NIOCore
import NIOPosix
import Synchronization

package final class KeychainServer: Sendable {
    private let configuration: DaemonConfiguration
    private let log: AuditLog
    private let rules: EntitlementRules
    private let keychains: ServedKeychains
    private let folderLock: ServiceLock
    private let listener: ListeningSocket
    private let group: MultiThreadedEventLoopGroup
    private let workers: Workers
    private let connections = ConnectionTable()
    private let doorkeeper = Mutex<Doorkeeper?>(nil)

    /// Takes the locks and the socket. No connection is accepted yet.
    ///
    /// - Parameters:
    ///   - configuration: What to serve, and where.
    ///   - socket: A descriptor that listens, which the service was given. nil: it makes one.
    ///   - log: Told of every request.
    /// - Throws: ``ServiceFailure``
    package init(
        _ configuration: DaemonConfiguration, socket: Int32? = nil, log: Logger
    ) throws(ServiceFailure) {
        self.configuration = configuration
        self.log = AuditLog(log: log)
        rules = EntitlementRules(
            registry: ProgramRegistry(folder: configuration.registry),
            isRegistryOnly: configuration.isRegistryOnly, keychainctl: configuration.keychainctl)
        keychains = ServedKeychains(configuration)
        folderLock = try Self.lockFolder(configuration)
        if let socket {
            listener = try ListeningSocket(given: socket)
        } else {
            listener = try ListeningSocket(
                at: configuration.socket, isForEverybody: configuration.kind == .system)
        }
        group = MultiThreadedEventLoopGroup(numberOfThreads: min(System.coreCount, 4))
        workers = Workers(count: configuration.limits.requests)
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
            configuration.directory + "/" + ServiceLock.fileName,
            for: "the keychain folder \(configuration.directory)")
    }

    /// Accepts connections from now on.
    package func start() throws(ServiceFailure) {
        for problem in rules.registry.problems() { log.problem("registry: \(problem)") }
        let owner = geteuid()
        let isForEverybody = configuration.kind == .system
        let doorkeeper = try Doorkeeper(
            listener.descriptor.number,
            Doorkeeper.Rules(
                accepts: { isForEverybody || $0 == owner },
                timeLimit: configuration.limits.handshakeTime,
                handshakesPerUser: configuration.limits.handshakesPerUser),
            onPeer: { [self] in admit($0, $1) }, onRefusal: { [log] in log.refused($0) })
        doorkeeper.start()
        self.doorkeeper.withLock { $0 = doorkeeper }
        watch()
    }

    /// Ends the service, see (2), and waits for that. It is called once, and on no event loop.
    package func stop() {
        let doorkeeper = doorkeeper.withLock { doorkeeper in
            defer { doorkeeper = nil }
            return doorkeeper
        }
        doorkeeper?.stop()
        listener.close()
        connections.end(within: configuration.limits.endTime)
        workers.stop()
        keychains.close()
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
        guard connections.reserve(for: peer.uid, atMost: configuration.limits.connectionsPerUser)
        else {
            log.refused(.tooMany(uid: peer.uid))
            return
        }
        let name = PeerName(
            pid: peer.pid, uid: peer.uid, executable: peer.executable.path)
        workers.run(for: name.party(configuration.kind)) { [self] in
            let entitlements = Result { () throws(KeychainFailure) in
                try rules.entitlements(of: peer.executable)
            }
            log.connected(name)
            if case .failure(let failure) = entitlements {
                log.withoutAccess(name, failure.reason)
            }
            open(socket, name, entitlements)
        }
    }

    private func open(
        _ socket: OwnedDescriptor, _ peer: PeerName,
        _ entitlements: Result<Entitlements, KeychainFailure>
    ) {
        let keychain = keychains.keychain(of: peer.uid)
        keychain.addConnection()
        let onEnd: @Sendable () -> Void = { [connections, log] in
            keychain.removeConnection()
            connections.release(for: peer.uid)
            log.disconnected(peer)
        }
        let configuration = configuration
        let log = log
        let workers = workers
        let opened = ClientBootstrap(group: group)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 4)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let events = EventQueue()
                    let session = PeerSession(
                        peer: peer, entitlements: entitlements, keychain: keychain,
                        configuration: configuration, log: log, onEvent: { events.add($0, $1) })
                    try channel.pipeline.syncOperations.addHandler(
                        Connection(
                            session, workers,
                            requestLimit: configuration.limits.requestsPerConnection,
                            events: events, log: log, onEnd: onEnd))
                }
            }
            .withConnectedSocket(socket.handOn())
        opened.whenSuccess { [connections] in connections.add($0) }
        opened.whenFailure { _ in onEnd() }
    }

    // MARK: Time

    /// Locks and closes what no program uses.
    private func watch() {
        let limits = configuration.limits
        let workers = workers
        let keychains = keychains
        let log = log
        if let lockAfter = configuration.lockAfter {
            every(min(max(lockAfter / 4, .milliseconds(20)), .seconds(15))) {
                workers.run(for: 0) {
                    for user in keychains.lock(ifUnusedFor: lockAfter) {
                        log.note("locked for want of use: the keychain of uid \(user)")
                    }
                }
            }
        }
        if configuration.kind == .system {
            every(min(max(limits.idleTime / 4, .milliseconds(20)), .seconds(60))) {
                workers.run(for: 0) { keychains.closeIdle(since: limits.idleTime) }
            }
        }
    }

    private func every(_ interval: Duration, _ body: @escaping @Sendable () -> Void) {
        let amount = TimeAmount(interval)
        group.next().scheduleRepeatedTask(initialDelay: amount, delay: amount) { _ in body() }
    }
}
