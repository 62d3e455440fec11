// AuthenticatingHandler: adds the authentication of the user to a keychain.
//   (1) If a request has an authorization (`Request.purpose` is not `nil`), its failure
//       `authenticationNeeded` is never passed on. This handler retries the request with proofs, or
//       throws the reason that it can't obtain them.
//   (2) Only the keychain decides whether proofs are sufficient. This handler obtains the proofs
//       and passes them to the keychain.
//   (3) A request that needs no authentication takes a single call and creates no context.

#if !canImport(Darwin)

package import KeychainCore
package import KeychainRuntime

package struct AuthenticatingHandler: RequestHandler {
    package let handler: KeychainHandler
    private let options: AuthenticationOptions

    package init(_ handler: KeychainHandler, _ options: AuthenticationOptions) {
        self.handler = handler
        self.options = options
    }

    /// The maximum number of attempts per request. Several are needed if items have different
    /// requirements.
    private static let rounds = 20

    /// Performs a request, obtaining proofs as the keychain requires them.
    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        guard let purpose = request.purpose else {
            return try handler.perform(request, as: caller)
        }
        // An invalid context is an error only when a proof is needed.
        let known = try? options.context?.authorization(for: handler)
        var run = Run(
            context: options.context, shown: known ?? Authorization(), purpose: purpose)
        var request = request
        for _ in 0..<Self.rounds {
            // An authorization that the request already contains is replaced.
            request.authorization = run.shown
            // Read the current enrollment for each attempt, because it may change while the user is
            // being asked.
            request.authorization.enrollment =
                AuthenticationEnvironment.inUse(for: handler).authenticator.biometry
                .enrollmentDigest
            do throws(KeychainFailure) {
                return try handler.perform(request, as: caller)
            } catch {
                try run.answer(error, options, handler)
            }
        }
        throw KeychainFailure(
            .authFailed, "The items still require authentication after many attempts.")
    }

    package func stream<R: StreamRequest>(
        _ request: R, as caller: AccessGroups, progress: (RequestProgress) -> Bool
    ) throws(KeychainFailure) -> R.Answer {
        try handler.stream(request, as: caller, progress: progress)
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        try self.handler.subscribe(handler)
    }

    /// A request in progress.
    private struct Run {
        var context: LAContext?
        var shown: Authorization
        let purpose: AuthorizationPurpose
        var wrongPasswordCount = 0

        /// Obtains the proofs that a failure requires, or asks for the application password again
        /// if the user entered a wrong one.
        /// - Throws: The failure if it requires neither; otherwise the reason that the proofs or
        ///   the password can't be obtained.
        mutating func answer(
            _ failure: KeychainFailure, _ options: AuthenticationOptions,
            _ handler: KeychainHandler
        ) throws(KeychainFailure) {
            let isWrongPassword =
                failure.status == .authFailed && failure.item != nil
                && shown.applicationPassword != nil && context?.knowsEnteredPassword == true
            guard isWrongPassword || failure.constraints != nil else { throw failure }
            let context = context ?? LAContext()
            self.context = context
            let asking = Asking(
                handler, reason: options.reason ?? context.localizedReason,
                isAllowed: options.allowsQuestions)
            do {
                if let constraints = failure.constraints {
                    let requirement = AccessRequirement(constraints)
                    if isToBeSealed(failure.item) {
                        try context.prepare(requirement, asking)
                    } else {
                        try satisfy(requirement, context, asking)
                    }
                } else {
                    wrongPasswordCount += 1
                    try context.replaceWrongPassword(afterAttempt: wrongPasswordCount, asking)
                }
                shown = try context.authorization(for: handler)
            } catch {
                throw error.keychainFailure
            }
        }

        /// Whether a failure is about sealing a secret, which requires only an application
        /// password. In a request that both opens and seals, only a failure to open names an item.
        private func isToBeSealed(_ item: ItemReference?) -> Bool {
            switch purpose {
            case .use: false
            case .creation: true
            case .both: item == nil
            }
        }

        private func satisfy(
            _ requirement: AccessRequirement, _ context: LAContext, _ asking: Asking
        ) throws(AuthenticationFailure) {
            let lacksPassword =
                requirement.needsApplicationPassword && shown.applicationPassword == nil
            if !lacksPassword, requirement.isSatisfied(by: shown.methods) {
                // These proofs should have been sufficient, so the keychain no longer accepts their
                // grants.
                context.forgetGrants(of: shown, for: asking.keychain)
            }
            try context.satisfy(requirement, asking)
        }
    }
}

/// A connection to a keychain that also authenticates the user.
package typealias AuthenticatingConnection = KeychainConnection<AuthenticatingHandler>

extension ProcessConnection {
    /// This connection with authentication of the user.
    package func authenticating(_ options: AuthenticationOptions) -> AuthenticatingConnection {
        AuthenticatingConnection(
            handler: AuthenticatingHandler(handler, options), caller: caller)
    }
}

extension KeychainFailure {
    /// The constraints that are not satisfied, if they are the cause of the failure.
    fileprivate var constraints: AccessConstraints? {
        if case .authentication(let constraints) = cause { constraints } else { nil }
    }
}

extension Authorization {
    /// The methods that the authorization contains proofs for.
    fileprivate var methods: Set<PresenceMethod> {
        var methods: Set<PresenceMethod> = []
        if grant != nil { methods.insert(.passcode) }
        if recognition != nil { methods.insert(.biometry) }
        return methods
    }
}

#endif
