// ServiceClient: the keychain of the service, the connections to it that no thread uses at the
// moment, and how long a client waits.
//   (1) Every call ends: with an answer, or after the time of its kind.
//   (2) A request whose connection ended is sent again where it was not carried out, which the
//       service says when it closes one, and once where it changes nothing. Otherwise the failure
//       says that it isn't known what became of it.
//   (3) A request has a connection to itself. Several threads have several. A connection is in the
//       pool or with one thread, never both.
//   (4) After a fork the child uses none of its parent's connections: answers would go to either.
//       After a change of the user id none of the earlier user's are used: the service goes by who
//       made a connection.

import Glibc
package import KeychainCore
package import KeychainWire
import Synchronization

/// A keychain behind a socket. Safe to use from many threads at once.
package final class ServiceClient: Sendable {
    /// Where the service listens, an absolute path.
    package let socketPath: String
    let options: ServiceOptions
    private let pool: ConnectionPool
    private let nextID = Atomic<UInt64>(2)
    private let lastWelcome = Mutex<(welcome: Welcome, holder: ConnectionHolder)?>(nil)
    let listener: ChangeListener

    /// Nothing is connected before the first request.
    package init(socketPath: String, options: ServiceOptions = ServiceOptions()) {
        self.socketPath = socketPath
        self.options = options
        pool = ConnectionPool(limit: options.idleConnectionCount)
        listener = ChangeListener(path: socketPath, options: options)
    }

    /// What the service said when it was last connected to: who this program is to it.
    /// - Throws: `notAvailable` where it can't be reached.
    package func welcome() throws(KeychainFailure) -> Welcome {
        if let last = lastWelcome.withLock({ $0 }), last.holder == .current { return last.welcome }
        let connection = try connect()
        defer { pool.putBack(connection) }
        return connection.welcome
    }

    /// How many connections are open and not in use.
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
        // The first connection may be one that was used before and is broken now, and the second
        // may break in the middle of a read. The third attempt is the last.
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
                throw KeychainFailure(.userCanceled, "The request was given up.")
            case .notCarriedOut: pool.discardAll()
            case .broken where R.code.isRead && !isRepeated:
                pool.discardAll()
                isRepeated = true
            case .timedOut:
                pool.discardAll()
                throw .unanswered(R.code, timedOut: true)
            case .tooLarge where R.code.isRead:
                pool.discardAll()
                throw .answerTooLarge(options.answerByteCount)
            case .broken, .unreadable, .tooLarge:
                pool.discardAll()
                throw .unanswered(R.code, timedOut: false)
            }
        }
        throw .serviceRefuses(socketPath)
    }
}

// MARK: - Connections

/// Whose a connection is: the process, and the user that the kernel names to the service.
struct ConnectionHolder: Hashable, Sendable {
    var processID: pid_t
    var userID: uid_t

    static var current: ConnectionHolder { .init(processID: getpid(), userID: geteuid()) }
}

final class ConnectionPool: Sendable {
    private struct State {
        /// The one used last is the last.
        var idle: [ServiceConnection] = []
        var holder: ConnectionHolder
    }

    private let limit: Int
    private let holder: @Sendable () -> ConnectionHolder
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: The most connections to keep.
    ///   - holder: The process that asks.
    init(limit: Int, holder: @escaping @Sendable () -> ConnectionHolder = { .current }) {
        self.limit = limit
        self.holder = holder
        state = Mutex(State(holder: holder()))
    }

    /// One that was used before. nil: there is none.
    func take() -> ServiceConnection? {
        state.withLock { state in
            forgetOthers(&state)
            return state.idle.popLast()
        }
    }

    func putBack(_ connection: ServiceConnection) {
        state.withLock { state in
            forgetOthers(&state)
            // It may have been made before a change of the user, by another thread.
            guard connection.holder == state.holder else { return }
            if state.idle.count < limit { state.idle.append(connection) }
        }
    }

    /// Closes them all: one was found broken, and so may be the others.
    func discardAll() {
        let discarded = state.withLock { state in
            defer { state.idle = [] }
            return state.idle
        }
        // They are closed here, and not under the lock.
        _ = discarded
    }

    var idleCount: Int { state.withLock { $0.idle.count } }

    private func forgetOthers(_ state: inout State) {
        let holder = holder()
        guard state.holder != holder else { return }
        // Closing a descriptor of this process leaves the parent's open.
        state.idle = []
        state.holder = holder
    }
}

// MARK: - Options

/// How a client speaks to the service.
package struct ServiceOptions: Sendable {
    /// The longest that connecting takes, with all that goes before the first request.
    package var connectionTime: Duration
    /// The longest that a request waits for its answer.
    package var requestTime: Duration
    /// The same for requests that derive keys from passwords, which is slow on purpose.
    package var derivationTime: Duration
    /// The same for requests that may go through every item: a check, a change of whatever matches,
    /// a search without a limit. Where they tell of their progress or give a part of the answer,
    /// they have as long again.
    package var surveyTime: Duration
    /// The most bytes of a message.
    package var messageByteCount: Int
    /// The most bytes of an answer that comes in several messages.
    package var answerByteCount: Int
    /// The most connections that are kept while no thread uses them.
    package var idleConnectionCount: Int
    /// Whether a user may run the service. Secrets go to no other user's service.
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

    /// The longest that a request waits for a sign of life.
    func time(for effort: RequestEffort) -> Duration {
        switch effort {
        case .few: requestTime
        case .derivation: derivationTime
        case .survey: surveyTime
        }
    }
}
