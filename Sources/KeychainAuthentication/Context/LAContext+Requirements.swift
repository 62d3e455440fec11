// LAContext+Requirements: what a context shows for its person when the keychain is called.
//   (1) Whoever forbids questions gets `notInteractive` where one would be asked, whatever else
//       stands in the way: callers find out that way whether an item needs somebody.

#if !canImport(Darwin)

package import KeychainModel
import Synchronization

/// On whose behalf somebody is asked.
package struct Asking: Sendable {
    package let keychain: KeychainConnection
    /// Why, for the person. May be empty.
    package let reason: String
    /// Whether anybody may be asked at all.
    package let isAllowed: Bool

    package init(_ keychain: KeychainConnection, reason: String, isAllowed: Bool = true) {
        self.keychain = keychain
        self.reason = reason
        self.isAllowed = isAllowed
    }
}

extension LAContext {
    /// Gets what a requirement asks for, from what the context knows or from a person.
    ///
    /// - Returns: What opens the items that have the requirement.
    package func satisfy(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) -> Authorization {
        try checkIsValid()
        var authorization = Authorization()
        if !requirement.needsNobody {
            authorization.grant = try provePresence(requirement, asking)
        }
        if requirement.needsApplicationPassword {
            if knownPassword == nil { try askForPassword(.applicationPassword, asking) }
            authorization.applicationPassword = knownPassword
        }
        return authorization
    }

    /// Gets what an item to be takes: a password to encrypt with, and the certainty that somebody
    /// can open the item at all.
    package func prepare(
        _ requirement: AccessRequirement, _ asking: Asking
    ) throws(AuthenticationFailure) -> Authorization {
        try checkIsValid()
        if !requirement.needsNobody {
            let possible = try possibilities(asking.keychain)
            let step = requirement.nextStep(proven: [], possible)
            if case .impossible(let code) = step { throw .refused(code) }
        }
        var authorization = Authorization()
        if requirement.needsApplicationPassword {
            if knownPassword == nil { try askForNewPassword(asking) }
            authorization.applicationPassword = knownPassword
        }
        return authorization
    }

    /// What the context can show without asking: the password alone, since what a grant opens
    /// depends on the item.
    package var authorizationAtHand: Authorization {
        get throws(AuthenticationFailure) {
            try checkIsValid()
            return Authorization(applicationPassword: knownPassword)
        }
    }

    /// Forgets a grant that the keychain didn't take: it was locked meanwhile.
    package func forget(_ grant: AuthenticationGrant) {
        state.withLock { $0.proofs.removeAll { $0.grant == grant } }
        AuthenticationEnvironment.inUse.forget(grant)
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

    func checkIsValid() throws(AuthenticationFailure) {
        if state.withLock({ $0.isInvalid }) { throw .refused(.invalidContext) }
    }
}

#endif
