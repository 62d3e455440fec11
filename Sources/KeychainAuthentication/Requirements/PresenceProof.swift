// PresenceProof: what is remembered of a person who proved to be present.

#if !canImport(Darwin)

package import KeychainCore

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
