// DeferredSubscription: waits for a keychain that another process, or this one, is about to make.
//   (1) Nothing can be watched of a folder that isn't there, so it is looked for at intervals.
//   (2) Its making is told of like any other change, and from then on the keychain tells.

import Dispatch
import KeychainEngine
import KeychainCore
import Synchronization

final class DeferredSubscription: ChangeSubscription {
    private enum State {
        case waiting
        case following(any ChangeSubscription)
        case ended
    }

    static let interval: DispatchTimeInterval = .milliseconds(500)
    private static let queue = DispatchQueue(label: "swift-keychain making", qos: .utility)

    private let directory: String
    private let handler: @Sendable () -> Void
    private let state = Mutex(State.waiting)

    init(_ directory: String, _ handler: @escaping @Sendable () -> Void) {
        self.directory = directory
        self.handler = handler
        lookLater()
    }

    deinit { end() }

    func end() {
        let following = state.withLock { state -> (any ChangeSubscription)? in
            defer { state = .ended }
            guard case .following(let subscription) = state else { return nil }
            return subscription
        }
        following?.end()
    }

    private func lookLater() {
        Self.queue.asyncAfter(deadline: .now() + Self.interval) { [weak self] in self?.look() }
    }

    /// Goes over to the keychain, if there is one.
    func look() {
        guard state.withLock({ if case .waiting = $0 { true } else { false } }) else { return }
        // A keychain that can't be opened now is tried again.
        guard let engine = try? EmbeddedKeychain.existingEngine(in: directory),
            let subscription = try? engine.subscribe(handler)
        else { return lookLater() }
        let isWanted = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .following(subscription)
            return true
        }
        guard isWanted else { return subscription.end() }
        handler()
    }
}
