// EtcdClient: requests to a cluster. Each request is attempted until it succeeds, until too little
// time is left for another attempt, or until (3) or (4) ends it.
//   (1) Each attempt has a short deadline. The next attempt goes to the next node, except after the
//       first rejected token. After each round of nodes there is a pause, whose maximum doubles
//       from round to round up to a limit.
//   (2) All requests are idempotent, so a request is also sent again after an attempt without an
//       answer.
//   (3) A token that a node rejects is replaced by a new one. Requests that fail at the same time
//       because of the old token share one authentication. With n nodes, a call fails after
//       n + 3 rejections.
//   (4) A failure that doesn't depend on the node, such as a missing right, ends the call at once.
//       Other failures that waiting doesn't resolve, such as a wrong certificate, end the call
//       once there have been as many of them in a row as there are nodes; with a single node, two.

#if Synchronization

import FoundationEssentials

/// A client of one cluster of etcd, for the keys below one prefix. All calls can be made
/// concurrently.
///
/// Any call can also throw the error that the closure ``EtcdConfiguration/User/password`` threw.
package actor EtcdClient {
    let configuration: EtcdConfiguration
    let transport: EtcdTransport
    /// The index of the node at which a call last succeeded. The next call begins at this node.
    private(set) var preferred = 0
    /// An estimate of how many keys fit into an answer.
    var pageLimit = 1000
    private var token: String?
    /// The authentication that is under way, and the requests that wait for it.
    private var authentication: Task<Void, Never>?
    private var waiting: [UInt64: AsyncStream<Result<String, any Error>>.Continuation] = [:]
    private var nextWaiter: UInt64 = 0

    /// Reads the files of the certificates and the private key. Connections are opened by later
    /// calls.
    ///
    /// - Throws: ``EtcdFailure`` with the reason ``EtcdFailure/Reason/misconfigured(_:)``.
    package init(_ configuration: EtcdConfiguration) throws {
        self.configuration = configuration
        transport = try EtcdTransport(configuration)
    }

    /// Ends all connections. Current and later calls and watches are canceled.
    ///
    /// The connections also end some time after the last reference to the client is released.
    package func shutDown() async { await transport.shutDown() }

    /// The answer to a request, and whether an earlier attempt may have been carried out.
    struct Answered<Answer: Sendable>: Sendable {
        let answer: Answer
        let afterUnanswered: Bool
    }

    enum Kind {
        /// The request changes nothing.
        case read
        /// The request is idempotent: carrying it out twice has the same effect as once.
        case write
    }

    /// - Throws: ``EtcdFailure``, or `CancellationError`.
    func perform<Answer>(
        _ method: EtcdMethod<Answer>, _ message: some Encodable, _ kind: Kind = .read
    ) async throws -> Answered<Answer> {
        let body = try EtcdTransport.encode(message)
        let clock = ContinuousClock()
        let end = clock.now + configuration.timing.overallDeadline
        var tries = EtcdTries(nodes: configuration.nodes, first: preferred)
        while true {
            try Task.checkCancellation()
            let limit = min(configuration.timing.tryDeadline, end - clock.now)
            do {
                let answer = try await attempt(method, body, at: tries.node, within: limit)
                preferred = tries.index
                return Answered(answer: answer, afterUnanswered: tries.wasUnanswered)
            } catch let failure as EtcdTryFailure {
                let last = try tries.note(failure, kind)
                let asked = tries.node
                let pause = tries.advance(failure).map(configuration.timing.pauseLength(round:))
                // A last attempt with too little time would only make it uncertain whether the
                // change was made.
                guard end - clock.now - (pause ?? .zero) > configuration.timing.tryDeadline / 4
                else { throw tries.failure(last, kind, at: asked) }
                if let pause { try await configuration.timing.pause(pause) }
            }
        }
    }

    /// Sends one request to one node, with a token if a user is configured. `limit` includes the
    /// wait for the token.
    ///
    /// - Throws: ``EtcdTryFailure``, or `CancellationError`.
    func attempt<Answer>(
        _ method: EtcdMethod<Answer>, _ body: Data, at node: String, within limit: Duration
    ) async throws -> Answer {
        let end = ContinuousClock.now + limit
        let token = try await token(at: node, within: limit)
        let rest = end - .now
        // Too little time would only make it uncertain whether a change was made.
        guard rest > limit / 4 else { throw EtcdTryFailure.notCarriedOut(.deadline) }
        do {
            return try await transport.exchange(method, body, at: node, token: token, within: rest)
        } catch EtcdTryFailure.tokenRejected {
            try forget(token)
            throw EtcdTryFailure.tokenRejected
        }
    }

    // MARK: Authentication

    /// Returns the token, or `nil` if no user is configured. If there is no token yet, this method
    /// requests one from `node`, or waits for a request that is under way.
    func token(at node: String, within limit: Duration) async throws -> String? {
        guard let user = configuration.user else { return nil }
        let end = ContinuousClock.now + limit
        while true {
            if let token { return token }
            let isOwn = authentication == nil
            if isOwn { authenticate(user, at: node, within: limit) }
            do {
                return try await authenticated(within: end - .now)
            } catch EtcdTryFailure.final(let reason) {
                throw EtcdTryFailure.final(reason)
            } catch is EtcdTryFailure where !isOwn && ContinuousClock.now < end {
                // The authentication that was under way may have failed at another node, so try
                // again.
                continue
            } catch EtcdTryFailure.unanswered(let reason) {
                // The request that needs the token was not sent.
                throw EtcdTryFailure.notCarriedOut(reason)
            }
        }
    }

    /// Begins an authentication, for which other requests may wait too.
    private func authenticate(
        _ user: EtcdConfiguration.User, at node: String, within limit: Duration
    ) {
        authentication = Task {
            let result: Result<String, any Error>
            do {
                result = .success(try await newToken(of: user, at: node, within: limit))
            } catch {
                result = .failure(error)
            }
            token = try? result.get()
            authentication = nil
            for waiter in waiting.values {
                waiter.yield(result)
                waiter.finish()
            }
            waiting = [:]
        }
    }

    private func newToken(
        of user: EtcdConfiguration.User, at node: String, within limit: Duration
    ) async throws -> String {
        let request = AuthenticationRequest(name: user.name, password: try await user.password())
        let token = try await transport.exchange(
            .authenticate, EtcdTransport.encode(request), at: node, token: nil, within: limit
        ).token
        // The token becomes the value of an HTTP header field.
        guard 1...4096 ~= token.utf8.count, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
        else { throw EtcdTryFailure.notCarriedOut(.malformed("it has an invalid token")) }
        return token
    }

    /// Waits for the authentication that is under way. The wait ends at the deadline, or when this
    /// request is canceled: the closure that returns the password may take any time. The
    /// authentication itself continues, since other requests may wait for it.
    private func authenticated(within limit: Duration) async throws -> String {
        let (results, result) = AsyncStream.makeStream(of: Result<String, any Error>.self)
        let waiter = nextWaiter
        nextWaiter += 1
        waiting[waiter] = result
        defer { waiting[waiter] = nil }
        return try await withThrowingTaskGroup(of: String.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await result in results { return try result.get() }
                throw CancellationError()
            }
            group.addTask {
                try await Task.sleep(for: limit)
                throw EtcdTryFailure.notCarriedOut(.deadline)
            }
            guard let token = try await group.next() else { throw CancellationError() }
            return token
        }
    }

    /// - Throws: ``EtcdTryFailure`` if no user is configured who could authenticate again.
    func forget(_ rejected: String?) throws {
        guard configuration.user != nil else { throw EtcdTryFailure.final(.unauthenticated) }
        if token == rejected { token = nil }
    }
}

/// The attempts of one call or watch: the next node, and the results of the earlier attempts.
struct EtcdTries {
    private let nodes: [String]
    private(set) var index: Int
    /// Whether the request of an earlier attempt may have been carried out: there was no answer, or
    /// one that leaves it open.
    private(set) var wasUnanswered = false
    private var failureCount = 0
    private var rejectedTokenCount = 0
    private var incurableCount = 0

    init(nodes: [String], first index: Int) { (self.nodes, self.index) = (nodes, index) }

    var node: String { nodes[index] }

    /// The failure of the call. `node` is the node to report; by default, the current one.
    func failure(
        _ reason: EtcdFailure.Reason, _ kind: EtcdClient.Kind, at node: String? = nil
    ) -> EtcdFailure {
        EtcdFailure(
            reason, node: node ?? self.node, mayHaveBeenApplied: wasUnanswered && kind != .read)
    }

    /// - Returns: The reason to report if no further attempt is made.
    /// - Throws: ``EtcdFailure`` if another attempt is useless.
    mutating func note(
        _ failure: EtcdTryFailure, _ kind: EtcdClient.Kind
    ) throws -> EtcdFailure.Reason {
        let reason: EtcdFailure.Reason
        switch failure {
        case .final(let last): throw self.failure(last, kind)
        case .tokenRejected:
            rejectedTokenCount += 1
            guard rejectedTokenCount <= nodes.count + 2 else {
                throw self.failure(.unauthenticated, kind)
            }
            return .unauthenticated
        case .notCarriedOut(let last): reason = last
        case .unanswered(let last):
            wasUnanswered = true
            reason = last
        }
        switch reason {
        case .untrusted, .malformed, .answerTooLarge: incurableCount += 1
        default: incurableCount = 0
        }
        // A single such failure never ends the call, since a handshake can also fail because the
        // node is being stopped.
        guard incurableCount < max(2, nodes.count) else { throw self.failure(reason, kind) }
        return reason
    }

    /// Moves on to the next node. After the first rejected token, stays at the same node.
    ///
    /// - Returns: After the last node of a round, the number of the round, starting at 1; otherwise
    ///   `nil`.
    mutating func advance(_ failure: EtcdTryFailure) -> Int? {
        if case .tokenRejected = failure, rejectedTokenCount == 1 { return nil }
        failureCount += 1
        index = (index + 1) % nodes.count
        return failureCount % nodes.count == 0 ? failureCount / nodes.count : nil
    }
}

#endif
