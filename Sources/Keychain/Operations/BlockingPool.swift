// BlockingPool: the threads on which the asynchronous forms do their blocking work.
//   (1) At most `width` operations run at the same time; the others wait in order.
//   (2) An operation whose task was cancelled before it started never starts.
//   (3) No thread of Swift's cooperative pool waits for an operation.

import Dispatch
import Synchronization

/// Runs blocking work off the caller's executor.
final class BlockingPool: Sendable {
    /// The pool of all keychains. Beyond this width an embedded database gains nothing: its
    /// writers take turns.
    static let shared = BlockingPool(width: 16)

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
        /// Where the next one to start stands in `waiting`.
        var next = 0
    }

    private let width: Int
    private let queue = DispatchQueue(
        label: "swift-keychain", qos: .userInitiated, attributes: .concurrent)
    private let state = Mutex(State())

    /// - Parameter width: The most operations to run at the same time, 1 and up.
    init(width: Int) {
        self.width = width
    }

    /// Runs work and gives its result.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before the work starts, at once;
    ///   what the work throws.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let ticket = Ticket<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard ticket.wait(continuation) else { return }
                submit {
                    guard let continuation = ticket.start() else { return }
                    continuation.resume(with: Result(catching: work))
                }
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
            // Started jobs are let go in large lots, so that each is moved a few times at most.
            if state.next >= 64 && 2 * state.next >= state.waiting.count {
                state.waiting.removeFirst(state.next)
                state.next = 0
            }
            return job
        }
    }
}

/// The state of one operation: waiting, and then either started or cancelled.
private final class Ticket<Value: Sendable>: Sendable {
    private enum Phase {
        case new
        case waiting(CheckedContinuation<Value, any Error>)
        case started
        case cancelled
    }

    private let phase = Mutex(Phase.new)

    /// - Returns: Whether to go on; false if the task was cancelled, and knows.
    func wait(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let goesOn = phase.withLock { phase in
            if case .cancelled = phase { return false }
            phase = .waiting(continuation)
            return true
        }
        if !goesOn { continuation.resume(throwing: CancellationError()) }
        return goesOn
    }

    /// - Returns: Where to deliver the result; nil if there is nothing to do any more.
    func start() -> CheckedContinuation<Value, any Error>? {
        phase.withLock { phase in
            guard case .waiting(let continuation) = phase else { return nil }
            phase = .started
            return continuation
        }
    }

    func cancel() {
        let waiting: CheckedContinuation<Value, any Error>? = phase.withLock { phase in
            switch phase {
            case .new:
                phase = .cancelled
                return nil
            case .waiting(let continuation):
                phase = .cancelled
                return continuation
            case .started, .cancelled:
                return nil
            }
        }
        waiting?.resume(throwing: CancellationError())
    }
}
