// LocalChanges: tells of the changes that this process makes through this package, where the
// keychain itself tells of none.
//   (1) The SecItem functions have no notice of changes on any platform. So behind them another
//       process's change is seen at the next look for another reason.

import KeychainModel
import Synchronization

final class LocalChanges: Sendable {
    /// Those of all SecItem backends: on Apple platforms there is one keychain.
    static let shared = LocalChanges()

    private struct State {
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var next: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Something was changed.
    func signal() {
        for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
    }

    func subscribe(_ handler: @escaping @Sendable () -> Void) -> any ChangeSubscription {
        let id = state.withLock { state in
            state.next += 1
            state.handlers[state.next] = handler
            return state.next
        }
        return Subscription(changes: self, id: id)
    }

    private final class Subscription: ChangeSubscription {
        private let changes: LocalChanges
        private let id: UInt64

        init(changes: LocalChanges, id: UInt64) {
            self.changes = changes
            self.id = id
        }

        deinit { end() }

        func end() { changes.state.withLock { _ = $0.handlers.removeValue(forKey: id) } }
    }
}
