// BlockingPool: the thread pool on which the `async` forms of operations do their blocking work.
//   (1) At most `width` operations run at the same time. The others wait in FIFO order.
//   (2) An operation whose task was canceled before it started never starts.
//   (3) No thread of Swift's cooperative pool blocks on an operation.
//   (4) What an operation captured, for example a secret or a subscription, is released when the
//       operation ends, even if its thread then runs other operations, or when the operation is
//       canceled before it starts.

import Dispatch
import Synchronization

/// Runs blocking work on its own threads instead of the caller's executor.
final class BlockingPool: Sendable {
    /// The pool that all keychains share. A greater width would not make changes of an embedded
    /// database faster, because its writers take turns.
    static let shared = BlockingPool(width: 16)

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
        /// The index in `waiting` of the next operation to start.
        var next = 0
    }

    private let width: Int
    private let queue = DispatchQueue(
        label: "swift-keychain", qos: .userInitiated, attributes: .concurrent)
    private let state = Mutex(State())

    /// - Parameter width: The maximum number of operations that run at the same time, at least 1.
    init(width: Int) {
        self.width = width
    }

    /// The number of operations that wait for a thread, including canceled ones.
    var waitingCount: Int {
        state.withLock { $0.waiting.count - $0.next }
    }

    /// Runs `work` on a thread of the pool and returns its result.
    ///
    /// - Throws: `CancellationError`, immediately, if the task is canceled before the work starts;
    ///   otherwise the error that the work throws.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let ticket = Ticket(work)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard ticket.wait(continuation) else { return }
                submit { ticket.run() }
            }
        } onCancel: {
            ticket.cancel()
        }
    }

    private func submit(_ job: @escaping @Sendable () -> Void) {
        let startsNow = state.withLock { state in
            guard state.running < width else {
                state.waiting.append(job)
                return false
            }
            state.running += 1
            return true
        }
        guard startsNow else { return }
        queue.async {
            job()
            while let next = self.takeNext() { next() }
        }
    }

    private func takeNext() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.next < state.waiting.count else {
                state.waiting.removeAll()
                state.next = 0
                state.running -= 1
                return nil
            }
            let job = state.waiting[state.next]
            state.next += 1
            // Remove started jobs in large batches, so that each waiting job is moved only a few
            // times.
            if state.next >= 64 && 2 * state.next >= state.waiting.count {
                state.waiting.removeFirst(state.next)
                state.next = 0
            }
            return job
        }
    }
}

/// One operation: new, then waiting, and then started. It can be canceled until it starts.
private final class Ticket<Value: Sendable>: Sendable {
    typealias Work = @Sendable () throws -> Value
    typealias Continuation = CheckedContinuation<Value, any Error>

    private enum Phase {
        case new(Work)
        case waiting(Work, Continuation)
        case started
        case canceled
    }

    private let phase: Mutex<Phase>

    init(_ work: @escaping Work) {
        phase = Mutex(.new(work))
    }

    /// - Returns: `false` if the task was canceled. In that case, this function has resumed the
    ///   continuation with `CancellationError`.
    func wait(_ continuation: Continuation) -> Bool {
        let goesOn = phase.withLock { phase in
            guard case .new(let work) = phase else { return false }
            phase = .waiting(work, continuation)
            return true
        }
        if !goesOn { continuation.resume(throwing: CancellationError()) }
        return goesOn
    }

    /// Does the work, unless it was canceled, and resumes the task with the result.
    func run() {
        guard let (continuation, result) = finish() else { return }
        continuation.resume(with: result)
    }

    /// The work is released when this function returns, and so before the task is resumed.
    private func finish() -> (Continuation, Result<Value, any Error>)? {
        let started: (Work, Continuation)? = phase.withLock { phase in
            guard case .waiting(let work, let continuation) = phase else { return nil }
            phase = .started
            return (work, continuation)
        }
        return started.map { work, continuation in (continuation, Result(catching: work)) }
    }

    func cancel() {
        let waiting: Continuation? = phase.withLock { phase in
            switch phase {
            case .new:
                phase = .canceled
                return nil
            case .waiting(_, let continuation):
                phase = .canceled
                return continuation
            case .started, .canceled:
                return nil
            }
        }
        waiting?.resume(throwing: CancellationError())
    }
}
