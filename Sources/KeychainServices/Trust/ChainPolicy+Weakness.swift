// ChainPolicy+Weakness: algorithms and keys that are too weak to hang a chain on. The bounds are
// those of Apple's policies.

#if !canImport(Darwin)

internal import Foundation
internal import SwiftASN1

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
