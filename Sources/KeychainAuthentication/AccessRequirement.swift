// AccessRequirement: what constraints ask for, which proofs satisfy them, and what is remembered of
// a person who gave one. No input or output: everything that decides is an argument.
//   (1) An application password is asked for beside everything else, also with `or`: it takes part
//       in the encryption, and nothing can stand in for it.
//   (2) The other conditions are all needed, or with `or` one of them.

#if !canImport(Darwin)

package import KeychainCore

/// A way for a person to prove to be present.
package enum PresenceMethod: Hashable, Sendable {
    case passcode
    case biometry
    case companion
}

/// What must be shown before a secret is opened.
package struct AccessRequirement: Hashable, Sendable {
    /// Sets of methods, of each of which all must be proven. One set is enough; an empty one asks
    /// for no person.
    package let alternatives: [Set<PresenceMethod>]
    package let needsApplicationPassword: Bool

    package init(alternatives: [Set<PresenceMethod>], needsApplicationPassword: Bool = false) {
        self.alternatives = alternatives
        self.needsApplicationPassword = needsApplicationPassword
    }

    /// What an item's constraints ask for. The use of a private key alone asks for nothing.
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
        // For which enrollment, the keychain says.
        (.biometryCurrentSet, [[.biometry]]),
        (.companion, [[.companion]]),
    ]

    /// What a policy asks for.
    package init(_ policy: LAPolicy) {
        switch policy {
        case .deviceOwnerAuthentication: self.init(.userPresence)
        case .deviceOwnerAuthenticationWithBiometrics: self.init(.biometryAny)
        case .deviceOwnerAuthenticationWithCompanion: self.init(.companion)
        case .deviceOwnerAuthenticationWithBiometricsOrCompanion:
            self.init([.biometryAny, .companion, .or])
        }
    }

    /// Whether no person has to prove anything.
    package var needsNoPerson: Bool { alternatives.contains([]) }
}

/// Which methods could be used now.
package struct PresencePossibilities: Hashable, Sendable {
    /// Whether a passcode is set.
    package var passcode: Bool
    /// Why biometry can't be used; nil: it can.
    package var biometryObstacle: LAError.Code?

    package init(passcode: Bool, biometryObstacle: LAError.Code?) {
        self.passcode = passcode
        self.biometryObstacle = biometryObstacle
    }

    /// Why a method can't be used; nil: it can.
    package func obstacle(to method: PresenceMethod) -> LAError.Code? {
        switch method {
        case .passcode: passcode ? nil : .passcodeNotSet
        case .biometry: biometryObstacle
        case .companion: .companionNotAvailable
        }
    }
}

/// What is to be done next about a requirement for a person's presence.
package enum PresenceStep: Hashable, Sendable {
    /// Nothing: it is satisfied.
    case none
    case askPasscode
    /// `mayFallBack`: the passcode would do as well.
    case recognize(mayFallBack: Bool)
    /// It can't be satisfied now.
    case impossible(LAError.Code)
}

extension AccessRequirement {
    package func isSatisfied(by proven: Set<PresenceMethod>) -> Bool {
        alternatives.contains { $0.isSubset(of: proven) }
    }

    /// Decides what comes next. Where biometry and passcode both would do, biometry is first: it
    /// asks less of the person.
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

    /// The order in which obstacles are told.
    private static let order: [PresenceMethod] = [.passcode, .biometry, .companion]
}

// MARK: - Proofs

/// One successful authentication.
package struct PresenceProof: Hashable, Sendable {
    package let method: PresenceMethod
    package let grant: AuthenticationGrant
    /// When, by the clock of the environment.
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

    /// Remembers a proof in place of an earlier one by the same method.
    package mutating func remember(_ proof: PresenceProof) {
        removeAll { $0.method == proof.method }
        append(proof)
    }

    /// The proofs of an age of `duration` at the most.
    package func notOlder(than duration: Duration, at now: Duration) -> [PresenceProof] {
        filter { now - $0.time <= duration }
    }
}

#endif
