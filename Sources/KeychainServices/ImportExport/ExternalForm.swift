// ExternalForm: what bytes from outside are, told by their outermost elements.
//   (1) The forms exclude each other: none of them begins as another does.

#if !canImport(Darwin)

internal import KeychainAsymmetricKeys
internal import SwiftASN1

/// The form of one item or container.
enum ExternalForm {
    case certificate
    /// PKCS #8, PKCS #1 or RFC 5915.
    case privateKey
    case encryptedPrivateKey
    /// SubjectPublicKeyInfo.
    case publicKey
    /// RSAPublicKey of PKCS #1.
    case rsaPublicKey
    case pkcs7
    case pkcs12

    /// The content type of a signed message, whose certificates PKCS #7 files hold.
    static let signedData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]

    /// - Returns: Nil for bytes of any other form.
    init?(_ bytes: [UInt8]) {
        guard let node = ASN1Node(encoded: bytes), let parts = node.sequence,
            let first = parts.first
        else { return nil }
        if first.objectIdentifier == Self.signedData, parts.count == 2 {
            self = .pkcs7
        } else if (2...3).contains(parts.count), first.integer == 3,
            parts[1].sequence?.first?.objectIdentifier != nil
        {
            self = .pkcs12
        } else if PrivateKeyInfo(encoded: bytes) != nil || PrivateKeyInfo.isRSAPrivateKey(parts)
            || PrivateKeyInfo.isECPrivateKey(parts)
        {
            self = .privateKey
        } else if parts.count == 3, first.sequence != nil, parts[1].sequence != nil,
            parts[2].identifier == .bitString
        {
            self = .certificate
        } else if parts.count == 2, first.sequence?.first?.objectIdentifier != nil {
            if parts[1].identifier == .bitString {
                self = .publicKey
            } else if EncryptedPrivateKey(node) != nil {
                self = .encryptedPrivateKey
            } else {
                return nil
            }
        } else if parts.count == 2, parts.allSatisfy({ $0.identifier == .integer }) {
            self = .rsaPublicKey
        } else {
            return nil
        }
    }

    /// The format that Apple counts the form to.
    var format: SecExternalFormat {
        switch self {
        case .certificate: .formatX509Cert
        case .privateKey, .publicKey, .rsaPublicKey: .formatOpenSSL
        case .encryptedPrivateKey: .formatWrappedPKCS8
        case .pkcs7: .formatPKCS7
        case .pkcs12: .formatPKCS12
        }
    }
}

extension SecExternalFormat {
    /// Whether the format can be imported and exported here.
    var isSupported: Bool {
        switch self {
        case .formatUnknown, .formatOpenSSL, .formatRawKey, .formatWrappedPKCS8, .formatX509Cert,
            .formatPEMSequence, .formatPKCS7, .formatPKCS12:
            true
        case .formatSSH, .formatBSAFE, .formatWrappedOpenSSL, .formatWrappedSSH, .formatWrappedLSH,
            .formatNetscapeCertSequence, .formatSSHv2:
            false
        }
    }

    /// The format that the ending of a file's name, or such an ending alone, stands for.
    init(fileNameOrExtension name: String) {
        let ending = name.split(separator: ".").last.map { $0.lowercased() }
        self =
            switch ending {
            case "p12", "pfx": .formatPKCS12
            case "p7", "p7b", "p7c", "p7m", "p7r", "p7s": .formatPKCS7
            case "cer", "crt", "der": .formatX509Cert
            case "pem": .formatPEMSequence
            case "p8", "key": .formatOpenSSL
            default: .formatUnknown
            }
    }
}

#endif
