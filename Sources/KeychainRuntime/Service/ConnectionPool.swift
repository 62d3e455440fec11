// ConnectionPool: the connections that no thread uses at the moment.
//   (1) A connection is in the pool or with one thread, never both.
//   (2) After a fork the child uses none of its parent's: answers would go to either.

import Glibc
import KeychainCore
import Synchronization

final class ConnectionPool: Sendable {
    private struct State {
        /// The one used last is the last.
        var idle: [ServiceConnection] = []
        var processID: pid_t
    }

    private let limit: Int
    private let processID: @Sendable () -> pid_t
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: The most connections to keep.
    ///   - processID: Of the process that asks.
    init(limit: Int, processID: @escaping @Sendable () -> pid_t = { getpid() }) {
        self.limit = limit
        self.processID = processID
        state = Mutex(State(processID: processID()))
    }

    /// One that was used before. nil: there is none.
    func take() -> ServiceConnection? {
        state.withLock { state in
            forgetParent(&state)
            return state.idle.popLast()
        }
    }

    func putBack(_ connection: ServiceConnection) {
        state.withLock { state in
            forgetParent(&state)
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

    private func forgetParent(_ state: inout State) {
        let processID = processID()
        guard state.processID != processID else { return }
        // Closing a descriptor of this process leaves the parent's open.
        state.idle = []
        state.processID = processID
    }
}
