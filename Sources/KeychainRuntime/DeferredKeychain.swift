// DeferredKeychain: the keychain of a folder that doesn't contain one yet.
//   (1) Reading creates nothing: the answers are those of an empty keychain, and the folder stays
//       as it is, even if it doesn't exist. The same applies to requests to change or delete what
//       an empty keychain doesn't have, such as items or a passcode. The keychain is created by the
//       first request to add an item, to set a passcode, to change the slots or to create a
//       hardware key, or by the first request `SetHistory` or `Synchronize`, even one that only
//       reads.
//   (2) Each call checks whether the keychain exists, since another process may create it. Once it
//       exists, all calls go to it, and so do subscriptions.
//   (3) A subscription can't watch a folder that doesn't exist, so it polls for the keychain. The
//       creation of the keychain is reported like any other change.

import Dispatch
package import KeychainCore
import KeychainEngine
import KeychainTPM
import Synchronization

package final class DeferredKeychain: RequestHandler {
    private let directory: String
    /// The empty keychain in memory that answers requests while the folder contains no keychain.
    /// `nil` until the first such request.
    private let empty = Mutex<KeychainEngine?>(nil)
    private let followers = Mutex<[Follower]>([])

    private struct Follower: Sendable {
        weak var subscription: DeferredSubscription?
    }

    init(directory: String) {
        self.directory = directory
    }

    /// The keychain for requests that don't create it: the one in the folder, or else `empty`.
    private func looking() throws(KeychainFailure) -> KeychainEngine {
        if let engine = try EmbeddedKeychain.existingEngine(in: directory) { return engine }
        return try empty.withLock { empty throws(KeychainFailure) in
            if let engine = empty { return engine }
            let engine = try KeychainEngine.open(
                try MemoryPlace(),
                options: EngineOptions(
                    hardware: PlatformHardware.current, absentFolder: directory))
            empty = engine
            return engine
        }
    }

    /// The keychain for requests that create it if necessary. Waiting subscriptions then move to
    /// it.
    private func changing() throws(KeychainFailure) -> KeychainEngine {
        let engine = try EmbeddedKeychain.engine(in: directory)
        let waiting = followers.withLock { followers in
            defer { followers = [] }
            return followers
        }
        for follower in waiting { follower.subscription?.look() }
        return engine
    }

    /// Closes the keychain if it exists.
    package func close() {
        if let engine = try? EmbeddedKeychain.existingEngine(in: directory) { engine.close() }
    }

    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        try engine(for: R.code).perform(request, as: caller)
    }

    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try engine(for: R.code).stream(request, as: caller, progress: progress)
    }

    private func engine(for code: RequestCode) throws(KeychainFailure) -> KeychainEngine {
        switch code {
        // A hardware key is bound to its keychain, so the keychain has to exist.
        case .add, .addAll, .put, .setPasscode, .changeSlots, .makeSecureEnclaveKey,
            .setHistory, .synchronize:
            try changing()
        case .find, .update, .delete, .findIdentities, .updateIdentities, .deleteIdentities,
            .authenticate, .hasPasscode, .hasSecureEnclave, .sign, .sharedSecret, .unlock, .lock,
            .lockAll, .changePasscode, .removePasscode, .unlockWith, .slots, .rotate, .status,
            .statistics, .check, .findVersions, .restoreVersion, .purgeVersions, .acceptsGrant:
            try looking()
        }
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        if let engine = try EmbeddedKeychain.existingEngine(in: directory) {
            return try engine.subscribe(handler)
        }
        let subscription = DeferredSubscription(directory, handler)
        followers.withLock { followers in
            followers.removeAll { $0.subscription == nil }
            followers.append(Follower(subscription: subscription))
        }
        return subscription
    }
}

// MARK: - Subscriptions

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

    /// Moves the subscription to the keychain if it exists now.
    func look() {
        guard state.withLock({ if case .waiting = $0 { true } else { false } }) else { return }
        // If the keychain can't be opened now, try again later.
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
