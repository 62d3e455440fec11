// LAContext+Evaluation: evaluates policies and access controls independently of calls to the
// keychain.

#if !canImport(Darwin)

import Dispatch
import KeychainRuntime
import KeychainEngine
import KeychainCore
import Synchronization

extension LAContext {
    /// The reason that a policy can't be evaluated, or `nil` if it can.
    func obstacle(to policy: LAPolicy) -> AuthenticationFailure? {
        let requirement = AccessRequirement(policy)
        let environment = AuthenticationEnvironment.inUse
        do {
            try checkIsValid()
            let possible = try possibilities(try Self.keychain())
            if case .impossible(let code) = requirement.nextStep(proven: [], possible) {
                return .refused(code)
            }
        } catch {
            return error
        }
        guard environment.authenticator.canAsk else { return .refused(.notInteractive) }
        if requirement.mentions(.biometry) { noteEnrollment() }
        return nil
    }

    /// Evaluates a requirement for the keychain of the current task.
    package func evaluate(
        _ requirement: AccessRequirement, reason: String
    ) throws(AuthenticationFailure) {
        try satisfy(requirement, Asking(try Self.keychain(), reason: reason))
    }

    /// Evaluates a requirement for a new item or key: obtains the application password if one is
    /// required. The user does not have to prove presence, but if the passcode is among the methods
    /// of the requirement, a passcode must be set.
    package func evaluateCreation(
        _ requirement: AccessRequirement, reason: String
    ) throws(AuthenticationFailure) {
        let asking = Asking(try Self.keychain(), reason: reason)
        try prepare(requirement, asking)
        if requirement.mentions(.passcode), try !possibilities(asking.keychain).passcode {
            throw .refused(.passcodeNotSet)
        }
    }

    /// Performs an evaluation on another thread, with the keychain and the authenticator of the
    /// calling task.
    package func inBackground(
        _ reply: @escaping @Sendable (Bool, (any Error)?) -> Void,
        _ evaluation: @escaping @Sendable (LAContext) throws(AuthenticationFailure) -> Void
    ) {
        let keychain = KeychainContext.connection
        let environment = AuthenticationEnvironment.current
        DispatchQueue.global().async {
            let result = KeychainContext.$connection.withValue(keychain) {
                AuthenticationEnvironment.$current.withValue(environment) {
                    Result { () throws(AuthenticationFailure) in try evaluation(self) }
                }
            }
            switch result {
            case .success: reply(true, nil)
            case .failure(let failure): reply(false, failure.localError)
            }
        }
    }

    /// Records the current biometric enrollment, if the hardware can be used.
    func noteEnrollment() {
        guard
            case .ready(_, let enrollment) = AuthenticationEnvironment.inUse.authenticator.biometry
        else { return }
        state.withLock { $0.enrollment = enrollment }
    }

    private static func keychain() throws(AuthenticationFailure) -> KeychainHandler {
        do {
            return try KeychainContext.current().handler
        } catch {
            throw .keychain(error)
        }
    }
}

#endif
