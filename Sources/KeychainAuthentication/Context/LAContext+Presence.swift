// LAContext+Presence: a person proves to be present.
//   (1) What was proven is not asked for again. A question ends: after three wrong answers, when
//       the person declines, or when the context is invalidated.

#if !canImport(Darwin)

import KeychainCrypto
import KeychainCore
import KeychainRuntime
import Synchronization

extension LAContext {
    /// How many times an answer can be wrong.
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

    /// Gets the proofs that satisfy a requirement.
    func provePresence(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) {
        var possible: PresencePossibilities?
        // Each round proves a method or takes one out of the possible ones.
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

    /// What was proven to this context, or to another one lately enough.
    func knownProofs(for keychain: KeychainHandler) -> [PresenceProof] {
        let seconds = min(
            touchIDAuthenticationAllowableReuseDuration,
            LATouchIDAuthenticationMaximumAllowableReuseDuration)
        // Comparisons with what is no number are false.
        var recent: [PresenceProof] = []
        if seconds > 0 {
            let environment = AuthenticationEnvironment.inUse(for: keychain)
            recent = environment.recentProofs.proofs(
                within: .seconds(seconds), at: environment.now)
        }
        return state.withLock { [recent] state in
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

    /// - Returns: Why no person was recognized, where something else may do instead; nil: one was.
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

    /// - Returns: nil for a wrong passcode.
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
    /// Whether a method is among those that can satisfy it.
    func mentions(_ method: PresenceMethod) -> Bool {
        alternatives.contains { $0.contains(method) }
    }
}

#endif
