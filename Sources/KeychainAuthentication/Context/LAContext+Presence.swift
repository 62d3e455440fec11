// LAContext+Presence: somebody proves to be present.
//   (1) Nobody is asked for what was proven. A question ends: after three wrong answers, when the
//       person declines, or when the context is invalidated.

#if !canImport(Darwin)

import KeychainCrypto
import KeychainModel
import Synchronization

extension LAContext {
    /// How many times an answer can be wrong.
    static var attempts: Int { 3 }

    func possibilities(
        _ keychain: KeychainConnection
    ) throws(AuthenticationFailure) -> PresencePossibilities {
        let biometry = AuthenticationEnvironment.inUse.authenticator.biometry
        do {
            return PresencePossibilities(
                passcode: try keychain.service.knowsPasscode(), biometryObstacle: biometry.obstacle)
        } catch {
            throw .keychain(error)
        }
    }

    /// - Returns: The newest grant of those that satisfy the requirement.
    func provePresence(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) -> AuthenticationGrant? {
        var possible: PresencePossibilities?
        // Each round proves a method or takes one out of the possible ones.
        for _ in 0..<4 {
            let proofs = knownProofs()
            if requirement.isSatisfied(by: proofs.methods) {
                let useful = proofs.filter { requirement.isHelped(by: $0.method) }
                return useful.max { $0.time < $1.time }?.grant
            }
            try checkMayAsk(asking)
            var now: PresencePossibilities
            if let possible { now = possible } else { now = try possibilities(asking.keychain) }
            switch requirement.nextStep(proven: proofs.methods, now) {
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
    private func knownProofs() -> [PresenceProof] {
        let seconds = min(
            touchIDAuthenticationAllowableReuseDuration,
            LATouchIDAuthenticationMaximumAllowableReuseDuration)
        // Comparisons with what is no number are false.
        let recent =
            seconds > 0
            ? AuthenticationEnvironment.inUse.recentProofs(within: .seconds(seconds)) : []
        return state.withLock { state in
            for proof in recent where !state.proofs.methods.contains(proof.method) {
                state.proofs.remember(proof)
            }
            return state.proofs
        }
    }

    private func askForPasscode(_ asking: Asking) throws(AuthenticationFailure) {
        var question = question(.passcode, asking)
        for _ in 0..<Self.attempts {
            let passcode = try ask(question)
            if let grant = try grant(for: passcode, asking.keychain) {
                return remember(.passcode, grant)
            }
            question.problem = .wrong
        }
        throw .refused(.authenticationFailed)
    }

    /// - Returns: Why nobody was recognized, where something else may do instead; nil: somebody
    ///   was.
    private func recognize(_ asking: Asking) throws(AuthenticationFailure) -> LAError.Code? {
        let authenticator = AuthenticationEnvironment.inUse.authenticator
        let question = question(.biometry, asking)
        for _ in 0..<Self.attempts {
            let recognition = try open { authenticator.recognize(question, until: $0) }
            switch recognition {
            case .recognized(let passcode):
                guard let grant = try grant(for: passcode, asking.keychain) else {
                    // The hardware keeps a passcode from before it was changed.
                    return .biometryNotEnrolled
                }
                remember(.biometry, grant)
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
        for passcode: SecretBytes, _ keychain: KeychainConnection
    ) throws(AuthenticationFailure) -> AuthenticationGrant? {
        do {
            return try keychain.service.authenticate(passcode: passcode.dataCopy)
        } catch {
            guard error.status == .authFailed else { throw .keychain(error) }
            return nil
        }
    }

    private func remember(_ method: PresenceMethod, _ grant: AuthenticationGrant) {
        let environment = AuthenticationEnvironment.inUse
        let proof = PresenceProof(method: method, grant: grant, time: environment.now)
        environment.remember(proof)
        state.withLock { if !$0.isInvalid { $0.proofs.remember(proof) } }
    }
}

extension AccessRequirement {
    /// Whether a method is among those that can satisfy it.
    fileprivate func isHelped(by method: PresenceMethod) -> Bool {
        alternatives.contains { $0.contains(method) }
    }

    /// Whether biometry can satisfy it.
    var mentionsBiometry: Bool { isHelped(by: .biometry) }
}

#endif
