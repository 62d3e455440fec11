// SecCertificate+Attributes: what the keychain stores about a certificate, derived from its bytes.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainCrypto
package import KeychainCore
internal import SwiftASN1

extension SecCertificate {
    /// The attributes of the certificate as an item, as Apple derives them. The label is not among
    /// them.
    package var itemAttributes: Attributes {
        var attributes: Attributes = [
            .certificateType: .number(Int64(structure.version)),
            .certificateEncoding: .number(Self.encodedAsDER),
            .subject: .data(structure.subject.normalizedContent),
            .issuer: .data(structure.issuer.normalizedContent),
            .serialNumber: .data(structure.serialNumber),
            .publicKeyHash: .data(publicKeyHash),
        ]
        if let identifier = subjectKeyIdentifier {
            attributes[.subjectKeyID] = .data(identifier)
        }
        return attributes
    }

    /// SHA-1 of the public key's bits: the application label of the keys that belong to it.
    var publicKeyHash: Data {
        Data(Fingerprint.sha1(of: Array(structure.publicKeyBits)))
    }

    /// The content of the extension of that name; nil if it is absent or can't be read.
    var subjectKeyIdentifier: Data? {
        guard let value = structure.value(of: .subjectKeyIdentifier),
            let bytes = try? DER.parse(value).primitive(.octetString)
        else { return nil }
        return Data(bytes)
    }

    /// The number of DER among the encodings of certificates.
    private static let encodedAsDER: Int64 = 3
}

extension ASN1ObjectIdentifier {
    static let subjectKeyIdentifier: ASN1ObjectIdentifier = [2, 5, 29, 14]
}

#endif
