// AuthenticationEnvironment: the authenticator in use, its clock, and its recent proofs.
//   (1) A task-local environment has precedence over all others, followed by that of the keychain
//       in use. Test keychains provide their own environment, so no prompt for them appears on a
//       real terminal.

#if !canImport(Darwin)

package import KeychainRuntime
import KeychainEngine
package import KeychainCore
import Synchronization

/// The authenticator, the clock, and the latest proofs, which a context may reuse while they are
/// recent enough for it.
package struct AuthenticationEnvironment: Sendable {
    /// An environment that replaces all others for the duration of a task.
    @TaskLocal package static var current: AuthenticationEnvironment?

    /// The environment for a call to a keychain. `nil` stands for the keychain of this process, or
    /// for a call that involves no keychain.
    package static func inUse(for keychain: KeychainHandler?) -> AuthenticationEnvironment {
        if let current { return current }
        guard case .substitute(let handler) = keychain,
            let host = handler as? any AuthenticationHost
        else { return process }
        return host.authenticationEnvironment
    }

    /// The environment for a call to the keychain of the current task.
    package static var inUse: AuthenticationEnvironment {
        inUse(for: KeychainContext.connection?.handler)
    }

    private static let process = AuthenticationEnvironment(
        SystemAuthenticator(), recentProofs: RecentProofs())

    package let authenticator: any Authenticator
    package let recentProofs: RecentProofs
    /// The time since a fixed point. The clock continues while the system is suspended.
    private let clock: @Sendable () -> Duration

    /// Creates an environment. If `clock` is `nil`, the system's clock is used.
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

/// A keychain that provides its own authentication environment.
package protocol AuthenticationHost: RequestHandler {
    var authenticationEnvironment: AuthenticationEnvironment { get }
}

/// The most recent proof by each method, from any context of an environment.
package final class RecentProofs: Sendable {
    private let proofs = Mutex<[PresenceProof]>([])

    package init() {}

    /// The proofs that are at most `duration` old.
    func proofs(within duration: Duration, at now: Duration) -> [PresenceProof] {
        proofs.withLock { $0.notOlder(than: duration, at: now) }
    }

    func remember(_ proof: PresenceProof) {
        proofs.withLock { $0.remember(proof) }
    }

    /// Removes the proofs with a grant that the keychain rejected.
    func forget(_ grant: AuthenticationGrant) {
        proofs.withLock { $0.removeAll { $0.grant == grant } }
    }
}

#endif
