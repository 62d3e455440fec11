// PeerSession: what one connection may ask for, and its requests.
//   (1) What a request claims is narrowed to what the peer is entitled to before anything is done.
//   (2) The first request is `hello`; before its answer there is no other, and after one that was
//       refused none.
//   (3) Every request ends in one answer, one line of the log and one record of the audit. What it
//       reads is withheld where it has no record.
//   (4) Methods block. They may be called by several threads at once.

import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainWire
import Synchronization

/// Who is at the other end of a connection, as logs name it.
struct PeerName: Hashable, Sendable {
    let pid: Int32
    let uid: UInt32
    /// By what it is known: `executable`, `sandbox`, `command`, `unit` or `socket`.
    let key: String
    let name: String

    init(pid: Int32, uid: UInt32, identity: Identity) {
        self.pid = pid
        self.uid = uid
        (key, name) = identity.texts
    }

    /// Among whom the service's threads and connections are shared: users, or the programs of the
    /// one user. A program that starts more processes has no more of them.
    func party(_ kind: DaemonConfiguration.Kind) -> Party {
        switch kind {
        case .user:
            var hasher = Hasher()
            hasher.combine(key)
            hasher.combine(name)
            return .program(hasher.finalize())
        case .system: return .user(uid)
        }
    }
}

final class PeerSession: Sendable {
    let peer: PeerName
    let keychain: ServedKeychain
    let kind: DaemonConfiguration.Kind
    let subscriptionLimit: Int
    let answerByteCount: Int
    let party: Party
    private let rights: Result<Rights, KeychainFailure>
    private let rightsNow: @Sendable () -> Result<Rights, KeychainFailure>
    private let log: AuditLog
    private let audit: AuditTrail
    private let state = Mutex(State())
    /// Sends what comes before an answer, or unasked.
    private let onEvent: @Sendable (_ id: UInt64, FrameBuffer) -> Void

    private struct State {
        var isGreeted = false
        var isEnded = false
        /// By the ids of the requests that made them.
        var subscriptions: [UInt64: any ChangeSubscription] = [:]
    }

    init(
        peer: PeerName, rights: Result<Rights, KeychainFailure>,
        rightsNow: @escaping @Sendable () -> Result<Rights, KeychainFailure>,
        keychain: ServedKeychain, configuration: DaemonConfiguration, log: AuditLog,
        audit: AuditTrail,
        onEvent: @escaping @Sendable (_ id: UInt64, FrameBuffer) -> Void
    ) {
        self.peer = peer
        self.rights = rights
        self.rightsNow = rightsNow
        self.keychain = keychain
        self.kind = configuration.kind
        party = peer.party(configuration.kind)
        self.subscriptionLimit = configuration.limits.subscriptionsPerConnection
        answerByteCount = configuration.limits.answerByteCount
        self.log = log
        self.audit = audit
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

    var isSubscribed: Bool { state.withLock { !$0.subscriptions.isEmpty } }

    var isEnded: Bool { state.withLock { $0.isEnded } }

    // MARK: Requests

    /// Carries out anything but the first request.
    ///
    /// - Parameters:
    ///   - id: Of the client's message.
    ///   - operation: Its name, for logs.
    ///   - shape: What it is about, for logs.
    ///   - rule: Whether it needs a record in the audit.
    ///   - limit: The most bytes of the answer.
    ///   - body: What it is.
    /// - Returns: The frames of the answer, or of the failure.
    /// - Throws: `param` for one that comes before `hello` was answered.
    func logged<Answer: MessageCodable>(
        _ id: UInt64, _ operation: String, _ shape: String? = nil, _ rule: AuditRule = .free,
        limit: Int = .max,
        _ body: () throws(KeychainFailure) -> Answer
    ) throws(KeychainFailure) -> [FrameBuffer] {
        guard isGreeted else { throw .param("A request before hello was answered.") }
        return answered(id, operation, shape, rule, limit: limit, body)
    }

    /// A message that can't be carried out.
    func answerUnreadable(
        _ id: UInt64, _ failure: KeychainFailure
    ) throws(KeychainFailure) -> [FrameBuffer] {
        try logged(id, "unknown") { () throws(KeychainFailure) -> Done in throw failure }
    }

    private func answered<Answer: MessageCodable>(
        _ id: UInt64, _ operation: String, _ shape: String?, _ rule: AuditRule = .free,
        limit: Int = .max,
        _ body: () throws(KeychainFailure) -> Answer
    ) -> [FrameBuffer] {
        let start = ContinuousClock.now
        var frames: [FrameBuffer]
        var status = Status(rawValue: 0)
        let items = TouchedItems()
        var hasRoom = false
        do throws(KeychainFailure) {
            if rule != .free {
                try audit.begin()
                hasRoom = true
            }
            frames = try items.collecting { () throws(KeychainFailure) in
                try ServiceMessage.frames(id: id, try body(), limit: limit)
            }
        } catch {
            status = error.status
            frames = [ServiceMessage.frame(id: id, error)]
        }
        do throws(KeychainFailure) {
            let record = AuditRecord(
                user: peer.uid, process: peer.pid, identity: peer.name,
                operation: operation,
                itemClass: shape?.split(separator: " ").first.map(String.init),
                result: Int64(status.rawValue))
            try audit.end(record, items: items.references, hasRoom: hasRoom)
        } catch {
            // A change that was made is answered as one.
            if rule == .reads, status.rawValue == 0 {
                status = error.status
                frames = [ServiceMessage.frame(id: id, error)]
            }
        }
        keychain.note(operation, status, start.duration(to: .now))
        log.request(
            operation, shape, of: peer, status: status, duration: start.duration(to: .now))
        return frames
    }

    // MARK: Rights

    /// Answers the first request.
    /// - Throws: `param` where it isn't the first.
    func greet(_ hello: ClientHello, id: UInt64) throws(KeychainFailure) -> [FrameBuffer] {
        guard !isGreeted else { throw .param("A second hello.") }
        return answered(id, "hello", nil) { () throws(KeychainFailure) in
            let versions = WireLimits.versions
            guard hello.versions.overlaps(versions) else {
                throw KeychainFailure(
                    .wrongVersion,
                    "The keychain service speaks versions \(versions.lowerBound) to "
                        + "\(versions.upperBound) of its protocol, and the program versions "
                        + "\(hello.versions.lowerBound) to \(hello.versions.upperBound). Update the "
                        + "older one.")
            }
            let rights = try rights.get()
            state.withLock { $0.isGreeted = true }
            return Welcome(
                version: min(hello.versions.upperBound, versions.upperBound),
                entitlements: rights.entitlements, kind: kind == .user ? .user : .system,
                allowsAdministration: rights.mayAdminister)
        }
    }

    /// Whether the peer would get today what it got when it connected. It may read files.
    var hasSameRights: Bool { rightsNow() == rights }

    /// The groups that a request may use.
    func caller(_ claim: AccessGroups) throws(KeychainFailure) -> AccessGroups {
        try rights.get().caller(claim)
    }

    /// - Throws: `missingEntitlement` for a peer that may not administer.
    func checkAdministration() throws(KeychainFailure) {
        guard try rights.get().mayAdminister else {
            let isByUser = peer.key == "command" || peer.key == "unit"
            throw .missingEntitlement(
                "This program may not administer the keychain: "
                    + (isByUser
                        ? "the entitlements of its user lack the group \"*\"."
                        : "the service knows it by its \(peer.key), which gives groups and nothing "
                            + "else."))
        }
    }

    // MARK: Changes

    /// Tells of every change from now on, under the id of the message.
    func subscribe(_ id: UInt64) throws(KeychainFailure) {
        let isTooMany = state.withLock { $0.subscriptions.count >= subscriptionLimit }
        guard !isTooMany else {
            throw KeychainFailure(
                .notAvailable, "The connection has \(subscriptionLimit) subscriptions already.")
        }
        let onEvent = onEvent
        let subscription = try keychain.engine().subscribe {
            onEvent(id, ServiceMessage.frameOfChange(id: id))
        }
        let old = state.withLock { state -> (any ChangeSubscription)? in
            if state.isEnded { return subscription }
            return state.subscriptions.updateValue(subscription, forKey: id)
        }
        old?.end()
    }

    func unsubscribe(_ id: UInt64) {
        state.withLock { $0.subscriptions.removeValue(forKey: id) }?.end()
    }

    /// Sends a frame that comes before the answer to a message.
    func tell(_ frame: FrameBuffer, of id: UInt64) { onEvent(id, frame) }
}

// MARK: - Claims

extension AccessGroups {
    /// The groups of this entitlement that a client means that claims others: those that are in
    /// both, in the order of the claim, which says where new items go.
    ///
    /// A claim narrows and never widens. A claim of every group means every group of the
    /// entitlement; an entitlement to every group allows any claim. A claim says nothing of the
    /// program.
    func granted(to claim: AccessGroups) -> AccessGroups {
        var names = claim.names.filter { contains($0) }
        guard claim.includesAll else { return AccessGroups(names, program: program) }
        names += self.names
        return AccessGroups(
            includesAll ? names + [Self.wildcard] : names, program: program)
    }
}
