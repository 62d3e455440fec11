// LAContext+Requirements: the proofs that a context provides for calls to the keychain.
//   (1) If the caller forbids prompts and the context is valid, the failure is `notInteractive`
//       wherever a prompt would be needed, regardless of other obstacles. Callers use this to
//       determine whether an item requires authentication.

#if !canImport(Darwin)

package import KeychainCore
package import KeychainRuntime
import Synchronization

/// The keychain and the settings for a prompt.
package struct Asking: Sendable {
    package let keychain: KeychainHandler
    /// The reason to show to the user. May be empty.
    package let reason: String
    /// Whether the user may be asked at all.
    package let isAllowed: Bool

    package init(_ keychain: KeychainHandler, reason: String, isAllowed: Bool = true) {
        self.keychain = keychain
        self.reason = reason
        self.isAllowed = isAllowed
    }
}

extension LAContext {
    /// Obtains the proofs and the application password that a requirement needs, from the context
    /// or from the user. Afterwards, they are part of ``authorization(for:)``.
    package func satisfy(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) {
        try checkIsValid()
        try provePresence(requirement, asking)
        if requirement.needsApplicationPassword, knownPassword == nil {
            try askForPassword(.applicationPassword, asking)
        }
    }

    /// Obtains the application password with which a new item is encrypted.
    package func prepare(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) {
        try checkIsValid()
        if requirement.needsApplicationPassword, knownPassword == nil {
            try askForNewPassword(asking)
        }
    }

    /// All proofs and the application password that the context can provide to a keychain without
    /// asking the user.
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

    /// Removes grants that the keychain rejected, because it was locked in the meantime or did not
    /// issue them.
    package func forgetGrants(
        of authorization: Authorization, for keychain: KeychainHandler
    ) {
        for grant in [authorization.grant, authorization.recognition].compactMap({ $0 }) {
            forget(grant, for: keychain)
        }
    }

    func forget(_ grant: AuthenticationGrant, for keychain: KeychainHandler) {
        state.withLock { $0.proofs.removeAll { $0.grant == grant } }
        AuthenticationEnvironment.inUse(for: keychain).recentProofs.forget(grant)
    }

    /// Asks for the application password again, because the previous password did not open the
    /// item. `attempt` is the number of passwords tried so far, at least 1.
    ///
    /// - Throws: `authenticationFailed` if the maximum number of attempts is reached, or if the
    ///   program provided the password; otherwise `notInteractive` if prompts are forbidden, and
    ///   `authenticationFailed` if there is no way to ask the user; otherwise the reason that the
    ///   prompt failed.
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

    /// Whether the password of the context was entered by the user.
    package var knowsEnteredPassword: Bool {
        state.withLock { $0.password?.isEntered == true }
    }

    func checkIsValid() throws(AuthenticationFailure) {
        if state.withLock({ $0.isInvalid }) { throw .refused(.invalidContext) }
    }
}

#endif
