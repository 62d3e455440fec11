// LAContext+Presence: obtains proofs that the user is present.
//   (1) While the context has a proof by a method, the user is not asked to use that method again.
//       A prompt ends after three wrong answers, if the user cancels or can't be asked, or if the
//       context is invalidated.
//   (2) A remembered proof counts only if the keychain still accepts its grant. A lock ends every
//       grant, so that afterwards the user is asked again.

#if !canImport(Darwin)

import KeychainCrypto
import KeychainCore
import KeychainRuntime
import Synchronization

extension LAContext {
    /// The maximum number of attempts per prompt.
    static var attempts: Int { 3 }

    func possibilities(
        _ keychain: KeychainHandler
    ) throws(AuthenticationFailure) -> PresencePossibilities {
        let biometry = AuthenticationEnvironment.inUse(for: keychain).authenticator.biometry
        do {
            return PresencePossibilities(
                passcode: try keychain.perform(HasPasscode()), biometryObstacle: biometry.obstacle)
        } catch {
            throw .keychain(error)
        }
    }

    /// Obtains the proofs that satisfy a requirement.
    func provePresence(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) {
        if requirement.needsNoPerson { return }
        try forgetEndedGrants(asking.keychain)
        var possible: PresencePossibilities?
        // Each iteration obtains a proof by one method, or excludes a method that gave no proof.
        for _ in 0..<4 {
            let proven = knownProofs(for: asking.keychain).methods
            if requirement.isSatisfied(by: proven) { return }
            try checkMayAsk(asking)
            var now: PresencePossibilities
            if let possible { now = possible } else { now = try possibilities(asking.keychain) }
            switch requirement.nextStep(proven: proven, now) {
            case .none: break
            case .impossible(let code): throw .refused(code)
            case .askPasscode: try askForPasscode(asking)
            case .recognize(let mayFallBack):
                if let obstacle = try recognize(asking) {
                    guard mayFallBack else { throw .refused(obstacle) }
                    now.biometryObstacle = obstacle
                }
            }
            possible = now
        }
        throw .refused(.authenticationFailed)
    }

    /// Forgets the known proofs whose grants the keychain no longer accepts.
    private func forgetEndedGrants(_ keychain: KeychainHandler) throws(AuthenticationFailure) {
        var unchecked = knownProofs(for: keychain)
        while let proof = unchecked.popLast() {
            if try isAccepted(proof.grant, by: keychain) { continue }
            forget(proof.grant, for: keychain)
            // Another context may have a different proof by the same method.
            unchecked = knownProofs(for: keychain)
        }
    }

    private func isAccepted(
        _ grant: AuthenticationGrant, by keychain: KeychainHandler
    ) throws(AuthenticationFailure) -> Bool {
        do {
            return try keychain.perform(AcceptsGrant(grant))
        } catch {
            // A service of an earlier version doesn't know `AcceptsGrant`. That service still
            // checks the grant when an item is opened.
            guard error.status == .unimplemented else { throw .keychain(error) }
            return true
        }
    }

    /// The proofs of this context, and the proofs of other contexts that are recent enough for
    /// `touchIDAuthenticationAllowableReuseDuration`. This context keeps the other contexts'
    /// proofs. Empty if the context is invalid.
    func knownProofs(for keychain: KeychainHandler) -> [PresenceProof] {
        let seconds = min(
            touchIDAuthenticationAllowableReuseDuration,
            LATouchIDAuthenticationMaximumAllowableReuseDuration)
        var recent: [PresenceProof] = []
        // This comparison is also false for NaN.
        if seconds > 0 {
            let environment = AuthenticationEnvironment.inUse(for: keychain)
            recent = environment.recentProofs.proofs(
                within: .seconds(seconds), at: environment.now)
        }
        return state.withLock { [recent] state in
            // Another thread may have invalidated the context in the meantime.
            guard !state.isInvalid else { return [] }
            for proof in recent where !state.proofs.methods.contains(proof.method) {
                state.proofs.remember(proof)
            }
            return state.proofs
        }
    }

    private func askForPasscode(_ asking: Asking) throws(AuthenticationFailure) {
        var question = question(.passcode, asking)
        for _ in 0..<Self.attempts {
            let passcode = try ask(question, asking)
            if let grant = try grant(for: passcode, asking.keychain) {
                return remember(.passcode, grant, asking)
            }
            question.problem = .wrong
        }
        throw .refused(.authenticationFailed)
    }

    /// - Returns: `nil` if a person was recognized. Otherwise the reason that no person was
    ///   recognized; the caller may use another method instead.
    private func recognize(_ asking: Asking) throws(AuthenticationFailure) -> LAError.Code? {
        let authenticator = AuthenticationEnvironment.inUse(for: asking.keychain).authenticator
        guard authenticator.canAsk else { throw .refused(.notInteractive) }
        let question = question(.biometry, asking)
        for _ in 0..<Self.attempts {
            let recognition = try open { authenticator.recognize(question, until: $0) }
            switch recognition {
            case .recognized(let grant):
                remember(.biometry, grant, asking)
                return nil
            case .failed: continue
            case .fallback: return .userFallback
            case .cancelled: throw .refused(.userCancel)
            case .interrupted: throw .refused(.appCancel)
            case .unavailable: return .biometryNotAvailable
            }
        }
        return .authenticationFailed
    }

    /// - Returns: `nil` if the passcode is wrong.
    private func grant(
        for passcode: SecretBytes, _ keychain: KeychainHandler
    ) throws(AuthenticationFailure) -> AuthenticationGrant? {
        do {
            return try keychain.perform(Authenticate(passcode: passcode))
        } catch {
            guard error.status == .authFailed else { throw .keychain(error) }
            return nil
        }
    }

    private func remember(
        _ method: PresenceMethod, _ grant: AuthenticationGrant, _ asking: Asking
    ) {
        let environment = AuthenticationEnvironment.inUse(for: asking.keychain)
        let proof = PresenceProof(method: method, grant: grant, time: environment.now)
        environment.recentProofs.remember(proof)
        state.withLock { if !$0.isInvalid { $0.proofs.remember(proof) } }
    }
}

extension AccessRequirement {
    /// Whether a method is among those that can satisfy the requirement.
    func mentions(_ method: PresenceMethod) -> Bool {
        alternatives.contains { $0.contains(method) }
    }
}

#endif
