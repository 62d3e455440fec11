// CertificateFilter: the conditions for certificates that a search specifies with `kSecMatch…`
// keys, in addition to attributes.

#if !canImport(Darwin)

package import FoundationEssentials

/// The conditions of a search for certificates and identities. A certificate matches if it
/// satisfies all conditions that are set.
package struct CertificateFilter: Sendable {
    /// `kSecMatchPolicy`: the policy that the certificate must satisfy. The certificate must also
    /// be valid on the date in ``validOn`` or, without one, at the time of the search.
    package var policy: SecPolicy?
    /// `kSecMatchIssuers`: names in DER. One of them must be the issuer of the certificate or of a
    /// certificate above it in the chain. Bytes that are not a name match nothing.
    package var issuers: [Data]?
    /// `kSecMatchValidOnDate`: the date on which the certificate must be valid.
    package var validOn: Date?
    /// `kSecMatchTrustedOnly`: whether a chain must lead to an anchor certificate of the system.
    package var trustedOnly: Bool
    /// `kSecMatchEmailAddressIfPresent`: an address that the certificate must contain, compared
    /// without regard to case. Despite the key's name, a certificate without addresses doesn't
    /// match.
    package var emailAddress: String?

    package init(
        policy: SecPolicy? = nil, issuers: [Data]? = nil, validOn: Date? = nil,
        trustedOnly: Bool = false, emailAddress: String? = nil
    ) {
        self.policy = policy
        self.issuers = issuers
        self.validOn = validOn
        self.trustedOnly = trustedOnly
        self.emailAddress = emailAddress
    }

    /// Whether no condition is set.
    package var acceptsEverything: Bool {
        policy == nil && issuers == nil && validOn == nil && !trustedOnly && emailAddress == nil
    }

    /// Whether a certificate satisfies all conditions.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - issuersOf: Returns the certificates in the keychain whose subject is the issuer of its
    ///     argument. It is called only if a condition concerns the chain.
    /// - Returns: `true` if all conditions are satisfied.
    package func accepts(
        _ certificate: SecCertificate, issuersOf: (SecCertificate) -> [SecCertificate]
    ) -> Bool {
        accepts(certificate, systemRoots: .shared, issuersOf: issuersOf)
    }

    /// As above, but with `systemRoots` as the system's anchor certificates.
    func accepts(
        _ certificate: SecCertificate, systemRoots: SystemRoots,
        issuersOf: (SecCertificate) -> [SecCertificate]
    ) -> Bool {
        if let emailAddress, !certificate.has(emailAddress: emailAddress) { return false }
        if policy != nil || validOn != nil {
            let date = validOn ?? Date()
            guard certificate.validityFailure(at: date) == nil else { return false }
        }
        if let policy, policy.failure(of: certificate) != nil { return false }
        guard issuers != nil || trustedOnly else { return true }
        let chain = Self.ancestors(of: certificate, issuersOf)
        if let issuers, !Self.hasIssuer(among: issuers, [certificate] + chain) { return false }
        return !trustedOnly || isTrusted(certificate, chain, systemRoots)
    }

    /// The issuers of a certificate, their issuers, and so on, for at most ten levels, which is
    /// Apple's limit.
    private static func ancestors(
        of certificate: SecCertificate, _ issuersOf: (SecCertificate) -> [SecCertificate]
    ) -> [SecCertificate] {
        var found: [SecCertificate] = []
        var level = [certificate]
        for _ in 0..<10 where !level.isEmpty {
            let next = level.flatMap(issuersOf).filter { $0 != certificate && !found.contains($0) }
            // Several certificates may have the same issuer.
            level = next.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
            found += level
        }
        return found
    }

    private static func hasIssuer(among names: [Data], _ chain: [SecCertificate]) -> Bool {
        let wanted = Set(names.compactMap { CertificateName(der: $0)?.normalizedContent })
        return chain.contains { wanted.contains($0.structure.issuer.normalizedContent) }
    }

    private func isTrusted(
        _ certificate: SecCertificate, _ others: [SecCertificate], _ systemRoots: SystemRoots
    ) -> Bool {
        TrustEvaluation(
            leaf: certificate, others: others, systemRoots: systemRoots,
            policies: [SecPolicyCreateBasicX509()], date: validOn ?? Date()
        ).outcome().failure == nil
    }
}

#endif
