// PeerSession: the rights of one connection, and its requests.
//   (1) The claim of a request is narrowed to the client's entitlements before the request is
//       carried out.
//   (2) The first request is `hello`. No other request is accepted before `hello` is answered, and
//       none after a refused `hello`.
//   (3) Each request has one answer, one line in the log and one record in the audit. If the record
//       can't be written, the result of a read is withheld.
//   (4) Methods may wait for other requests and processes, except `answerAtOnce`. Several threads
//       may call them at once.

import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainWire
import Synchronization

/// The peer of a connection, as logs name it.
struct PeerName: Hashable, Sendable {
    let pid: Int32
    let uid: UInt32
    /// The kind of identity: `executable`, `sandbox`, `command`, `unit` or `socket`.
    let key: String
    let name: String

    init(pid: Int32, uid: UInt32, identity: Identity) {
        self.pid = pid
        self.uid = uid
        (key, name) = identity.texts
    }

    /// The party of the peer: in the machine's service its user, in a user's service its program. A
    /// program gains nothing by starting more processes.
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
    /// Sends a message that isn't an answer: the progress of a request, or the report of a change.
    private let onEvent: @Sendable (_ id: UInt64, FrameBuffer) -> Void

    private struct State {
        var isGreeted = false
        var isEnded = false
        /// By the id of the request that created the subscription.
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

    /// Ends all subscriptions, since the connection is closed.
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

    /// Carries out any request but the first, and logs it.
    ///
    /// - Parameters:
    ///   - id: The id of the client's message.
    ///   - operation: The name of the operation, for logs.
    ///   - shape: The class and attribute names of the request, for logs.
    ///   - rule: What happens to the request if its record in the audit can't be written.
    ///   - limit: The maximum size of the answer in bytes.
    ///   - body: Carries out the request.
    /// - Returns: The frames of the answer or of the failure.
    /// - Throws: `param` if `hello` hasn't been answered yet.
    func logged<Answer: MessageCodable>(
        _ id: UInt64, _ operation: String, _ shape: String? = nil, _ rule: AuditRule = .free,
        limit: Int = .max,
        _ body: () throws(KeychainFailure) -> Answer
    ) throws(KeychainFailure) -> [FrameBuffer] {
        guard isGreeted else { throw .param("A request arrived before hello was answered.") }
        return answered(id, operation, shape, rule, limit: limit, body)
    }

    /// Answers a message that can't be carried out.
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
        let items = TouchedItems()
        var hasRoom = false
        let result: Result<[FrameBuffer], KeychainFailure>
        do throws(KeychainFailure) {
            if rule != .free {
                try audit.begin()
                hasRoom = true
            }
            result = .success(
                try items.collecting { () throws(KeychainFailure) in
                    try ServiceMessage.frames(id: id, try body(), limit: limit)
                })
        } catch {
            result = .failure(error)
        }
        let request = Answered(
            operation: operation, shape: shape, rule: rule, start: start, hasRoom: hasRoom)
        return recorded(request, id, items.references, result)
    }

    /// A request that was carried out or has failed.
    private struct Answered {
        let operation: String
        let shape: String?
        let rule: AuditRule
        let start: ContinuousClock.Instant
        let hasRoom: Bool
    }

    /// Records and logs a request that was carried out or has failed.
    /// - Returns: The frames of the answer or of the failure.
    private func recorded(
        _ request: Answered, _ id: UInt64, _ items: [ItemReference],
        _ result: Result<[FrameBuffer], KeychainFailure>
    ) -> [FrameBuffer] {
        var result = result
        do throws(KeychainFailure) {
            try audit.end(
                record(of: request, result.status), items: items, hasRoom: request.hasRoom)
        } catch {
            // A change that was made is reported as successful in any case.
            if request.rule == .reads, case .success = result { result = .failure(error) }
        }
        note(request, result.status)
        return switch result {
        case .success(let frames): frames
        case .failure(let failure): [ServiceMessage.frame(id: id, failure)]
        }
    }

    private func record(of request: Answered, _ status: Status) -> AuditRecord {
        AuditRecord(
            user: peer.uid, process: peer.pid, identity: peer.name, operation: request.operation,
            itemClass: request.shape?.split(separator: " ").first.map(String.init),
            result: Int64(status.rawValue))
    }

    /// Counts and logs a request.
    private func note(_ request: Answered, _ status: Status) {
        let duration = request.start.duration(to: .now)
        keychain.note(request.operation, status, duration)
        log.request(
            request.operation, request.shape, of: peer, status: status, duration: duration)
    }

    /// Answers a request for the secret of one item, if the request doesn't have to wait for
    /// another request or process. This method may wait for reads from the disk, and for two small
    /// writes of the audit.
    ///
    /// - Returns: The frames of the answer; `nil` if the request wasn't carried out.
    func answerAtOnce(
        _ request: FindItems, _ claim: AccessGroups, id: UInt64
    ) -> [FrameBuffer]? {
        let start = ContinuousClock.now
        guard isGreeted, let engine = keychain.engineAtOnce, let caller = try? caller(claim),
            audit.beginAtOnce()
        else { return nil }
        let answered = Answered(
            operation: FindItems.code.name, shape: request.shape, rule: .reads, start: start,
            hasRoom: true)
        let success = Status(rawValue: 0)
        // If any of these steps fails, the client has received nothing, and the request can be
        // carried out anew.
        guard let item = engine.secretAtOnce(request, as: caller),
            let frames = try? ServiceMessage.frames(id: id, [item], limit: answerByteCount),
            audit.endAtOnce(record(of: answered, success), items: [item.reference])
        else {
            audit.cancel()
            return nil
        }
        if item.neededUnlock { keychain.noteUse() }
        note(answered, success)
        return frames
    }

    // MARK: Rights

    /// Answers `hello`.
    /// - Throws: `param` if it isn't the first request.
    func greet(_ hello: ClientHello, id: UInt64) throws(KeychainFailure) -> [FrameBuffer] {
        guard !isGreeted else { throw .param("A second hello arrived.") }
        return answered(id, "hello", nil) { () throws(KeychainFailure) in
            let versions = WireLimits.versions
            guard hello.versions.overlaps(versions) else {
                throw KeychainFailure(
                    .wrongVersion,
                    "The keychain service speaks versions \(versions.lowerBound) to "
                        + "\(versions.upperBound) of its protocol, and the program versions "
                        + "\(hello.versions.lowerBound) to \(hello.versions.upperBound). Update "
                        + "the older one.")
            }
            let rights = try rights.get()
            state.withLock { $0.isGreeted = true }
            return Welcome(
                version: min(hello.versions.upperBound, versions.upperBound),
                entitlements: rights.entitlements, kind: kind == .user ? .user : .system,
                allowsAdministration: rights.mayAdminister)
        }
    }

    /// Whether the peer would have the same rights if it connected now. This may read files.
    var hasSameRights: Bool { rightsNow() == rights }

    /// The access groups that a request with this claim may use.
    func caller(_ claim: AccessGroups) throws(KeychainFailure) -> AccessGroups {
        try rights.get().caller(claim)
    }

    /// - Throws: `missingEntitlement` if the peer may not administer the keychain.
    func checkAdministration() throws(KeychainFailure) {
        guard try rights.get().mayAdminister else {
            let isByUser = peer.key == "command" || peer.key == "unit"
            throw .missingEntitlement(
                "This program may not administer the keychain: "
                    + (isByUser
                        ? "the entitlements of its user or unit lack the group \"*\"."
                        : "the service identifies it by its \(peer.key), which grants access "
                            + "groups only."))
        }
    }

    // MARK: Changes

    /// Reports changes from now on, under the id of the client's message. Changes in quick
    /// succession can be reported together.
    func subscribe(_ id: UInt64) throws(KeychainFailure) {
        let onEvent = onEvent
        let subscription = try keychain.engine().subscribe {
            onEvent(id, ServiceMessage.frameOfChange(id: id))
        }
        let (isTooMany, old) = state.withLock { state -> (Bool, (any ChangeSubscription)?) in
            if state.isEnded { return (false, subscription) }
            // The count is checked under the same lock as the insertion, since requests are carried
            // out in parallel.
            guard state.subscriptions.count < subscriptionLimit else { return (true, subscription) }
            return (false, state.subscriptions.updateValue(subscription, forKey: id))
        }
        old?.end()
        guard !isTooMany else {
            throw KeychainFailure(
                .notAvailable, "The connection has \(subscriptionLimit) subscriptions already.")
        }
    }

    func unsubscribe(_ id: UInt64) {
        state.withLock { $0.subscriptions.removeValue(forKey: id) }?.end()
    }

    /// Sends a frame that precedes the answer to a message.
    func tell(_ frame: FrameBuffer, of id: UInt64) { onEvent(id, frame) }
}

extension Result<[FrameBuffer], KeychainFailure> {
    fileprivate var status: Status {
        switch self {
        case .success: Status(rawValue: 0)
        case .failure(let failure): failure.status
        }
    }
}

// MARK: - Claims

extension AccessGroups {
    /// The groups that these entitlements grant to a client with the given claim: the groups that
    /// are in the entitlements and in the claim. They have the order of the claim, which determines
    /// the group of new items.
    ///
    /// A claim can only narrow the entitlements. A claim of all groups stands for all groups of the
    /// entitlements. Entitlements to all groups allow any claim. The program is taken from the
    /// entitlements, never from the claim.
    func granted(to claim: AccessGroups) -> AccessGroups {
        var names = claim.names.filter { contains($0) }
        guard claim.includesAll else { return AccessGroups(names, program: program) }
        names += self.names
        return AccessGroups(
            includesAll ? names + [Self.wildcard] : names, program: program)
    }
}
