// ChangeFollower: waits for a reason to read the keychain again.
//   (1) Reasons are coalesced: any number of changes while no task waits set a single flag.
//   (2) After a change that follows `subscribe`, the next wait ends at once, so the final state is
//       always seen.
//   (3) The thread that reports a change never waits for a follower.
//   (4) The subscription ends, and all resources are released, when the waiting task is canceled or
//       the last reference is gone.

import Dispatch
import KeychainAuthentication
import KeychainCore
import Synchronization

final class ChangeFollower: Sendable {
    /// The delay until the keychain is read again after a failure, if no change is reported. The
    /// condition that caused the failure may end without a notification.
    static let retryInterval: DispatchTimeInterval = .seconds(2)

    /// The flag is raised initially, because the first read needs no reason.
    let signal = ChangeSignal()
    private let database: KeychainDatabase
    private let subscription = Mutex<(any ChangeSubscription)?>(nil)
    private let isRetrying = Mutex(false)

    init(_ database: KeychainDatabase) {
        self.database = database
    }

    deinit { end() }

    /// Waits for the next reason to read the keychain.
    ///
    /// - Returns: `false` if the task was canceled. The follower has then ended.
    func wait() async -> Bool {
        if await signal.wait() { return true }
        end()
        return false
    }

    /// Subscribes to changes, so that all changes from now on are reported. May block.
    func subscribe() throws(KeychainFailure) {
        if subscription.withLock({ $0 != nil }) { return }
        let made = try database.connection().handler.subscribe { [weak signal] in signal?.raise() }
        subscription.withLock { $0 = made }
    }

    /// Raises the flag after the retry interval. At most one retry is scheduled at a time.
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

/// A flag that one task can wait for.
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
    /// - Returns: `false` if the task was canceled.
    func wait() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // The task may have been canceled before a waiter was set. In that case, the
                    // cancellation handler finds no waiter to resume, so the answer is given here.
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
