// ChainPolicy: the requirements that a chain of certificates must meet to be trusted.
//   (1) X509 verifies signatures and searches for chains. Every chain it finds is checked here
//       before it is accepted.
//   (2) If a chain doesn't meet a requirement, the failure is recorded here with its status code,
//       because X509 keeps only a text.
//   (3) Weak algorithms and keys are rejected. The limits are those of Apple's policies, except
//       that every policy here rejects RSA keys of less than 2048 bits.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
@_spi(FixedExpiryValidationTime) internal import X509

/// The chains that were rejected, in the order in which they were tried.
final class RefusedChains {
    struct Refusal {
        /// The chain, from the leaf to the anchor.
        let chain: [SecCertificate]
        let failure: TrustFailure
    }

    var refusals: [Refusal] = []
}

/// The rules of RFC 5280, and this module's policies.
struct ChainPolicy: VerifierPolicy {
    let policies: [SecPolicy]
    let date: Date
    let refused: RefusedChains

    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] =
        RFC5280Policy().verifyingCriticalExtensions + [
            // The policies check these two.
            .extendedKeyUsage, .subjectAlternativeName,
            // Certificate policies matter only if a caller or a certificate requires some. With
            // this API, a caller can't. A certificate can, with the policy constraints extension.
            // That extension is not in this list, so a certificate in which it is critical is
            // rejected.
            .certificatePolicies,
        ]

    mutating func chainMeetsPolicyRequirements(
        chain: UnverifiedCertificateChain
    ) async -> PolicyEvaluationResult {
        let certificates = chain.compactMap { SecCertificate($0) }
        guard certificates.count == chain.count else {
            return .failsToMeetPolicy(reason: "A certificate can't be encoded.")
        }
        let failure =
            demandFailure(of: certificates)
            ?? validityFailure(of: certificates) ?? weaknessFailure(of: certificates)
            ?? authorityFailure(of: certificates) ?? ruleFailure(of: chain)
        guard let failure else { return .meetsPolicy }
        refused.refusals.append(RefusedChains.Refusal(chain: certificates, failure: failure))
        return .failsToMeetPolicy(reason: failure.reason)
    }

    /// The reason to reject a chain that consists only of an anchor, or `nil`.
    func failure(ofAnchor leaf: SecCertificate) -> TrustFailure? {
        leaf.criticalExtensionFailure(verifyingCriticalExtensions) ?? demandFailure(of: [leaf])
            ?? validityFailure(of: [leaf]) ?? weaknessFailure(of: [leaf])
    }

    /// The reason why the leaf, or a certificate authority between it and the anchor, doesn't meet
    /// the requirements of the policies, or `nil`.
    private func demandFailure(of chain: [SecCertificate]) -> TrustFailure? {
        for policy in policies {
            if let failure = chain.first.flatMap({ policy.failure(of: $0) }) { return failure }
            for certificate in chain.dropFirst().dropLast() {
                if let failure = policy.failure(ofIntermediate: certificate) { return failure }
            }
        }
        return nil
    }

    private func validityFailure(of chain: [SecCertificate]) -> TrustFailure? {
        chain.lazy.compactMap { $0.validityFailure(at: date) }.first
    }

    /// The reason why an issuer doesn't meet RFC 5280, or `nil`. Only the requirements that X509
    /// doesn't check are checked: critical extensions must be readable, the version must be 3
    /// (except for the anchor), and the key usage, if present, must allow signing certificates.
    private func authorityFailure(of chain: [SecCertificate]) -> TrustFailure? {
        for certificate in chain.dropFirst() {
            if let failure = certificate.criticalExtensionFailure(verifyingCriticalExtensions) {
                return failure
            }
            if let usage = certificate.keyUsage, usage & 0b0000_0100 == 0 {
                return TrustFailure(
                    status: errSecKeyUsageIncorrect,
                    reason: "\(certificate.nameForPeople) is not allowed to sign certificates.",
                    isFatal: true)
            }
        }
        for certificate in chain.dropFirst().dropLast() where certificate.structure.version < 3 {
            return TrustFailure(
                status: errSecNoBasicConstraints,
                reason: "\(certificate.nameForPeople) is not a certificate authority.",
                isFatal: true)
        }
        return nil
    }

    private func ruleFailure(of chain: UnverifiedCertificateChain) -> TrustFailure? {
        // If the leaf is an anchor itself, there is no issuer to which the rules could apply.
        guard chain.count > 1 else { return nil }
        let rules = RFC5280Policy(fixedExpiryValidationTime: date)
        guard case .failsToMeetPolicy(let reason) = rules.chainMeetsPolicyRequirements(chain: chain)
        else { return nil }
        return TrustFailure(
            status: errSecNotTrusted, reason: "The chain breaks a rule. \(reason)", isFatal: true)
    }
}

extension SecCertificate {
    /// The result is `nil` if X509 can't encode the certificate.
    convenience init?(_ certificate: Certificate) {
        var serializer = DER.Serializer()
        guard (try? serializer.serialize(certificate)) != nil else { return nil }
        self.init(der: Data(serializer.serializedBytes))
    }

    /// The reason why the certificate is not valid at a given time, or `nil` if it is valid.
    ///
    /// If the time is NaN, no certificate is valid: comparisons with NaN are false, and X509 would
    /// trap on it.
    func validityFailure(at date: Date) -> TrustFailure? {
        let moment = date.timeIntervalSinceReferenceDate
        guard moment >= structure.notBefore.timeIntervalSinceReferenceDate else {
            return TrustFailure(
                status: errSecCertificateNotValidYet,
                reason: "\(nameForPeople) is not valid yet.")
        }
        guard moment <= structure.notAfter.timeIntervalSinceReferenceDate else {
            return TrustFailure(
                status: errSecCertificateExpired, reason: "\(nameForPeople) has expired.")
        }
        return nil
    }

    /// The failure if the certificate has a critical extension that is not checked here or can't be
    /// read, or `nil` if it has none. A certificate with such an extension can't be evaluated.
    func criticalExtensionFailure(_ handled: [ASN1ObjectIdentifier]) -> TrustFailure? {
        let isUnhandled = structure.extensions.contains {
            $0.isCritical && !(handled.contains($0.identifier) && $0.isReadable)
        }
        guard isUnhandled else { return nil }
        return TrustFailure(
            status: errSecUnknownCriticalExtensionFlag,
            reason: "\(nameForPeople) has a critical extension that is not supported.",
            isFatal: true)
    }
}

extension CertificateStructure.Extension {
    /// Whether the value's outermost ASN.1 type is the right one: BIT STRING for the key usage,
    /// SEQUENCE for all other extensions that are checked.
    fileprivate var isReadable: Bool {
        let kind: ASN1Identifier = identifier == .keyUsage ? .bitString : .sequence
        return (try? DER.parse(value))?.identifier == kind
    }
}

extension ASN1ObjectIdentifier {
    static let certificatePolicies: ASN1ObjectIdentifier = [2, 5, 29, 32]
}

// MARK: - Weak algorithms

extension ChainPolicy {
    /// The reason why a chain is too weak, or `nil` if it isn't. The anchor's own signature is not
    /// relevant.
    func weaknessFailure(of chain: [SecCertificate]) -> TrustFailure? {
        let isForConnections = policies.contains(where: \.isForConnections)
        let broken = isForConnections ? Self.brokenForConnections : Self.broken
        for certificate in chain.dropLast()
        where broken.contains(certificate.structure.signatureAlgorithm) {
            return TrustFailure(
                status: errSecInvalidDigestAlgorithm,
                reason: "\(certificate.nameForPeople) is signed with a broken hash function.",
                isFatal: true)
        }
        // Apple accepts RSA keys of 1024 bits for policies other than TLS, but X509 doesn't accept
        // keys of that size for any policy.
        for certificate in chain {
            if let bitCount = certificate.modulusBitCount, bitCount < 2048 {
                return TrustFailure(
                    status: errSecUnsupportedKeySize,
                    reason: "\(certificate.nameForPeople) has an RSA key of only \(bitCount) bits.",
                    isFatal: true)
            }
        }
        return nil
    }

    /// RSA with MD2 and with MD5.
    private static let broken: Set<ASN1ObjectIdentifier> = [
        [1, 2, 840, 113_549, 1, 1, 2], [1, 2, 840, 113_549, 1, 1, 4],
    ]

    /// The algorithms in ``broken``, and RSA and ECDSA with SHA-1.
    private static let brokenForConnections = broken.union([
        [1, 2, 840, 113_549, 1, 1, 5], [1, 2, 840, 10_045, 4, 1],
    ])
}

extension SecPolicy {
    fileprivate var isForConnections: Bool {
        switch purpose {
        case .server, .client: true
        case .basic, .mail: false
        }
    }
}

extension SecCertificate {
    /// The size of an RSA key in bits, or `nil` if the key is of another kind.
    fileprivate var modulusBitCount: Int? {
        guard let parts = try? DER.parse(Array(structure.publicKeyInfo)).children(.sequence),
            let algorithm = try? parts.first?.children(.sequence).first,
            let identifier = try? ASN1ObjectIdentifier(derEncoded: algorithm),
            identifier == .rsaEncryption,
            let numbers = try? DER.parse(Array(structure.publicKeyBits)).children(.sequence),
            let modulus = try? numbers.first?.primitive(.integer).drop(while: { $0 == 0 }),
            let first = modulus.first
        else { return nil }
        return modulus.count * 8 - first.leadingZeroBitCount
    }
}

extension ASN1ObjectIdentifier {
    fileprivate static let rsaEncryption: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 1, 1]
}

#endif
