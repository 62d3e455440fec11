// EtcdClient: requests to a cluster, each by as many tries as it takes within its deadline.
//   (1) A try has a short deadline; the next goes to the next node. After each round of nodes there
//       is a pause, longer from round to round.
//   (2) A request is sent again after a try without an answer only if carrying it out twice is the
//       same as once.
//   (3) A token that a node rejects is replaced by a new one. Requests that fail together for it
//       authenticate once.
//   (4) Failures of a kind that waiting doesn't cure, such as a wrong certificate, end the call
//       when every node has failed so.

#if Synchronization

import FoundationEssentials

/// A client of one cluster of etcd, for the keys of one circle. All calls can be made concurrently.
package actor EtcdClient {
    let configuration: EtcdConfiguration
    let transport: EtcdTransport
    /// The index of the node that answered last.
    private(set) var preferred = 0
    /// So many keys fit into an answer, as far as is known.
    var pageLimit = 1000
    private var token: String?
    private var authentication: Task<String, any Error>?

    /// Reads the certificates' files. Connections are made by the calls.
    ///
    /// - Throws: ``EtcdFailure`` with the reason ``EtcdFailure/Reason/misconfigured(_:)``.
    package init(_ configuration: EtcdConfiguration) throws {
        self.configuration = configuration
        transport = try EtcdTransport(configuration)
    }

    /// Ends all connections. Calls and watches that are under way, and later ones, are cancelled.
    ///
    /// It is done, too, some time after the last reference goes.
    package func shutDown() async { await transport.shutDown() }

    /// What a request got, and whether a try before the one that was answered was not.
    struct Answered<Answer: Sendable>: Sendable {
        let answer: Answer
        let afterUnanswered: Bool
    }

    enum Kind {
        /// It changes nothing.
        case read
        /// Carrying it out twice is the same as once.
        case repeatableWrite
        case otherWrite
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
                // A last try that is cut short would only leave another change in doubt.
                guard end - clock.now - (pause ?? .zero) > configuration.timing.tryDeadline / 4
                else { throw tries.failure(last, kind, at: asked) }
                if let pause { try await configuration.timing.pause(pause) }
            }
        }
    }

    /// One request to one node, with a token if there is a user.
    ///
    /// - Throws: ``EtcdTryFailure``, or `CancellationError`.
    func attempt<Answer>(
        _ method: EtcdMethod<Answer>, _ body: Data, at node: String, within limit: Duration
    ) async throws -> Answer {
        let token = try await token(at: node, within: limit)
        do {
            return try await transport.exchange(method, body, at: node, token: token, within: limit)
        } catch EtcdTryFailure.tokenRejected {
            try forget(token)
            throw EtcdTryFailure.tokenRejected
        }
    }

    // MARK: Authentication

    /// The token, which a node is asked for if there is none. nil: there is no user.
    func token(at node: String, within limit: Duration) async throws -> String? {
        guard let user = configuration.user else { return nil }
        if let token { return token }
        let task =
            authentication
            ?? Task { [transport] in
                guard let password = try? await user.password() else {
                    throw EtcdTryFailure.final(.unauthenticated)
                }
                let request = AuthenticationRequest(name: user.name, password: password)
                let token = try await transport.exchange(
                    .authenticate, EtcdTransport.encode(request), at: node, token: nil,
                    within: limit
                ).token
                // It becomes a field of HTTP.
                guard 1...4096 ~= token.utf8.count, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 })
                else { throw EtcdTryFailure.notCarriedOut(.malformed("a token of no known form")) }
                return token
            }
        authentication = task
        do {
            let token = try await task.value
            if authentication == task { (self.token, authentication) = (token, nil) }
            return token
        } catch EtcdTryFailure.unanswered(let reason) {
            if authentication == task { authentication = nil }
            // The request that needs the token was not sent.
            throw EtcdTryFailure.notCarriedOut(reason)
        } catch {
            if authentication == task { authentication = nil }
            throw error
        }
    }

    /// - Throws: ``EtcdTryFailure`` if there is no user who could authenticate anew.
    func forget(_ rejected: String?) throws {
        guard configuration.user != nil else { throw EtcdTryFailure.final(.unauthenticated) }
        if token == rejected { token = nil }
    }
}

/// The tries of one call: which node is next, and what the tries before have left behind.
struct EtcdTries {
    private let nodes: [String]
    private(set) var index: Int
    /// Whether the change that is asked for may have been made by a try before.
    private(set) var wasUnanswered = false
    private var failureCount = 0
    private var rejectedTokenCount = 0
    private var incurableCount = 0

    init(nodes: [String], first index: Int) { (self.nodes, self.index) = (nodes, index) }

    var node: String { nodes[index] }

    /// The failure of the call. The node is the one that is next, or another.
    func failure(
        _ reason: EtcdFailure.Reason, _ kind: EtcdClient.Kind, at node: String? = nil
    ) -> EtcdFailure {
        EtcdFailure(
            reason, node: node ?? self.node, mayHaveBeenApplied: wasUnanswered && kind != .read)
    }

    /// - Returns: The reason to give, should this have been the last try.
    /// - Throws: ``EtcdFailure`` if it was.
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
            guard kind != .otherWrite else { throw self.failure(last, kind) }
            reason = last
        }
        switch reason {
        case .untrusted, .malformed, .answerTooLarge: incurableCount += 1
        default: incurableCount = 0
        }
        // Twice at least: a node that is being stopped breaks off a handshake, too.
        guard incurableCount < max(2, nodes.count) else { throw self.failure(reason, kind) }
        return reason
    }

    /// Goes on to the next node; with a new token, to the same one.
    ///
    /// - Returns: After the last node of a round, the number of the round, from 1.
    mutating func advance(_ failure: EtcdTryFailure) -> Int? {
        if case .tokenRejected = failure, rejectedTokenCount == 1 { return nil }
        failureCount += 1
        index = (index + 1) % nodes.count
        return failureCount % nodes.count == 0 ? failureCount / nodes.count : nil
    }
}

#endif
