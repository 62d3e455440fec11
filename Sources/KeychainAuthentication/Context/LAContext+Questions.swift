// LAContext+Questions: the application password, and asking.

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

    /// Asks twice, until both answers are the same.
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

    /// A password of the program's own is the program's to bring: where there is no person who
    /// could enter it instead, not having it is like having a wrong one, as at Apple.
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

    // MARK: Questions

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

    /// Asks while ``invalidate()`` can take the question back.
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
        // Also where the answer came first: it is no longer wanted.
        if interruption.isInterrupted { throw .refused(.appCancel) }
        return outcome
    }
}

extension SecretBytes {
    /// For an interface that takes data. The copy isn't erased.
    var dataCopy: Data { Data(plainBytes) }
}

#endif
