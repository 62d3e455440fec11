// ServiceClient: the keychain of a service, the pool of idle connections to it, and the timeouts.
//   (1) Every call ends: with an answer, with a failure, or when no message has arrived within the
//       timeout for its kind of request, see `ServiceOptions`.
//   (2) If the connection ends before the answer, the request is sent again if the service reported
//       that it wasn't carried out, or if it wasn't sent completely, but at most three times in
//       all. A request that changes nothing in the keychain is also sent again once if its outcome
//       is unknown. Any other request then fails, and the failure says that the outcome is unknown.
//   (3) A request has a connection to itself, so several threads use several connections. A
//       connection is either in the pool or used by one thread.
//   (4) After a fork, the child uses none of its parent's connections, since either process could
//       receive the answers. After a change of the user id, no connection of the earlier user is
//       used, since the service identifies a client by the user that made the connection.

import Glibc
package import KeychainCore
package import KeychainWire
import Synchronization

/// The keychain of a service. Safe to use from many threads at once.
package final class ServiceClient: Sendable {
    /// The path of the service's socket, absolute.
    package let socketPath: String
    let options: ServiceOptions
    private let pool: ConnectionPool
    private let nextID = Atomic<UInt64>(2)
    private let lastWelcome = Mutex<(welcome: Welcome, holder: ConnectionHolder)?>(nil)
    let listener: ChangeListener

    /// Creates a client, which connects at the first request.
    package init(socketPath: String, options: ServiceOptions = ServiceOptions()) {
        self.socketPath = socketPath
        self.options = options
        pool = ConnectionPool(limit: options.idleConnectionCount)
        listener = ChangeListener(path: socketPath, options: options)
    }

    /// The greeting of the service, with this program's entitlements. If this process, with its
    /// current user, has received no greeting yet, the client connects.
    /// - Throws: The errors of connecting, such as `notAvailable` if the service can't be reached.
    package func welcome() throws(KeychainFailure) -> Welcome {
        if let last = lastWelcome.withLock({ $0 }), last.holder == .current { return last.welcome }
        let connection = try connect()
        defer { pool.putBack(connection) }
        return connection.welcome
    }

    /// The number of idle connections.
    package var idleConnectionCount: Int { pool.idleCount }

    private func take() throws(KeychainFailure) -> ServiceConnection {
        if let connection = pool.take() { return connection }
        return try connect()
    }

    private func connect() throws(KeychainFailure) -> ServiceConnection {
        let holder = ConnectionHolder.current
        let connection = try ServiceConnection(to: socketPath, options)
        lastWelcome.withLock { $0 = (connection.welcome, holder) }
        return connection
    }
}

extension ServiceClient: RequestHandler {
    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        try exchange(request, as: caller) { _ in true }
    }

    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try exchange(request, as: caller, progress: progress)
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        try listener.subscribe(handler)
    }

    private func exchange<R: Request>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        let frame = try ClientMessage.frame(
            of: request, id: id, claim: caller, limit: options.messageByteCount)
        // The first connection may be an idle one that has broken in the meantime. The second
        // connection may break after it was used to send a request that only reads. The third
        // attempt is the last.
        var isRepeated = false
        for attempt in 1...3 {
            let connection = try attempt == 1 ? take() : connect()
            let outcome = connection.exchange(
                frame, id: id, time: options.time(for: request.effort), for: R.Answer.self,
                progress: progress)
            switch outcome {
            case .answered(let answer):
                pool.putBack(connection)
                return answer
            case .failed(let failure):
                pool.putBack(connection)
                throw failure
            case .givenUp:
                throw KeychainFailure(.userCanceled, "The request was canceled.")
            case .notCarriedOut: pool.discardAll()
            case .broken where R.code.isRead && !isRepeated:
                pool.discardAll()
                isRepeated = true
            case .timedOut:
                pool.discardAll()
                throw .unanswered(R.code, .late)
            case .tooLarge where R.code.isRead:
                pool.discardAll()
                throw .answerTooLarge(options.answerByteCount)
            case .unreadable where R.code.isRead:
                pool.discardAll()
                throw .serviceUnreadable(socketPath)
            case .broken:
                pool.discardAll()
                throw .unanswered(R.code, .broken)
            case .unreadable:
                pool.discardAll()
                throw .unanswered(R.code, .unreadable)
            case .tooLarge:
                pool.discardAll()
                throw .unanswered(R.code, .tooLarge)
            }
        }
        throw .serviceRefuses(socketPath)
    }
}

// MARK: - Connections

/// The owner of a connection: the process, and the user that the kernel reports to the service.
struct ConnectionHolder: Hashable, Sendable {
    var processID: pid_t
    var userID: uid_t

    static var current: ConnectionHolder { .init(processID: getpid(), userID: geteuid()) }
}

final class ConnectionPool: Sendable {
    private struct State {
        /// In the order of use, the most recently used one last.
        var idle: [ServiceConnection] = []
        var holder: ConnectionHolder
    }

    private let limit: Int
    private let holder: @Sendable () -> ConnectionHolder
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: The maximum number of idle connections.
    ///   - holder: Returns the current owner.
    init(limit: Int, holder: @escaping @Sendable () -> ConnectionHolder = { .current }) {
        self.limit = limit
        self.holder = holder
        state = Mutex(State(holder: holder()))
    }

    /// Takes an idle connection. `nil` if there is none.
    func take() -> ServiceConnection? {
        state.withLock { state in
            forgetOthers(&state)
            return state.idle.popLast()
        }
    }

    func putBack(_ connection: ServiceConnection) {
        state.withLock { state in
            forgetOthers(&state)
            // Another thread may have made the connection before the process changed its user.
            guard connection.holder == state.holder else { return }
            if state.idle.count < limit { state.idle.append(connection) }
        }
    }

    /// Closes all idle connections: if one is broken, the others probably are too.
    func discardAll() {
        let discarded = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        // The connections are closed here, after the lock is released.
        _ = discarded
    }

    var idleCount: Int { state.withLock { $0.idle.count } }

    private func forgetOthers(_ state: inout State) {
        let holder = holder()
        guard state.holder != holder else { return }
        // Closing the file descriptor in this process doesn't close it in the parent.
        state.idle = []
        state.holder = holder
    }
}

// MARK: - Options

/// Options of a client of the service.
package struct ServiceOptions: Sendable {
    /// The timeout for connecting, including the handshake and the greeting.
    package var connectionTime: Duration
    /// The timeout for the answer to a request.
    package var requestTime: Duration
    /// The same for requests that derive keys from passwords, which is deliberately slow.
    package var derivationTime: Duration
    /// The same for requests that may process every item: a check, a change of all matching items,
    /// a search without a limit. Each progress message or part of the answer restarts the timeout.
    package var surveyTime: Duration
    /// The maximum size of a message in bytes.
    package var messageByteCount: Int
    /// The maximum size in bytes of an answer in several messages.
    package var answerByteCount: Int
    /// The maximum number of idle connections.
    package var idleConnectionCount: Int
    /// Whether the service may run as the given user. Nothing is sent to the service of any other
    /// user.
    package var trusts: @Sendable (_ userID: UInt32) -> Bool

    package init(
        connectionTime: Duration = .seconds(10), requestTime: Duration = .seconds(60),
        derivationTime: Duration = .seconds(180), surveyTime: Duration = .seconds(600),
        messageByteCount: Int = WireLimits.messageByteCount,
        answerByteCount: Int = WireLimits.answerByteCount, idleConnectionCount: Int = 8,
        trusts: @escaping @Sendable (_ userID: UInt32) -> Bool = { $0 == 0 || $0 == geteuid() }
    ) {
        self.connectionTime = connectionTime
        self.requestTime = requestTime
        self.derivationTime = derivationTime
        self.surveyTime = surveyTime
        self.messageByteCount = messageByteCount
        self.answerByteCount = answerByteCount
        self.idleConnectionCount = idleConnectionCount
        self.trusts = trusts
    }

    /// The timeout until the next message about a request.
    func time(for effort: RequestEffort) -> Duration {
        switch effort {
        case .few: requestTime
        case .derivation: derivationTime
        case .survey: surveyTime
        }
    }
}
