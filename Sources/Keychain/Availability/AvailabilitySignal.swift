// AvailabilitySignal: wakes the tasks that wait for a database to become available. It is sent when
// this process has unlocked a database, or removed its passcode, through `KeychainDatabase`.
//   (1) A signal is kept for the tasks that have subscribed. Therefore a task misses no signal if
//       it first subscribes, then checks whether its database is available, and then waits.
//   (2) A signal means "check again", not "available": it may be for another database.

import Synchronization

final class AvailabilitySignal: Sendable {
    static let shared = AvailabilitySignal()

    private struct State {
        var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// Returns a stream that yields an element after a signal; several signals may yield only one.
    /// The subscription ends when the task that iterates the stream is canceled, or when the stream
    /// is released.
    func subscribe() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.next += 1
            state.continuations[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.continuations.removeValue(forKey: number) }
        }
        return stream
    }

    func send() {
        // Yield outside the lock, because a termination handler acquires it.
        for continuation in state.withLock({ Array($0.continuations.values) }) {
            continuation.yield()
        }
    }

    /// The number of subscribers, for tests.
    var subscriberCount: Int { state.withLock { $0.continuations.count } }
}
