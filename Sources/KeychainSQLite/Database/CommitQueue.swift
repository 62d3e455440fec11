// CommitQueue: group commit for the writes of several threads.
//   (1) Writes are carried out one at a time, in the order of arrival.
//   (2) One thread at a time is the leader. It carries out its own write and then, in the same
//       transaction, waiting ones, and commits. The other threads sleep until their write has ended
//       or they become the leader.
//   (3) The next thread becomes the leader before any thread is notified of the commit, so that the
//       disk isn't idle while threads wake up.
//   (4) A leader waits for as many writes as took part in the last commit or were waiting when it
//       ended, but at most half as long as that commit took. A thread that makes one write after
//       another usually arrives within this time. If the leader didn't wait, that thread would miss
//       this commit and have to wait for its end.
//   (5) A write that must not share a commit is carried out by its own thread.
//   (6) A write that doesn't compete with others, and whose predecessor didn't either, is not
//       delayed and costs a few uncontended locks.

import Dispatch
import KeychainCore
import Synchronization

/// A write of one thread, which another thread may carry out.
///
/// `@unchecked`: no lock is needed, because one thread at a time has access. The thread of the
/// write has access before it enters the queue and after `turn` was signaled. In between, the
/// leader has access.
final class QueuedWrite: @unchecked Sendable {
    typealias Body = (inout StoreTransaction) throws(KeychainFailure) -> Void

    /// The generation of the keybag whose keys `body` uses.
    let keybagGeneration: UInt64
    /// The time until which the write waits for other processes if it is the first of its commit.
    /// The wait in the queue doesn't extend this time.
    let deadline: ContinuousClock.Instant
    /// Whether the write must not share its commit with others.
    let isAlone: Bool
    private var body: Body?
    /// The error of the write. `nil` if it succeeded, or if it wasn't carried out because the
    /// keybag has changed.
    var failure: KeychainFailure?
    fileprivate var turn: DispatchSemaphore?
    fileprivate var hasEnded = false

    init(
        keybagGeneration: UInt64, deadline: ContinuousClock.Instant, isAlone: Bool = false,
        _ body: @escaping Body
    ) {
        self.isAlone = isAlone
        self.keybagGeneration = keybagGeneration
        self.deadline = deadline
        self.body = body
    }

    /// Returns the body at the first call and `nil` later. The body is only borrowed from the
    /// thread of the write, so nothing else may retain it when the write has ended.
    func take() -> Body? {
        defer { body = nil }
        return body
    }
}

final class CommitQueue: Sendable {
    private struct State {
        var isLed = false
        var waiting: [QueuedWrite] = []
        /// Signaled when a write arrives while the leader waits for one.
        var arrival: DispatchSemaphore?
        /// The number of writes in the last commit, plus the number waiting when it ended.
        var recentCount = 1
        var recentNanoseconds = 0
    }

    private let state = Mutex(State())

    /// Waits until another thread has carried out the write, or this thread becomes the leader.
    ///
    /// - Returns: Whether this thread is the leader. If so, it has to carry out the write and call
    ///   ``passOn()``.
    func enter(_ write: QueuedWrite) -> Bool {
        let turn = state.withLock { state -> DispatchSemaphore? in
            guard state.isLed else {
                state.isLed = true
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            write.turn = turn
            state.waiting.append(write)
            state.arrival?.signal()
            return turn
        }
        turn?.wait()
        return !write.hasEnded
    }

    /// Called by the leader: takes the write that has waited longest. The leader has to carry it
    /// out and end it.
    ///
    /// - Parameters:
    ///   - count: The number of writes in the commit so far.
    ///   - start: When the leader began to take writes from the queue.
    /// - Returns: `nil` if that write must not share a commit, or if no write is waiting and none
    ///   is expected or arrived in time.
    func next(behind count: Int, since start: DispatchTime) -> QueuedWrite? {
        if let write = first() { return write }
        let expected = state.withLock { state -> (arrival: DispatchSemaphore, by: DispatchTime)? in
            let deadline = start + .nanoseconds(state.recentNanoseconds / 2)
            guard state.recentCount > count, deadline > .now() else { return nil }
            let arrival = DispatchSemaphore(value: 0)
            // A write may have arrived since `first()` was called.
            if !state.waiting.isEmpty { arrival.signal() }
            state.arrival = arrival
            return (arrival, deadline)
        }
        guard let expected else { return nil }
        _ = expected.arrival.wait(timeout: expected.by)
        return first()
    }

    private func first() -> QueuedWrite? {
        state.withLock { state in
            state.arrival = nil
            guard let first = state.waiting.first, !first.isAlone else { return nil }
            return state.waiting.removeFirst()
        }
    }

    /// Called by the leader: records the size and duration of its commit for the next leader.
    func note(count: Int, nanoseconds: Int) {
        state.withLock { state in
            state.recentCount = count + state.waiting.count
            state.recentNanoseconds = nanoseconds
        }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Makes the thread whose write has waited longest the leader. If no write is waiting, the next
    /// thread that enters becomes the leader.
    func passOn() {
        let turn = state.withLock { state -> DispatchSemaphore? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().turn }
            state.isLed = false
            return nil
        }
        turn?.signal()
    }

    /// Wakes the thread of a write that another thread has dealt with. The caller must not access
    /// the write afterwards.
    func end(_ write: QueuedWrite) {
        _ = write.take()
        write.hasEnded = true
        write.turn?.signal()
    }
}
