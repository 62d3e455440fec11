// LAContext+Questions: application passwords, and prompts in general.

#if !canImport(Darwin)

import Foundation
import KeychainCrypto
import KeychainCore
import Synchronization

extension LAContext {
    // MARK: The application password

    var knownPassword: Data? {
        state.withLock { $0.password }?.bytes.dataCopy
    }

    func askForPassword(
        _ subject: Question.Subject, _ asking: Asking, problem: Question.Problem? = nil
    ) throws(AuthenticationFailure) {
        try checkMayAskForPassword(asking)
        keepPassword(try ask(question(subject, asking, problem: problem), asking))
    }

    /// Asks for the password twice, and repeats this until both inputs are equal, at most
    /// ``attempts`` times in all.
    func askForNewPassword(_ asking: Asking) throws(AuthenticationFailure) {
        try checkMayAskForPassword(asking)
        var problem: Question.Problem?
        for _ in 0..<Self.attempts {
            let first = try ask(
                question(.newApplicationPassword, asking, problem: problem), asking)
            let second = try ask(question(.newApplicationPasswordAgain, asking), asking)
            if first.isEqual(to: second) { return keepPassword(first) }
            problem = .notTheSame
        }
        throw .refused(.authenticationFailed)
    }

    /// Throws if the user must not or can't be asked for the password. The program is expected to
    /// provide an application password. If the user can't enter it instead, a missing password is
    /// treated like a wrong one, as on Apple platforms.
    private func checkMayAskForPassword(_ asking: Asking) throws(AuthenticationFailure) {
        try checkMayAsk(asking)
        guard AuthenticationEnvironment.inUse(for: asking.keychain).authenticator.canAsk else {
            throw .refused(.authenticationFailed)
        }
    }

    func keepPassword(_ bytes: SecretBytes) {
        state.withLock {
            if !$0.isInvalid { $0.password = ApplicationPassword(bytes: bytes, isEntered: true) }
        }
    }

    // MARK: Prompts

    func checkMayAsk(_ asking: Asking) throws(AuthenticationFailure) {
        if !asking.isAllowed || interactionNotAllowed { throw .refused(.notInteractive) }
    }

    func question(
        _ subject: Question.Subject, _ asking: Asking, problem: Question.Problem? = nil
    ) -> Question {
        Question(
            subject, reason: asking.reason, problem: problem, cancelTitle: localizedCancelTitle,
            fallbackTitle: localizedFallbackTitle)
    }

    func ask(
        _ question: Question, _ asking: Asking
    ) throws(AuthenticationFailure) -> SecretBytes {
        let authenticator = AuthenticationEnvironment.inUse(for: asking.keychain).authenticator
        guard authenticator.canAsk else { throw .refused(.notInteractive) }
        switch try open({ authenticator.ask(question, until: $0) }) {
        case .entered(let bytes): return bytes
        case .cancelled: throw .refused(.userCancel)
        case .interrupted: throw .refused(.appCancel)
        case .unavailable: throw .refused(.notInteractive)
        }
    }

    /// Runs a prompt that ``invalidate()`` can cancel.
    func open<Outcome>(
        _ ask: (Interruption) -> Outcome
    ) throws(AuthenticationFailure) -> Outcome {
        let interruption = Interruption()
        let isOpen = state.withLock { state in
            if !state.isInvalid { state.questions.append(interruption) }
            return !state.isInvalid
        }
        guard isOpen else { throw .refused(.invalidContext) }
        let outcome = ask(interruption)
        state.withLock { $0.questions.removeAll { $0 === interruption } }
        // Discard an answer that arrived before the interruption, too.
        if interruption.isInterrupted { throw .refused(.appCancel) }
        return outcome
    }
}

extension SecretBytes {
    /// A copy for an API that requires `Data`. The copy is not erased.
    var dataCopy: Data { Data(plainBytes) }
}

#endif
