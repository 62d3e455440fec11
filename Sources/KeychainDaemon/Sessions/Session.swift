// Session: what one connection may ask for, and its requests.
//   (1) What a request claims is narrowed to what the peer is entitled to before anything is done.
//   (2) The first request is `hello`; before its answer there is no other.
//   (3) Every request ends in one answer and one line of the audit log.
//   (4) Methods block. They may be called by several threads at once.

import KeychainEngine
import KeychainModel
import KeychainWire
import Synchronization

/// Who is at the other end of a connection, as logs name it.
struct PeerName: Hashable, Sendable {
    let pid: Int32
    let uid: UInt32
    let executable: String

    /// Among whom the service's threads are shared: users, or the programs of the one user.
    func party(_ kind: DaemonConfiguration.Kind) -> UInt64 {
        switch kind {
        case .user: UInt64(truncatingIfNeeded: pid)
        case .system: UInt64(uid)
        }
    }
}

final class Session: Sendable {
    let peer: PeerName
    let keychain: ServedKeychain
    let kind: DaemonConfiguration.Kind
    let subscriptionLimit: Int
    let party: UInt64
    private let entitlements: Result<Entitlements, KeychainFailure>
    private let log: AuditLog
    private let state = Mutex(State())
    /// Sends what comes before an answer, or unasked.
    private let onEvent: @Sendable (ServiceReply) -> Void

    private struct State {
        var isGreeted = false
        var isEnded = false
        /// By the ids of the requests that made them.
        var subscriptions: [UInt64: any ChangeSubscription] = [:]
    }

    init(
        peer: PeerName, entitlements: Result<Entitlements, KeychainFailure>,
        keychain: ServedKeychain, configuration: DaemonConfiguration, log: AuditLog,
        onEvent: @escaping @Sendable (ServiceReply) -> Void
    ) {
        self.peer = peer
        self.entitlements = entitlements
        self.keychain = keychain
        self.kind = configuration.kind
        party = peer.party(configuration.kind)
        self.subscriptionLimit = configuration.limits.subscriptionsPerConnection
        self.log = log
        self.onEvent = onEvent
    }

    /// The connection is gone: the client is told of nothing any more.
    func end() {
        let subscriptions = state.withLock { state in
            state.isEnded = true
            defer { state.subscriptions = [:] }
            return state.subscriptions
        }
        for subscription in subscriptions.values { subscription.end() }
    }

    var isGreeted: Bool { state.withLock { $0.isGreeted } }

    // MARK: Requests

    /// Carries out a request.
    /// - Throws: `param` for one that ends the connection.
    func answer(_ request: ReceivedRequest) throws(KeychainFailure) -> ServiceReply {
        switch request.request {
        case .failure(let failure):
            log.request("unknown", nil, of: peer, status: failure.status, duration: .zero)
            return ServiceReply(id: request.id, .failure(failure))
        case .success(let request):
            return try answer(request)
        }
    }

    private func answer(_ request: ServiceRequest) throws(KeychainFailure) -> ServiceReply {
        let operation = request.operation
        if case .hello(let hello) = operation {
            guard !isGreeted else { throw .param("A second hello.") }
            return logged(request) { () throws(KeychainFailure) in try welcome(hello) }
        }
        guard isGreeted else { throw .param("A request before hello was answered.") }
        return logged(request) { () throws(KeychainFailure) in try perform(request) }
    }

    private func logged(
        _ request: ServiceRequest, _ body: () throws(KeychainFailure) -> ServiceAnswer
    ) -> ServiceReply {
        let start = ContinuousClock.now
        let content: ServiceReply.Content
        var status = Status(rawValue: 0)
        do throws(KeychainFailure) {
            content = .answer(try body())
        } catch {
            status = error.status
            content = .failure(error)
        }
        log.request(
            request.operation.name, request.operation.shape, of: peer, status: status,
            duration: start.duration(to: .now))
        return ServiceReply(id: request.id, content)
    }

    // MARK: Rights

    private func welcome(_ hello: ClientHello) throws(KeychainFailure) -> ServiceAnswer {
        guard hello.version == WireLimits.version else {
            throw KeychainFailure(
                .wrongVersion,
                "The keychain service speaks version \(WireLimits.version) of its protocol, and "
                    + "the program version \(hello.version). Update the older one.")
        }
        let entitlements = try entitlements.get()
        state.withLock { $0.isGreeted = true }
        return .welcome(
            Welcome(
                entitlements: entitlements, kind: kind == .user ? .user : .system,
                allowsAdministration: mayAdminister(entitlements)))
    }

    /// In a user's own service every program of the user may: it could stop the service as well.
    /// In that of the system the programs that the registry gives every group.
    private func mayAdminister(_ entitlements: Entitlements) -> Bool {
        kind == .user || entitlements.accessGroups.includesAll
    }

    /// The groups that a request may use.
    func caller(_ request: ServiceRequest) throws(KeychainFailure) -> AccessGroups {
        try entitlements.get().accessGroups.granted(to: request.claim)
    }

    /// - Throws: `missingEntitlement` for a peer that may not administer.
    func checkAdministration() throws(KeychainFailure) {
        guard mayAdminister(try entitlements.get()) else {
            throw .missingEntitlement(
                "This program may not administer keychains of the system's service: its "
                    + "entitlements lack the group \"*\".")
        }
    }

    // MARK: Changes

    func subscribe(_ id: UInt64, _ engine: KeychainEngine) throws(KeychainFailure) {
        let isTooMany = state.withLock { $0.subscriptions.count >= subscriptionLimit }
        guard !isTooMany else {
            throw KeychainFailure(
                .notAvailable, "The connection has \(subscriptionLimit) subscriptions already.")
        }
        let onEvent = onEvent
        let subscription = try engine.subscribe { onEvent(ServiceReply(id: id, .changed)) }
        let old = state.withLock { state -> (any ChangeSubscription)? in
            if state.isEnded { return subscription }
            return state.subscriptions.updateValue(subscription, forKey: id)
        }
        old?.end()
    }

    func unsubscribe(_ id: UInt64) {
        state.withLock { $0.subscriptions.removeValue(forKey: id) }?.end()
    }

    /// Tells how far a check is.
    func report(_ id: UInt64, _ done: Int, _ total: Int) {
        onEvent(ServiceReply(id: id, .progress(done: done, total: total)))
    }
}
