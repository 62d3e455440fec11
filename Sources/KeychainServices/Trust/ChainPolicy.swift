// ChainPolicy: what a chain of certificates must be like to be trusted.
//   (1) Signatures and the search for chains are X509's; every chain comes here before it counts.
//   (2) Each refusal is kept with its code: X509 itself keeps texts only.
//   (3) Algorithms and keys that are too weak to hang a chain on are refused. The bounds are those
//       of Apple's policies.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1
@_spi(FixedExpiryValidationTime) internal import X509

/// The chains that were refused, in the order in which they were tried.
final class RefusedChains {
    struct Refusal {
        /// From the leaf to the anchor, in DER.
        let chain: [SecCertificate]
        let failure: TrustFailure
    }

    var refusals: [Refusal] = []
}

/// The rules of RFC 5280 and of some policies of ours.
struct ChainPolicy: VerifierPolicy {
    let policies: [SecPolicy]
    let date: Date
    let refused: RefusedChains

    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] =
        RFC5280Policy().verifyingCriticalExtensions + [
            // The policies below look at these two.
            .extendedKeyUsage, .subjectAlternativeName,
            // Which certificate policies a chain has matters to callers that ask for some, and none
            // can here. A demand for one, by policy constraints, stays unhandled.
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

    /// Why a chain of one, an anchor itself, is refused; nil if it isn't.
    func failure(ofAnchor leaf: SecCertificate) -> TrustFailure? {
        leaf.criticalExtensionFailure(verifyingCriticalExtensions) ?? demandFailure(of: [leaf])
            ?? validityFailure(of: [leaf]) ?? weaknessFailure(of: [leaf])
    }

    /// What the policies demand of the leaf, and of the authorities between it and the anchor.
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

    /// What RFC 5280 asks of those who sign certificates, and X509 leaves out: critical extensions
    /// that can be read, version 3, unless it is the anchor, and a key usage, if there is one, for
    /// signing certificates.
    private func authorityFailure(of chain: [SecCertificate]) -> TrustFailure? {
        for certificate in chain.dropFirst() {
            if let failure = certificate.criticalExtensionFailure(verifyingCriticalExtensions) {
                return failure
            }
            if let usage = certificate.keyUsage, usage & 0b0000_0100 == 0 {
                return TrustFailure(
                    status: errSecKeyUsageIncorrect,
                    reason: "\(certificate.nameForPeople) is not for signing certificates.",
                    isFatal: true)
            }
        }
        for certificate in chain.dropFirst().dropLast() where certificate.structure.version < 3 {
            return TrustFailure(
                status: errSecNoBasicConstraints,
                reason: "\(certificate.nameForPeople) doesn't say that it is an authority.",
                isFatal: true)
        }
        return nil
    }

    private func ruleFailure(of chain: UnverifiedCertificateChain) -> TrustFailure? {
        // A leaf that is an anchor itself needs no authority, so it needn't be one.
        guard chain.count > 1 else { return nil }
        let rules = RFC5280Policy(fixedExpiryValidationTime: date)
        guard case .failsToMeetPolicy(let reason) = rules.chainMeetsPolicyRequirements(chain: chain)
        else { return nil }
        return TrustFailure(
            status: errSecNotTrusted, reason: "The chain breaks a rule. \(reason)", isFatal: true)
    }
}

extension SecCertificate {
    /// nil if X509 can't encode the certificate, which it read.
    convenience init?(_ certificate: Certificate) {
        var serializer = DER.Serializer()
        guard (try? serializer.serialize(certificate)) != nil else { return nil }
        self.init(der: Data(serializer.serializedBytes))
    }

    /// Why the certificate is not valid at a moment; nil if it is.
    ///
    /// At a moment that is no number nothing is valid: it is neither before nor after any other, and
    /// X509 traps on it.
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

    /// Why the certificate can't be judged: it says of an extension that it must be understood, and
    /// nothing here looks at it or can read it. nil if there is no such extension.
    func criticalExtensionFailure(_ handled: [ASN1ObjectIdentifier]) -> TrustFailure? {
        let isUnhandled = structure.extensions.contains {
            $0.isCritical && !(handled.contains($0.identifier) && $0.isReadable)
        }
        guard isUnhandled else { return nil }
        return TrustFailure(
            status: errSecUnknownCriticalExtensionFlag,
            reason: "\(nameForPeople) has a critical extension that nothing here understands.",
            isFatal: true)
    }
}

extension CertificateStructure.Extension {
    /// Whether the value is, on the outside, what the extensions that are looked at hold: bits of
    /// the key usage, and a sequence in all others.
    fileprivate var isReadable: Bool {
        let kind: ASN1Identifier = identifier == .keyUsage ? .bitString : .sequence
        return (try? DER.parse(value))?.identifier == kind
    }
}

extension ASN1ObjectIdentifier {
    static let certificatePolicies: ASN1ObjectIdentifier = [2, 5, 29, 32]
}

// MARK: - Weakness

extension ChainPolicy {
    /// Why a chain is too weak; nil if it isn't. The anchor's own signature means nothing.
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
        // Apple takes 1024 bits where it is not for connections; X509 takes no such key at all.
        for certificate in chain {
            if let bitCount = certificate.modulusBitCount, bitCount < 2048 {
                return TrustFailure(
                    status: errSecUnsupportedKeySize,
                    reason: "\(certificate.nameForPeople) has an RSA key of \(bitCount) bits only.",
                    isFatal: true)
            }
        }
        return nil
    }

    /// RSA with MD2 and MD5.
    private static let broken: Set<ASN1ObjectIdentifier> = [
        [1, 2, 840, 113_549, 1, 1, 2], [1, 2, 840, 113_549, 1, 1, 4],
    ]

    /// RSA and ECDSA with SHA-1 as well.
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
    /// The size of an RSA key; nil if the key is of another kind.
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
