// AuthenticatingService: a keychain in front of which a person is authenticated.
//   (1) `authenticationNeeded` never leaves it: it is answered with proofs, or with the reason why
//       there are none.
//   (2) Whether proofs are enough is the keychain's to decide. Here they are got, and shown again.
//   (3) A request that needs no person costs one call and makes no context.

#if !canImport(Darwin)

package import FoundationEssentials
package import KeychainModel

package struct AuthenticatingService: KeychainService {
    private let service: any KeychainService
    private let options: AuthenticationOptions

    package init(_ service: any KeychainService, _ options: AuthenticationOptions) {
        self.service = service
        self.options = options
    }

    // MARK: Requests

    package func add(_ item: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> Item {
        try authenticated(.creation) { authorization throws(KeychainFailure) in
            var item = item
            item.authorization = authorization
            return try service.add(item, as: caller)
        }
    }

    package func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        let retrieval = skipping(retrieval)
        return try authenticated(.use) { authorization throws(KeychainFailure) in
            var query = query
            query.authorization = authorization
            return try service.find(query, retrieval, as: caller)
        }
    }

    package func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try authenticated(purpose(changes)) { authorization throws(KeychainFailure) in
            var query = query
            query.authorization = authorization
            return try service.update(query, changes, as: caller)
        }
    }

    package func put(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        as caller: AccessGroups
    ) throws(KeychainFailure) {
        let encrypts = item.constraints.contains(.applicationPassword)
        try authenticated(encrypts ? .both : purpose(changes)) {
            authorization throws(KeychainFailure) in
            var item = item
            var query = query
            item.authorization = authorization
            query.authorization = authorization
            try service.put(item, orChange: query, changes, as: caller)
        }
    }

    package func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try service.delete(query, tombstones: tombstones, as: caller)
    }

    package func addAll(
        _ items: [NewItem], as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        try authenticated(.creation) { authorization throws(KeychainFailure) in
            var items = items
            for index in items.indices { items[index].authorization = authorization }
            return try service.addAll(items, as: caller)
        }
    }

    package func findIdentities(
        _ query: IdentityQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Identity] {
        let retrieval = skipping(retrieval)
        return try authenticated(.use) { authorization throws(KeychainFailure) in
            try service.findIdentities(query.showing(authorization), retrieval, as: caller)
        }
    }

    package func updateIdentities(
        _ query: IdentityQuery, _ changes: IdentityChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try authenticated(purpose(changes.key)) { authorization throws(KeychainFailure) in
            try service.updateIdentities(query.showing(authorization), changes, as: caller)
        }
    }

    package func deleteIdentities(
        _ query: IdentityQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try service.deleteIdentities(query, tombstones: tombstones, as: caller)
    }

    package func makeSecureEnclaveKey(
        _ key: NewSecureEnclaveKey, as caller: AccessGroups
    ) throws(KeychainFailure) -> SecureEnclaveKey {
        try authenticated(.creation) { authorization throws(KeychainFailure) in
            var key = key
            key.authorization = authorization
            return try service.makeSecureEnclaveKey(key, as: caller)
        }
    }

    // An authorization that comes with such a request is replaced, as that of a query is.

    package func sign(
        digest: Data, with key: Data, authorization: Authorization, as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try authenticated(.use) { authorization throws(KeychainFailure) in
            try service.sign(digest: digest, with: key, authorization: authorization, as: caller)
        }
    }

    package func sharedSecret(
        of key: Data, with publicKey: Data, authorization: Authorization,
        as caller: AccessGroups
    ) throws(KeychainFailure) -> Data {
        try authenticated(.use) { authorization throws(KeychainFailure) in
            try service.sharedSecret(
                of: key, with: publicKey, authorization: authorization, as: caller)
        }
    }

    // MARK: What needs no authentication

    package func hasSecureEnclave() throws(KeychainFailure) -> Bool {
        try service.hasSecureEnclave()
    }

    package func authenticate(
        passcode: Data
    ) throws(KeychainFailure) -> AuthenticationGrant {
        try service.authenticate(passcode: passcode)
    }

    package func knowsPasscode() throws(KeychainFailure) -> Bool {
        try service.knowsPasscode()
    }

    package func subscribe(
        _ handler: @escaping @Sendable () -> Void
    ) throws(KeychainFailure) -> any ChangeSubscription {
        try service.subscribe(handler)
    }

    // MARK: Rounds

    /// What the password of an item is wanted for.
    private enum Purpose {
        /// To open an item.
        case use
        /// To encrypt one that is about to be added or gets a password now.
        case creation
        case both
    }

    private func purpose(_ changes: ItemChanges) -> Purpose {
        changes.constraints?.contains(.applicationPassword) == true ? .both : .use
    }

    private func skipping(_ retrieval: Retrieval) -> Retrieval {
        var retrieval = retrieval
        if options.skipsConstrained { retrieval.skipsConstrained = true }
        return retrieval
    }

    /// The most rounds that a request takes: items can ask for different things.
    private static let rounds = 20

    /// Carries out a request, with as much proof as it turns out to need.
    private func authenticated<Answer>(
        _ purpose: Purpose, _ request: (Authorization) throws(KeychainFailure) -> Answer
    ) throws(KeychainFailure) -> Answer {
        // A context that is invalid matters once it is needed.
        let known = options.context.flatMap { context in
            Result { () throws(AuthenticationFailure) in
                try context.authorization(for: service)
            }.success
        }
        var run = Run(
            context: options.context, shown: known ?? Authorization(),
            asksForNewPassword: purpose != .use, asksForPresence: purpose != .creation)
        for _ in 0..<Self.rounds {
            var shown = run.shown
            // The one of now: it may have changed while the person was asked.
            shown.enrollment =
                AuthenticationEnvironment.inUse(for: service).authenticator.biometry
                .enrollmentDigest
            let outcome = Result { () throws(KeychainFailure) in try request(shown) }
            switch outcome {
            case .success(let answer): return answer
            case .failure(let failure): try run.answer(failure, options, service)
            }
        }
        throw KeychainFailure(.authFailed, "The items keep asking for authentication.")
    }

    /// A request on its way.
    private struct Run {
        var context: LAContext?
        var shown: Authorization
        let asksForNewPassword: Bool
        let asksForPresence: Bool
        var wrongPasswordCount = 0

        /// Gets what a failure asks for.
        /// - Throws: The failure, if it asks for nothing, or why there is nothing to be got.
        mutating func answer(
            _ failure: KeychainFailure, _ options: AuthenticationOptions,
            _ service: any KeychainService
        ) throws(KeychainFailure) {
            let isWrongPassword =
                failure.status == .authFailed && failure.item != nil
                && shown.applicationPassword != nil && context?.knowsEnteredPassword == true
            guard isWrongPassword || failure.constraints != nil else { throw failure }
            let context = context ?? LAContext()
            self.context = context
            let asking = Asking(
                service, reason: options.reason ?? context.localizedReason,
                isAllowed: options.allowsQuestions)
            do {
                if let constraints = failure.constraints {
                    try satisfy(AccessRequirement(constraints), context, asking)
                } else {
                    wrongPasswordCount += 1
                    try context.replaceWrongPassword(afterAttempt: wrongPasswordCount, asking)
                }
                shown = try context.authorization(for: service)
            } catch {
                throw error.keychainFailure
            }
        }

        private func satisfy(
            _ requirement: AccessRequirement, _ context: LAContext, _ asking: Asking
        ) throws(AuthenticationFailure) {
            if asksForNewPassword { try context.prepare(requirement, asking) }
            guard asksForPresence else { return }
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

extension KeychainConnection {
    /// The keychain with authentication in front of it.
    package func authenticating(_ options: AuthenticationOptions) -> KeychainConnection {
        KeychainConnection(service: AuthenticatingService(service, options), caller: caller)
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

extension IdentityQuery {
    fileprivate func showing(_ authorization: Authorization) -> IdentityQuery {
        var query = self
        query.certificate.authorization = authorization
        query.key.authorization = authorization
        return query
    }
}

extension Result {
    fileprivate var success: Success? {
        if case .success(let success) = self { success } else { nil }
    }
}

#endif
