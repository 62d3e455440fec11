// ExternalForm: detects the format of imported bytes by their outermost elements, and implements
// two formats: PEM (RFC 7468), which is text with keys and certificates between BEGIN and END
// lines, and PKCS #7 messages with certificates (RFC 5652, section 5.1).
//   (1) The formats are mutually exclusive: no two have the same outermost elements.
//   (2) Text outside the blocks of a PEM file is ignored, as RFC 7468 requires.
//   (3) If a block is incomplete, or a line outside the blocks looks like a damaged BEGIN or END
//       line, the whole PEM file is rejected as damaged, so that no key or certificate of a list is
//       lost unnoticed.
//
// SwiftASN1's PEM reader accepts only lines of 64 characters and no header lines. OpenSSL writes
// header lines, and Java and others write longer lines, so PEM is read here.

#if !canImport(Darwin)

internal import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore
internal import SwiftASN1

/// The format of a single item or container.
enum ExternalForm {
    case certificate
    /// PKCS #8, PKCS #1 or RFC 5915.
    case privateKey
    case encryptedPrivateKey
    /// SubjectPublicKeyInfo.
    case publicKey
    /// RSAPublicKey (PKCS #1).
    case rsaPublicKey
    case pkcs7
    case pkcs12

    /// The content type of signed messages, which is also used by PKCS #7 files that contain only
    /// certificates.
    static let signedData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]

    /// - Returns: `nil` for bytes of any other format.
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

    /// Apple's constant for the format.
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
    /// Whether the caller of an import may state this format. `formatUnknown` is allowed too.
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

    /// The format that a file name extension indicates. `name` is a file name or only an extension.
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

// MARK: - PEM

/// One block of a PEM file.
struct PEMBlock: Hashable {
    /// The text after BEGIN.
    var label: String
    var bytes: [UInt8]
    /// Whether header lines say that the bytes are encrypted with OpenSSL's traditional encryption.
    var isEncrypted = false

    private static let begin = "-----BEGIN "
    private static let end = "-----END "
    private static let dashes = "-----"

    /// Whether the bytes contain a block, which may be damaged.
    static func isIn(_ bytes: [UInt8]) -> Bool {
        Data(bytes).range(of: Data(begin.utf8)) != nil
    }

    /// The blocks of a PEM file, in order.
    ///
    /// - Throws: `decode` if there is no block, if a block has no END line, a different END line,
    ///   no contents, or contents that are not base64, or if a line outside the blocks looks like a
    ///   boundary.
    static func blocks(in bytes: [UInt8]) throws(KeychainFailure) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        var label: String?
        var lines: [String] = []
        let text = String(decoding: bytes, as: UTF8.self)
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let current = label {
                if line.hasPrefix(begin) { throw damage }
                guard line.hasPrefix(end) else {
                    lines.append(line)
                    continue
                }
                guard line == end + current + dashes else { throw damage }
                blocks.append(try PEMBlock(label: current, lines: lines))
                label = nil
                lines = []
            } else if line.hasPrefix(begin), line.hasSuffix(dashes) {
                label = String(line.dropFirst(begin.count).dropLast(dashes.count))
            } else if isLikeBoundary(line) {
                throw damage
            }
        }
        guard label == nil, !blocks.isEmpty else { throw damage }
        return blocks
    }

    /// Whether a line outside the blocks looks like a damaged BEGIN or END line: it contains one of
    /// these words, and two dashes in a row. Lines that begin with "#" are exempt, because lists of
    /// certificates contain such comments, and a block may be commented out.
    private static func isLikeBoundary(_ line: String) -> Bool {
        guard line.contains("--"), !line.hasPrefix("#") else { return false }
        return line.split { $0 == "-" || $0.isWhitespace }
            .contains { $0 == "BEGIN" || $0 == "END" }
    }

    init(label: String, bytes: [UInt8]) {
        self.label = label
        self.bytes = bytes
    }

    private init(label: String, lines: [String]) throws(KeychainFailure) {
        let headers = lines.prefix { $0.contains(":") }
        guard let data = Data(base64Encoded: lines.dropFirst(headers.count).joined()),
            !data.isEmpty
        else { throw Self.damage }
        self.label = label
        bytes = Array(data)
        isEncrypted = headers.contains { $0.hasPrefix("Proc-Type:") && $0.contains("ENCRYPTED") }
    }

    /// The text of the block, with a line break at the end.
    var text: String {
        PEMDocument(type: label, derBytes: bytes).pemString + "\n"
    }

    private static let damage = KeychainFailure(.decode, "The PEM text is damaged.")
}

// MARK: - PKCS #7

/// The certificates of a PKCS #7 message, as in files with the extensions p7b and p7c.
enum CertificateBundle {
    private static let data: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]

    /// The certificates of a message, in its order. Signatures are not verified.
    ///
    /// - Throws: `decode` if the message or a certificate is damaged, or there is no certificate.
    static func certificates(in bytes: [UInt8]) throws(KeychainFailure) -> [SecCertificate] {
        guard let parts = ASN1Node(encoded: bytes)?.sequence, parts.count == 2,
            parts[0].objectIdentifier == ExternalForm.signedData,
            let message = parts[1].tagged(0)?.sequence
        else { throw KeychainFailure(.decode, "The PKCS #7 message is damaged.") }
        let encoded = message.first { $0.isTagged(0) }?.elements ?? []
        var certificates: [SecCertificate] = []
        for element in encoded {
            // The other alternatives, such as attribute certificates, have context-specific tags.
            guard element.identifier == .sequence else { continue }
            guard let certificate = SecCertificate(der: Data(element.encodedBytes)) else {
                throw KeychainFailure(.decode, "A certificate of the PKCS #7 message is damaged.")
            }
            certificates.append(certificate)
        }
        guard !certificates.isEmpty else {
            throw KeychainFailure(.decode, "The PKCS #7 message contains no certificates.")
        }
        return certificates
    }

    /// A message with the certificates, in the given order, and without signatures.
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
