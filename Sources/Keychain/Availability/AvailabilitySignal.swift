// AvailabilitySignal: tells those who wait in this process that a keychain was unlocked.
//   (1) Who has subscribed before a signal gets it; nothing is lost between a probe and a wait.
//   (2) A signal says "look again", not "available": it can come for another database.

import Synchronization

final class AvailabilitySignal: Sendable {
    static let shared = AvailabilitySignal()

    private struct State {
        var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    /// A stream that has an element once there was a signal. It ends with its task.
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
        // Outside the lock: a termination handler takes it.
        for continuation in state.withLock({ Array($0.continuations.values) }) {
            continuation.yield()
        }
    }

    /// How many wait. For tests.
    var subscriberCount: Int { state.withLock { $0.continuations.count } }
}
