// ChangeSubscribers: who is to be told that something changed.
//   (1) Handlers are called without a lock held, on the thread that signals.

import Synchronization

package final class ChangeSubscribers: Sendable {
    private struct State {
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Something was changed.
    package func signal() {
        for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
    }

    /// - Returns: The subscription, which lasts as long as it is held.
    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) -> any ChangeSubscription {
        let id = state.withLock { state in
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
        return Subscription(subscribers: self, id: id)
    }

    private final class Subscription: ChangeSubscription {
        private let subscribers: ChangeSubscribers
        private let id: UInt64

        init(subscribers: ChangeSubscribers, id: UInt64) {
            self.subscribers = subscribers
            self.id = id
        }

        deinit { end() }

        func end() { subscribers.state.withLock { _ = $0.handlers.removeValue(forKey: id) } }
    }
}
