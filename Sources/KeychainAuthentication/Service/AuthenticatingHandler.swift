// AuthenticatingHandler: a keychain in front of which a person is authenticated.
//   (1) `authenticationNeeded` never leaves it: it is answered with proofs, or with the reason why
//       there are none.
//   (2) Whether proofs are enough is the keychain's to decide. Here they are got, and shown again.
//   (3) A request that needs no person costs one call and makes no context.

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

    /// The most rounds that a request takes: items can ask for different things.
    private static let rounds = 20

    /// Carries out a request, with as much proof as it turns out to need.
    @discardableResult
    package func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        guard let purpose = request.purpose else {
            return try handler.perform(request, as: caller)
        }
        // A context that is invalid matters once it is needed.
        let known = try? options.context?.authorization(for: handler)
        var run = Run(
            context: options.context, shown: known ?? Authorization(), purpose: purpose)
        var request = request
        for _ in 0..<Self.rounds {
            // One that came with the request is replaced.
            request.authorization = run.shown
            // The one of now: it may have changed while the person was asked.
            request.authorization.enrollment =
                AuthenticationEnvironment.inUse(for: handler).authenticator.biometry
                .enrollmentDigest
            do throws(KeychainFailure) {
                return try handler.perform(request, as: caller)
            } catch {
                try run.answer(error, options, handler)
            }
        }
        throw KeychainFailure(.authFailed, "The items keep asking for authentication.")
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

    /// A request on its way.
    private struct Run {
        var context: LAContext?
        var shown: Authorization
        let purpose: AuthorizationPurpose
        var wrongPasswordCount = 0

        /// Gets what a failure asks for.
        /// - Throws: The failure, if it asks for nothing, or why there is nothing to be got.
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

        /// Whether something is to be sealed, for which a password is all that is asked for, and not
        /// an item opened, which the failure would name.
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
                // It should have been enough.
                context.forgetGrants(of: shown, for: asking.keychain)
            }
            try context.satisfy(requirement, asking)
        }
    }
}

/// A keychain with the person in front, and who speaks to it.
package typealias AuthenticatingConnection = KeychainConnection<AuthenticatingHandler>

extension ProcessConnection {
    /// The keychain with authentication in front of it.
    package func authenticating(_ options: AuthenticationOptions) -> AuthenticatingConnection {
        AuthenticatingConnection(
            handler: AuthenticatingHandler(handler, options), caller: caller)
    }
}

extension KeychainFailure {
    /// The constraints that are not satisfied, for a failure of that kind.
    fileprivate var constraints: AccessConstraints? {
        if case .authentication(let constraints) = cause { constraints } else { nil }
    }
}

extension Authorization {
    /// The methods whose proof it holds.
    fileprivate var methods: Set<PresenceMethod> {
        var methods: Set<PresenceMethod> = []
        if grant != nil { methods.insert(.passcode) }
        if recognition != nil { methods.insert(.biometry) }
        return methods
    }
}

#endif
