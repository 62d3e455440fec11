// CertificateFilter: what a search by `kSecMatch…` keys asks of a certificate beyond its attributes.

#if !canImport(Darwin)

package import FoundationEssentials

/// The conditions of a search on certificates and identities. All that are set must hold.
package struct CertificateFilter: Sendable {
    /// `kSecMatchPolicy`: what the certificate is to be good for. It must be valid too.
    package var policy: SecPolicy?
    /// `kSecMatchIssuers`: names in DER, one of which must be that of the issuer or of an issuer
    /// further up. What is no name matches nothing.
    package var issuers: [Data]?
    /// `kSecMatchValidOnDate`: when the certificate must be valid.
    package var validOn: Date?
    /// `kSecMatchTrustedOnly`: whether a chain must lead to an authority that the system trusts.
    package var trustedOnly: Bool
    /// `kSecMatchEmailAddressIfPresent`: an address that the certificate must have, whatever the
    /// case of its letters. Despite the key's name, a certificate without addresses doesn't match.
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

    /// Whether nothing is asked.
    package var acceptsEverything: Bool {
        policy == nil && issuers == nil && validOn == nil && !trustedOnly && emailAddress == nil
    }

    /// Whether a certificate is one that the search asks for.
    ///
    /// - Parameters:
    ///   - certificate: The certificate.
    ///   - issuersOf: The certificates of the keychain whose subject is the issuer of a certificate.
    ///     It is asked for chains only.
    /// - Returns: Whether all conditions hold.
    package func accepts(
        _ certificate: SecCertificate, issuersOf: (SecCertificate) -> [SecCertificate]
    ) -> Bool {
        accepts(certificate, systemRoots: .shared, issuersOf: issuersOf)
    }

    /// As above, with other authorities than the system's.
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

    /// The issuers of a certificate, their issuers, and so on, ten times at most: Apple's bound.
    private static func ancestors(
        of certificate: SecCertificate, _ issuersOf: (SecCertificate) -> [SecCertificate]
    ) -> [SecCertificate] {
        var found: [SecCertificate] = []
        var level = [certificate]
        for _ in 0..<10 where !level.isEmpty {
            let next = level.flatMap(issuersOf).filter { $0 != certificate && !found.contains($0) }
            // A certificate may be the issuer of several.
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
