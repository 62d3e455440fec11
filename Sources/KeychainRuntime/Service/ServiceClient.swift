// ServiceClient: the keychain of the service.
//   (1) Every call ends: with an answer, or after the time of its kind.
//   (2) A request whose connection broke is sent a second time where it changes nothing, or where
//       nothing of it was sent. Otherwise the failure says that it isn't known what became of it.
//   (3) A request has a connection to itself. Several threads have several.

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
    private let lastWelcome = Mutex<Welcome?>(nil)
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
        if let welcome = lastWelcome.withLock({ $0 }) { return welcome }
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
        let connection = try ServiceConnection(to: socketPath, options)
        lastWelcome.withLock { $0 = connection.welcome }
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
            case .notSent: pool.discardAll()
            case .broken where R.code.isRead && !isRepeated:
                pool.discardAll()
                isRepeated = true
            case .timedOut:
                pool.discardAll()
                throw .unanswered(R.code, timedOut: true)
            case .broken, .unreadable:
                pool.discardAll()
                throw .unanswered(R.code, timedOut: false)
            }
        }
        throw .serviceRefuses(socketPath)
    }
}
