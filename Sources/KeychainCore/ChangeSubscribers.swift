// ChangeSubscribers: the handlers that are called when something changes.
//   (1) Handlers are called on the thread that signals, with no lock held.

import Synchronization

package final class ChangeSubscribers: Sendable {
    private struct State {
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Calls all handlers, to report a change.
    package func signal() {
        for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
    }

    /// - Returns: The subscription. It ends when its `end` is called, or at the latest when the
    ///   last reference to the subscription is released.
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
