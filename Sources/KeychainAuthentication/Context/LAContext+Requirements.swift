// LAContext+Requirements: what a context shows for its person when the keychain is called.
//   (1) A caller that forbids questions gets `notInteractive` where one would be asked, whatever
//       else stands in the way: callers find out that way whether an item needs a person.

#if !canImport(Darwin)

package import KeychainCore
package import KeychainRuntime
import Synchronization

/// On whose behalf a person is asked.
package struct Asking: Sendable {
    package let keychain: KeychainHandler
    /// Why, for the person. May be empty.
    package let reason: String
    /// Whether a person may be asked at all.
    package let isAllowed: Bool

    package init(_ keychain: KeychainHandler, reason: String, isAllowed: Bool = true) {
        self.keychain = keychain
        self.reason = reason
        self.isAllowed = isAllowed
    }
}

extension LAContext {
    /// Gets what a requirement asks for, from what the context knows or from a person. Afterwards
    /// it is part of ``authorization(for:)``.
    package func satisfy(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) {
        try checkIsValid()
        try provePresence(requirement, asking)
        if requirement.needsApplicationPassword, knownPassword == nil {
            try askForPassword(.applicationPassword, asking)
        }
    }

    /// Gets what an item to be is encrypted with.
    package func prepare(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) {
        try checkIsValid()
        if requirement.needsApplicationPassword, knownPassword == nil {
            try askForNewPassword(asking)
        }
    }

    /// Everything that the context can show to a keychain without asking.
    package func authorization(
        for keychain: KeychainHandler
    ) throws(AuthenticationFailure) -> Authorization {
        try checkIsValid()
        let proofs = knownProofs(for: keychain)
        return Authorization(
            grant: proofs.first { $0.method == .passcode }?.grant,
            recognition: proofs.first { $0.method == .biometry }?.grant,
            applicationPassword: knownPassword)
    }

    /// Forgets grants that the keychain didn't take: it was locked meanwhile, or isn't the one
    /// that gave them.
    package func forgetGrants(
        of authorization: Authorization, for keychain: KeychainHandler
    ) {
        let environment = AuthenticationEnvironment.inUse(for: keychain)
        for grant in [authorization.grant, authorization.recognition].compactMap({ $0 }) {
            state.withLock { $0.proofs.removeAll { $0.grant == grant } }
            environment.recentProofs.forget(grant)
        }
    }

    /// Asks for the password once more, after one that didn't open the item. `attempt` says how
    /// many were tried, 1 and up.
    ///
    /// - Throws: `authenticationFailed` if they were enough, or the password was the program's.
    package func replaceWrongPassword(
        afterAttempt attempt: Int, _ asking: Asking
    ) throws(AuthenticationFailure) {
        let mayTryAgain = state.withLock { state in
            guard let password = state.password, password.isEntered else { return false }
            state.password = nil
            return true
        }
        guard mayTryAgain, attempt < Self.attempts else { throw .refused(.authenticationFailed) }
        try askForPassword(.applicationPassword, asking, problem: .wrong)
    }

    /// Whether the password that the context knows was entered by a person.
    package var knowsEnteredPassword: Bool {
        state.withLock { $0.password?.isEntered == true }
    }

    func checkIsValid() throws(AuthenticationFailure) {
        if state.withLock({ $0.isInvalid }) { throw .refused(.invalidContext) }
    }
}

#endif
