// AccessRequirement: what an item's constraints require, which proofs satisfy them, and which
// proofs are remembered. This file performs no input or output: all inputs of a decision are
// arguments.
//   (1) An application password is always required in addition to the other conditions, even with
//       `or`, because the secret can't be decrypted without it.
//   (2) Of the other conditions, all must be satisfied or, with `or`, one of them.

#if !canImport(Darwin)

package import KeychainCore

/// A method by which a user can prove presence.
package enum PresenceMethod: Hashable, Sendable {
    case passcode
    case biometry
    case companion
}

/// The proofs that are required before a secret is opened.
package struct AccessRequirement: Hashable, Sendable {
    /// Alternative sets of methods. A proof by every method of at least one set is required. An
    /// empty set requires no proof of presence.
    package let alternatives: [Set<PresenceMethod>]
    package let needsApplicationPassword: Bool

    package init(alternatives: [Set<PresenceMethod>], needsApplicationPassword: Bool = false) {
        self.alternatives = alternatives
        self.needsApplicationPassword = needsApplicationPassword
    }

    /// The requirement of an item's constraints. `privateKeyUsage` alone requires no proof.
    package init(_ constraints: AccessConstraints) {
        let conditions = Self.conditions.filter { constraints.contains($0.0) }.map(\.1)
        let alternatives: [Set<PresenceMethod>] =
            if conditions.isEmpty {
                [[]]
            } else if constraints.contains(.or) {
                conditions.flatMap { $0 }
            } else {
                conditions.reduce([[]]) { sets, ways in
                    sets.flatMap { set in ways.map { set.union($0) } }
                }
            }
        self.init(
            alternatives: alternatives,
            needsApplicationPassword: constraints.contains(.applicationPassword))
    }

    private static let conditions: [(AccessConstraints, [Set<PresenceMethod>])] = [
        (.userPresence, [[.passcode], [.biometry]]),
        (.devicePasscode, [[.passcode]]),
        (.biometryAny, [[.biometry]]),
        // The keychain determines which enrollment is required.
        (.biometryCurrentSet, [[.biometry]]),
        (.companion, [[.companion]]),
    ]

    /// The requirement of a policy.
    package init(_ policy: LAPolicy) {
        switch policy {
        case .deviceOwnerAuthentication: self.init(.userPresence)
        case .deviceOwnerAuthenticationWithBiometrics: self.init(.biometryAny)
        case .deviceOwnerAuthenticationWithCompanion: self.init(.companion)
        case .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            self.init([.biometryAny, .companion, .or])
        }
    }

    /// Whether no proof of presence is required.
    package var needsNoPerson: Bool { alternatives.contains([]) }
}

/// The methods that can be used now.
package struct PresencePossibilities: Hashable, Sendable {
    /// Whether a passcode is set.
    package var passcode: Bool
    /// The reason that biometry can't be used, or `nil` if it can.
    package var biometryObstacle: LAError.Code?

    package init(passcode: Bool, biometryObstacle: LAError.Code?) {
        self.passcode = passcode
        self.biometryObstacle = biometryObstacle
    }

    /// The reason that a method can't be used, or `nil` if it can.
    package func obstacle(to method: PresenceMethod) -> LAError.Code? {
        switch method {
        case .passcode: passcode ? nil : .passcodeNotSet
        case .biometry: biometryObstacle
        case .companion: .companionNotAvailable
        }
    }
}

/// The next step towards satisfying a requirement for presence.
package enum PresenceStep: Hashable, Sendable {
    /// No step is needed: the requirement is satisfied.
    case none
    case askPasscode
    /// Ask for biometric recognition. With `mayFallBack`, the passcode would also be sufficient.
    case recognize(mayFallBack: Bool)
    /// The requirement can't be satisfied now.
    case impossible(LAError.Code)
}

extension AccessRequirement {
    package func isSatisfied(by proven: Set<PresenceMethod>) -> Bool {
        alternatives.contains { $0.isSubset(of: proven) }
    }

    /// Determines the next step. If both biometry and the passcode would be sufficient, biometry
    /// comes first, because it requires less of the user.
    package func nextStep(
        proven: Set<PresenceMethod>, _ possible: PresencePossibilities
    ) -> PresenceStep {
        if isSatisfied(by: proven) { return .none }
        let open = alternatives.map { $0.subtracting(proven) }
        let ways = open.filter { $0.allSatisfy { possible.obstacle(to: $0) == nil } }
        if ways.contains(where: { $0.contains(.biometry) }) {
            return .recognize(mayFallBack: ways.contains([.passcode]))
        }
        if !ways.isEmpty { return .askPasscode }
        let obstacles = open.flatMap { set in
            Self.order.filter { set.contains($0) }.compactMap { possible.obstacle(to: $0) }
        }
        return .impossible(obstacles.first ?? .authenticationFailed)
    }

    /// The order in which the methods of one set are examined. The first obstacle is reported.
    private static let order: [PresenceMethod] = [.passcode, .biometry, .companion]
}

// MARK: - Proofs

/// One successful authentication.
package struct PresenceProof: Hashable, Sendable {
    package let method: PresenceMethod
    package let grant: AuthenticationGrant
    /// The time of the authentication, on the clock of the environment.
    package let time: Duration

    package init(method: PresenceMethod, grant: AuthenticationGrant, time: Duration) {
        self.method = method
        self.grant = grant
        self.time = time
    }
}

extension [PresenceProof] {
    /// The methods that were proven.
    package var methods: Set<PresenceMethod> { Set(map(\.method)) }

    /// Stores a proof, replacing an earlier one by the same method.
    package mutating func remember(_ proof: PresenceProof) {
        removeAll { $0.method == proof.method }
        append(proof)
    }

    /// The proofs that are at most `duration` old.
    package func notOlder(than duration: Duration, at now: Duration) -> [PresenceProof] {
        filter { now - $0.time <= duration }
    }
}

#endif
