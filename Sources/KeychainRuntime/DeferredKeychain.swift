// DeferredKeychain: the keychain of a folder that holds none yet.
//   (1) Looking makes nothing: the answers are those of an empty keychain, and the folder stays as
//       it is, also where it is missing. The first change makes the keychain.
//   (2) Each call looks for the keychain anew, since another process may make it. From then on all
//       go to it, subscriptions included.
//   (3) A subscription can't watch a folder that isn't there, so it looks for the folder at
//       intervals. The making of the keychain is told of like any other change.

import Dispatch
package import KeychainCore
import KeychainEngine
import KeychainTPM
import Synchronization

package final class DeferredKeychain: RequestHandler {
    private let directory: String
    /// What answers as long as there is no keychain. nil: no request has come yet.
    private let empty = Mutex<KeychainEngine?>(nil)
    private let followers = Mutex<[Follower]>([])

    private struct Follower: Sendable {
        weak var subscription: DeferredSubscription?
    }

    init(directory: String) {
        self.directory = directory
    }

    /// The keychain to look into.
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

    /// The keychain to change. Followers of changes are told by it from now on.
    private func changing() throws(KeychainFailure) -> KeychainEngine {
        let engine = try EmbeddedKeychain.engine(in: directory)
        let waiting = followers.withLock { followers in
            defer { followers = [] }
            return followers
        }
        for follower in waiting { follower.subscription?.look() }
        return engine
    }

    /// Closes the keychain, if there is one.
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
        // A key in hardware is bound to its keychain, so there has to be one.
        case .add, .addAll, .put, .setPasscode, .changeSlots, .makeSecureEnclaveKey,
            .setHistory:
            try changing()
        case .find, .update, .delete, .findIdentities, .updateIdentities, .deleteIdentities,
            .authenticate, .hasPasscode, .hasSecureEnclave, .sign, .sharedSecret, .unlock, .lock,
            .lockAll, .changePasscode, .removePasscode, .unlockWith, .slots, .rotate, .status,
            .statistics, .check, .findVersions, .restoreVersion, .purgeVersions:
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
