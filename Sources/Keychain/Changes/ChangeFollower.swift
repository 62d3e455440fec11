// ChangeFollower: waits for a reason to look at the keychain again.
//   (1) Reasons merge: however many changes happen while no task waits, they cost one bit.
//   (2) A change after `subscribe` is always followed by a look; so what is there in the end is
//       always seen.
//   (3) The thread that tells of a change never waits for a follower.
//   (4) It ends, and lets go of everything, with the task that waits or with the last reference.

import Dispatch
import KeychainAuthentication
import KeychainCore
import Synchronization

final class ChangeFollower: Sendable {
    /// How long after a failure the keychain is looked at again, if nothing is heard of it: what
    /// made it fail may end without a notice.
    static let retryInterval: DispatchTimeInterval = .seconds(2)

    /// Raised from the beginning: the first look needs no reason.
    let signal = ChangeSignal()
    private let database: KeychainDatabase
    private let subscription = Mutex<(any ChangeSubscription)?>(nil)
    private let isRetrying = Mutex(false)

    init(_ database: KeychainDatabase) {
        self.database = database
    }

    deinit { end() }

    /// Waits for the next reason to look.
    ///
    /// - Returns: False if the task was cancelled; it was the last time then.
    func wait() async -> Bool {
        if await signal.wait() { return true }
        end()
        return false
    }

    /// Makes sure that changes from now on are told of. May block.
    func subscribe() throws(KeychainFailure) {
        if subscription.withLock({ $0 != nil }) { return }
        let made = try database.connection().handler.subscribe { [weak signal] in signal?.raise() }
        subscription.withLock { $0 = made }
    }

    /// Gives a reason to look in a while. One at a time.
    func retryLater() {
        let isFirst = isRetrying.withLock { isRetrying in
            defer { isRetrying = true }
            return !isRetrying
        }
        guard isFirst else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.retryInterval) {
            [weak self] in
            guard let self else { return }
            isRetrying.withLock { $0 = false }
            signal.raise()
        }
    }

    /// Ends the subscription.
    func end() {
        let ended = subscription.withLock { subscription in
            defer { subscription = nil }
            return subscription
        }
        ended?.end()
    }
}

/// A flag that one task waits for.
final class ChangeSignal: Sendable {
    private struct State {
        var isRaised = true
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    func raise() {
        let waiter = state.withLock { state in
            let waiter = state.waiter
            state.waiter = nil
            state.isRaised = waiter == nil
            return waiter
        }
        waiter?.resume(returning: true)
    }

    /// Waits until the flag is raised, and lowers it.
    ///
    /// - Returns: False if the task was cancelled.
    func wait() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // Cancelled before: the handler has run or will find no one waiting.
                    if Task.isCancelled { return false }
                    if state.isRaised {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiter
                state.waiter = nil
                return waiter
            }
            waiter?.resume(returning: false)
        }
    }
}
