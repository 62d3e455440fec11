// CertificateBundle: certificates in a PKCS #7 message that signs nothing (RFC 5652, section 5.1).

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore
internal import SwiftASN1

/// Certificates alone, as files with the endings p7b and p7c hold them.
enum CertificateBundle {
    private static let data: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]

    /// The certificates of a message, in its order. Whether it is signed is not looked at.
    ///
    /// - Throws: `decode` if the message or a certificate is damaged, or there is none.
    static func certificates(in bytes: [UInt8]) throws(KeychainFailure) -> [SecCertificate] {
        guard let parts = ASN1Node(encoded: bytes)?.sequence, parts.count == 2,
            parts[0].objectIdentifier == ExternalForm.signedData,
            let message = parts[1].tagged(0)?.sequence
        else { throw KeychainFailure(.decode, "The PKCS #7 message is damaged.") }
        let encoded = message.first { $0.isTagged(0) }?.elements ?? []
        var certificates: [SecCertificate] = []
        for element in encoded {
            // The other choices, attribute certificates, are tagged.
            guard element.identifier == .sequence else { continue }
            guard let certificate = SecCertificate(der: Data(element.encodedBytes)) else {
                throw KeychainFailure(.decode, "A certificate of the PKCS #7 message is damaged.")
            }
            certificates.append(certificate)
        }
        guard !certificates.isEmpty else {
            throw KeychainFailure(.decode, "The PKCS #7 message holds no certificates.")
        }
        return certificates
    }

    /// A message with the certificates, in their order.
    static func message(of certificates: [SecCertificate]) -> [UInt8] {
        DERValue.sequence([
            .identifier(ExternalForm.signedData),
            .tagged(
                0,
                .sequence([
                    .integer(1), .set([]), .sequence([.identifier(data)]),
                    .implicitConstructed(0, certificates.map { .encoded(Array($0.der)) }),
                    .set([]),
                ])),
        ]).bytes
    }
}

#endif
