// CommitQueue: writes of several threads that share a commit.
//   (1) Writes are carried out one at a time, in the order in which they came.
//   (2) One thread at a time leads: it carries out its own write and then those that wait, and
//       commits. The others sleep until their writes have ended or it is their turn to lead.
//   (3) The lead is passed on before anybody is told of a commit, so that the disk doesn't wait
//       for those who are.
//   (4) A write that meets no other costs one lock at its start and one at its end.

import Dispatch
import KeychainModel
import Synchronization

/// A write of one thread, which another thread may carry out.
///
/// `@unchecked`: one thread at a time has it. Its own has it until it enters the queue and after
/// `turn` was signalled; in between the leader has it.
final class QueuedWrite: @unchecked Sendable {
    typealias Body = (inout StoreTransaction) throws(KeychainFailure) -> Void

    /// Of the keybag whose keys `body` uses.
    let keybagGeneration: UInt64
    private var body: Body?
    /// Why nothing of it is in the database.
    var failure: KeychainFailure?
    fileprivate var turn: DispatchSemaphore?
    fileprivate var hasEnded = false

    init(keybagGeneration: UInt64, _ body: @escaping Body) {
        self.keybagGeneration = keybagGeneration
        self.body = body
    }

    /// What is to be done, once. Its thread has only lent it, and takes it along when the write has
    /// ended: nobody may hold it then.
    func take() -> Body? {
        defer { body = nil }
        return body
    }
}

final class CommitQueue: Sendable {
    private struct State {
        var isLed = false
        var waiting: [QueuedWrite] = []
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
            return turn
        }
        turn?.wait()
        return !write.hasEnded
    }

    /// For the leader: the write that has waited longest, to be carried out and ended by it.
    func next() -> QueuedWrite? {
        state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
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
