// AuthenticationEnvironment: the authenticator in use, and what it found out lately.
//   (1) A task-local one takes the place of the process's own, as a keychain of a test does.

#if !canImport(Darwin)

import KeychainModel
import Synchronization

/// Who asks, by which clock, and which proofs are recent enough to be taken again.
package final class AuthenticationEnvironment: Sendable {
    /// An environment that takes the place of the process's own for the duration of a task.
    @TaskLocal package static var current: AuthenticationEnvironment?

    /// The environment of a call that is made now.
    package static var inUse: AuthenticationEnvironment { current ?? process }

    private static let process = AuthenticationEnvironment(SystemAuthenticator())

    package let authenticator: any Authenticator
    /// The time since a fixed moment. It goes on while the system sleeps.
    private let clock: @Sendable () -> Duration
    private let recent = Mutex<[PresenceProof]>([])

    /// Without a clock the system's is meant.
    package init(
        _ authenticator: any Authenticator, clock: (@Sendable () -> Duration)? = nil
    ) {
        self.authenticator = authenticator
        let start = ContinuousClock.now
        self.clock = clock ?? { ContinuousClock.now - start }
    }

    package var now: Duration { clock() }

    /// Proofs of any context of this environment.
    func recentProofs(within duration: Duration) -> [PresenceProof] {
        let now = now
        return recent.withLock { $0.notOlder(than: duration, at: now) }
    }

    func remember(_ proof: PresenceProof) {
        recent.withLock { $0.remember(proof) }
    }

    /// Forgets what the keychain doesn't take any more.
    func forget(_ grant: AuthenticationGrant) {
        recent.withLock { $0.removeAll { $0.grant == grant } }
    }
}

#endif
