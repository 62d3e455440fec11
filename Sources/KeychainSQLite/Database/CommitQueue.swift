// CommitQueue: writes of several threads that share a commit.
//   (1) Writes are carried out one at a time, in the order in which they came.
//   (2) One thread at a time leads: it carries out its own write and then those that wait, and
//       commits. The others sleep until their writes have ended or it is their turn to lead.
//   (3) The lead is passed on before any thread is told of a commit, so that the disk doesn't wait
//       for those that are.
//   (4) A leader waits for as many writes as met the last commit, at most half as long as that
//       took: a thread that makes one write after another is back by then, and would else miss this
//       commit and wait for all of it.
//   (5) A write that is alone in its commit is led by its own thread.
//   (6) A write that meets no other, as the one before it, doesn't wait, and costs a few
//       uncontended locks.

import Dispatch
import KeychainCore
import Synchronization

/// A write of one thread, which another thread may carry out.
///
/// `@unchecked`: no lock is needed, for one thread at a time has it. Its own has it until it enters
/// the queue and after `turn` was signalled; in between the leader has it.
final class QueuedWrite: @unchecked Sendable {
    typealias Body = (inout StoreTransaction) throws(KeychainFailure) -> Void

    /// Of the keybag whose keys `body` uses.
    let keybagGeneration: UInt64
    /// Until when it waits for other processes, its time in the queue included.
    let deadline: ContinuousClock.Instant
    /// Whether it shares its commit with no other.
    let isAlone: Bool
    private var body: Body?
    /// Why nothing of it is in the database.
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

    /// What is to be done, once. Its thread has only lent it, and takes it along when the write has
    /// ended: nothing else may hold it then.
    func take() -> Body? {
        defer { body = nil }
        return body
    }
}

final class CommitQueue: Sendable {
    private struct State {
        var isLed = false
        var waiting: [QueuedWrite] = []
        /// Signalled when a write comes, while the leader waits for one.
        var arrival: DispatchSemaphore?
        /// How many writes met the last commit: those in it, and those that waited at its end.
        var recentCount = 1
        var recentNanoseconds = 0
    }

    private let state = Mutex(State())

    /// Waits until another thread has carried the write out, or this one leads.
    ///
    /// - Returns: Whether this thread leads. Then it carries the write out, and calls ``passOn()``.
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

    /// For the leader: the write that has waited longest, to be carried out and ended by it.
    ///
    /// - Parameters:
    ///   - count: How many writes are in the commit so far.
    ///   - start: When the leader began to ask.
    /// - Returns: nil where none waits, and no more are expected or none came in time.
    func next(behind count: Int, since start: DispatchTime) -> QueuedWrite? {
        if let write = first() { return write }
        let expected = state.withLock { state -> (arrival: DispatchSemaphore, by: DispatchTime)? in
            let deadline = start + .nanoseconds(state.recentNanoseconds / 2)
            guard state.recentCount > count, deadline > .now() else { return nil }
            let arrival = DispatchSemaphore(value: 0)
            // One may have come between the two looks.
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

    /// For the leader: what the next one can expect.
    func note(count: Int, nanoseconds: Int) {
        state.withLock { state in
            state.recentCount = count + state.waiting.count
            state.recentNanoseconds = nanoseconds
        }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Makes the thread lead whose write has waited longest.
    func passOn() {
        let turn = state.withLock { state -> DispatchSemaphore? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().turn }
            state.isLed = false
            return nil
        }
        turn?.signal()
    }

    /// Lets the thread go on whose write was carried out, or was to be. The write is not the
    /// caller's any more.
    func end(_ write: QueuedWrite) {
        _ = write.take()
        write.hasEnded = true
        write.turn?.signal()
    }
}
