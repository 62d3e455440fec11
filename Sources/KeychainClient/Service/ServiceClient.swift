// ServiceClient: the keychain of the service.
//   (1) Every call ends: with an answer, or after the time of its kind.
//   (2) A request whose connection broke is sent a second time where it changes nothing, or where
//       nothing of it was sent. Otherwise the failure says that it isn't known what became of it.
//   (3) A request has a connection to itself. Several threads have several.

package import KeychainModel
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

    // MARK: Requests

    /// Carries out a request.
    func perform(
        _ operation: ServiceOperation, as caller: AccessGroups = AccessGroups([]),
        progress: (Int, Int) -> Void = { _, _ in }
    ) throws(KeychainFailure) -> ServiceAnswer {
        let id = nextID.wrappingAdd(1, ordering: .relaxed).newValue
        let frame = try ServiceRequest(id: id, claim: caller, operation)
            .frame(limit: options.messageByteCount)
        // The first connection may be one that was used before and is broken now, and the second
        // may break in the middle of a read. The third attempt is the last.
        var isRepeated = false
        for attempt in 1...3 {
            let connection = try attempt == 1 ? take() : connect()
            let outcome = connection.exchange(
                frame, id: id, time: options.time(for: operation), progress: progress)
            if case .answered(let content) = outcome {
                pool.putBack(connection)
                return try answer(content)
            }
            // The others were connected to the same process.
            pool.discardAll()
            switch outcome {
            case .notSent: continue
            case .broken where operation.isRead && !isRepeated: isRepeated = true
            case .timedOut: throw .unanswered(operation, timedOut: true)
            case .broken, .unreadable, .answered: throw .unanswered(operation, timedOut: false)
            }
        }
        throw .serviceRefuses(socketPath)
    }

    private func answer(
        _ content: ServiceReply.Content
    ) throws(KeychainFailure) -> ServiceAnswer {
        switch content {
        case .answer(let answer): return answer
        case .failure(let failure): throw failure
        case .part, .changed, .progress: throw .serviceUnreadable(socketPath)
        }
    }

    private func take() throws(KeychainFailure) -> ServiceConnection {
        if let connection = pool.take() { return connection }
        return try connect()
    }

    private func connect() throws(KeychainFailure) -> ServiceConnection {
        let connection = try ServiceConnection(to: socketPath, options)
        lastWelcome.withLock { $0 = connection.welcome }
        return connection
    }

    // MARK: Answers

    func done(_ answer: ServiceAnswer) throws(KeychainFailure) {
        guard case .done = answer else { throw .serviceUnreadable(socketPath) }
    }

    func count(_ answer: ServiceAnswer) throws(KeychainFailure) -> Int {
        guard case .count(let count) = answer else { throw .serviceUnreadable(socketPath) }
        return count
    }

    func flag(_ answer: ServiceAnswer) throws(KeychainFailure) -> Bool {
        guard case .flag(let flag) = answer else { throw .serviceUnreadable(socketPath) }
        return flag
    }
}
