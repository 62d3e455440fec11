// AuthenticationEnvironment: the authenticator in use, and what it found out lately.
//   (1) A task-local one takes the place of all others, then comes that of the keychain in use: the
//       keychains of tests bring theirs, and no question for them goes to a real terminal.

#if !canImport(Darwin)

package import KeychainRuntime
import KeychainEngine
package import KeychainCore
import Synchronization

/// Who asks, by which clock, and which proofs are recent enough to be taken again.
package struct AuthenticationEnvironment: Sendable {
    /// An environment that takes the place of every other for the duration of a task.
    @TaskLocal package static var current: AuthenticationEnvironment?

    /// The environment of a call to a keychain; nil: of one that concerns none.
    package static func inUse(for keychain: KeychainHandler?) -> AuthenticationEnvironment {
        if let current { return current }
        guard case .substitute(let handler) = keychain,
            let host = handler as? any AuthenticationHost
        else { return process }
        return host.authenticationEnvironment
    }

    /// The environment of a call to the keychain of the current task.
    package static var inUse: AuthenticationEnvironment {
        inUse(for: KeychainContext.connection?.handler)
    }

    private static let process = AuthenticationEnvironment(
        SystemAuthenticator(), recentProofs: RecentProofs())

    package let authenticator: any Authenticator
    package let recentProofs: RecentProofs
    /// The time since a fixed moment. It goes on while the system sleeps.
    private let clock: @Sendable () -> Duration

    /// Without a clock the system's is meant.
    package init(
        _ authenticator: any Authenticator, recentProofs: RecentProofs,
        clock: (@Sendable () -> Duration)? = nil
    ) {
        self.authenticator = authenticator
        self.recentProofs = recentProofs
        self.clock = clock ?? { ContinuousClock.now - Self.start }
    }

    private static let start = ContinuousClock.now

    package var now: Duration { clock() }
}

/// A keychain that says itself who is asked for it.
package protocol AuthenticationHost: RequestHandler {
    var authenticationEnvironment: AuthenticationEnvironment { get }
}

/// The last proof by each method, of any context of an environment.
package final class RecentProofs: Sendable {
    private let proofs = Mutex<[PresenceProof]>([])

    package init() {}

    /// Proofs of an age of `duration` at the most.
    func proofs(within duration: Duration, at now: Duration) -> [PresenceProof] {
        proofs.withLock { $0.notOlder(than: duration, at: now) }
    }

    func remember(_ proof: PresenceProof) {
        proofs.withLock { $0.remember(proof) }
    }

    /// Forgets what the keychain doesn't take any more.
    func forget(_ grant: AuthenticationGrant) {
        proofs.withLock { $0.removeAll { $0.grant == grant } }
    }
}

#endif
