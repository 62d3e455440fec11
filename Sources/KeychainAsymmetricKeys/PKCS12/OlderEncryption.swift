// OlderEncryption: reads data that older programs encrypted with RC2, triple DES or RC4. NIOSSL has
// these ciphers, but only inside its readers of PEM and PKCS #12.
//   (1) Private keys go through NIOSSL's PEM reader. That reader traps on a password that is not
//       ASCII, so such a password is rejected first.
//   (2) Certificates go through NIOSSL's PKCS #12 reader. That reader traps if the container holds
//       no key, or no certificate for its key, so both are added from a `DecoyIdentity`. If there
//       is a key among the encrypted certificates, the container has two keys; NIOSSL rejects that
//       without a trap.
//   (3) NIOSSL is available only with the package trait OlderPKCS12. Without the trait, a scheme
//       that needs NIOSSL fails with `unimplemented`. Any other scheme fails with
//       `unsupportedFormat`, with or without the trait.

import Crypto
import KeychainCore
import SwiftASN1

#if OlderPKCS12

import NIOSSL

enum OlderEncryption {
    /// Decrypts a private key.
    ///
    /// - Returns: PrivateKeyInfo, DER.
    /// - Throws: As ``PKCS12/openPrivateKey(_:password:within:)``.
    static func open(
        _ key: EncryptedPrivateKey, password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [UInt8] {
        try budget.take(rounds(of: key.algorithm))
        let bytes = Array(password.utf8)
        // NIOSSL's password buffer has 1024 bytes.
        guard bytes.allSatisfy({ (1..<0x80).contains($0) }), bytes.count < 1024 else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The private key is encrypted with a legacy cipher. For this cipher, the "
                    + "passphrase must be ASCII, at most 1023 bytes, without zero bytes.")
        }
        let pem = PEMDocument(type: "ENCRYPTED PRIVATE KEY", derBytes: key.bytes).pemString
        let opened = try? NIOSSLPrivateKey(bytes: Array((pem + "\n").utf8), format: .pem) {
            (give: NIOSSLPassphraseSetter<[UInt8]>) in give(bytes)
        }
        guard let opened else {
            throw KeychainFailure(
                .authFailed, "The passphrase is wrong, or the private key is damaged.")
        }
        // NIOSSL reads Ed25519 and X25519 keys, but can't write them.
        guard let der = try? opened.derBytes, let info = PrivateKeyInfo(anyForm: der) else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The private key is encrypted with a legacy cipher. With this cipher, only RSA "
                    + "keys and keys on NIST curves can be read.")
        }
        return info.bytes
    }

    /// The certificates in encrypted contents.
    ///
    /// - Throws: `unsupportedFormat` if the scheme is not supported, the work exceeds its limit or
    ///   the budget, the password contains a zero byte, the contents or a certificate in them are
    ///   damaged, or the contents include keys; `decode` if NIOSSL can't encode a certificate that
    ///   it has read.
    static func certificates(
        in data: EncryptedContents, password: PKCS12Password,
        within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [PKCS12Contents.Certificate] {
        try budget.take(rounds(of: data.algorithm))
        let passphrase = password.text.map { Array($0.utf8) }
        guard passphrase?.contains(0) != true else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The certificates are encrypted with a legacy cipher. For this cipher, the "
                    + "passphrase must be without zero bytes.")
        }
        guard let container = container(of: data, password: password),
            let bundle = try? NIOSSLPKCS12Bundle(buffer: container, passphrase: passphrase)
        else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The contents of the PKCS #12 container that are encrypted with a legacy cipher "
                    + "are damaged, or include private keys.")
        }
        // The first certificate is the decoy.
        var certificates: [PKCS12Contents.Certificate] = []
        for certificate in bundle.certificateChain.dropFirst() {
            guard let der = try? certificate.toDERBytes() else {
                throw PKCS12Reader.damage("A certificate of the PKCS #12 container is damaged.")
            }
            certificates.append(.init(der: der))
        }
        return certificates
    }

    /// A container with the encrypted contents and, unencrypted, a decoy key and its certificate.
    private static func container(
        of data: EncryptedContents, password: PKCS12Password
    ) -> [UInt8]? {
        let decoy = DecoyIdentity()
        let bags = DERValue.sequence([
            .sequence([
                .identifier(BagType.key), .tagged(0, .encoded(decoy.privateKeyInfo)),
            ]),
            .sequence([
                .identifier(BagType.certificate),
                .tagged(
                    0,
                    .sequence([
                        .identifier(BagType.x509Certificate),
                        .tagged(0, .octets(decoy.certificate)),
                    ])),
            ]),
        ])
        let safe = DERValue.sequence([
            .sequence([
                .identifier(ContentType.data), .tagged(0, .octets(bags.bytes)),
            ]),
            .sequence([
                .identifier(ContentType.encryptedData),
                .tagged(
                    0,
                    .sequence([
                        .integer(0),
                        .sequence([
                            .identifier(ContentType.data),
                            .encoded(Array(data.algorithm.encodedBytes)),
                            .implicit(0, data.ciphertext),
                        ]),
                    ])),
            ]),
        ]).bytes
        let salt: [UInt8] = [0]
        let code = PasswordHash.sha1.pkcs12Code(
            of: safe, password: password.wide, salt: salt, rounds: 1)
        guard let code else { return nil }
        return DERValue.sequence([
            .integer(3),
            .sequence([.identifier(ContentType.data), .tagged(0, .octets(safe))]),
            .sequence([
                .sequence([
                    .sequence([.identifier(PasswordHash.sha1.digestIdentifier), .null]),
                    .octets(code),
                ]),
                .octets(salt), .integer(1),
            ]),
        ]).bytes
    }
}

#else

enum OlderEncryption {
    static func open(
        _ key: EncryptedPrivateKey, password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [UInt8] { throw try failure(for: key.algorithm) }

    static func certificates(
        in data: EncryptedContents, password: PKCS12Password,
        within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [PKCS12Contents.Certificate] {
        throw try failure(for: data.algorithm)
    }

    /// The error for a scheme that the trait adds.
    ///
    /// - Throws: `unsupportedFormat` if the trait doesn't add the scheme, or if the number of
    ///   rounds is not from 1 to the limit.
    private static func failure(
        for algorithm: ASN1Node
    ) throws(KeychainFailure) -> KeychainFailure {
        _ = try rounds(of: algorithm)
        return KeychainFailure(
            .unimplemented,
            "The contents are encrypted with a legacy cipher. To read them, build the package "
                + "swift-keychain with its trait OlderPKCS12.")
    }
}

#endif

// MARK: - Schemes

extension OlderEncryption {
    /// 128-bit RC4, three-key triple DES, and 40-bit RC2 (RFC 7292, appendix C).
    private static let schemes: [ASN1ObjectIdentifier] = [
        [1, 2, 840, 113549, 1, 12, 1, 1], [1, 2, 840, 113549, 1, 12, 1, 3],
        [1, 2, 840, 113549, 1, 12, 1, 6],
    ]

    private static let tripleDES: ASN1ObjectIdentifier = [1, 2, 840, 113549, 3, 7]

    /// The number of rounds in a scheme's parameters.
    ///
    /// - Throws: `unsupportedFormat` if the number is not from 1 to the limit, or if the scheme is
    ///   not one of those that are read with NIOSSL. NIOSSL's own errors don't tell an unsupported
    ///   scheme from a wrong password.
    fileprivate static func rounds(of algorithm: ASN1Node) throws(KeychainFailure) -> Int {
        let parts = algorithm.sequence ?? []
        let identifier = parts.first?.objectIdentifier
        let parameters = parts.last?.sequence ?? []
        let rounds: Int?
        if identifier == PBES2.identifier {
            rounds = roundsWithTripleDES(parameters)
        } else if let identifier, schemes.contains(identifier) {
            rounds = parameters.last?.integer
        } else {
            rounds = nil
        }
        guard let rounds, (1...PasswordHash.roundLimit).contains(rounds) else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The encryption scheme of the contents is not supported, or decryption requires "
                    + "too much computation.")
        }
        return rounds
    }

    /// The rounds in the parameters of PBES2 with PBKDF2 and triple DES. The result is `nil` for
    /// another key derivation or cipher, and for a digest that NIOSSL lacks. The RC2 that NIOSSL
    /// also has in PBES2 is not supported.
    private static func roundsWithTripleDES(_ parameters: [ASN1Node]) -> Int? {
        guard parameters.count == 2, let derivation = parameters[0].sequence,
            derivation.count == 2, derivation[0].objectIdentifier == PBES2.pbkdf2,
            parameters[1].sequence?.first?.objectIdentifier == tripleDES,
            let values = derivation[1].sequence, values.count >= 2
        else { return nil }
        // The digest comes last. The default is SHA-1.
        if let digest = values.last?.sequence?.first?.objectIdentifier {
            let digests = [PasswordHash.sha1, .sha256].map(\.hmacIdentifier)
            guard digests.contains(digest) else { return nil }
        }
        return values[1].integer
    }
}

// MARK: - Decoy

/// A new key and a certificate for it, whose signature is not valid.
package struct DecoyIdentity {
    /// PrivateKeyInfo, DER.
    package let privateKeyInfo: [UInt8]
    /// Certificate, DER.
    package let certificate: [UInt8]

    package init() {
        let key = P256.Signing.PrivateKey()
        let noName = DERValue.sequence([])
        let ecdsaWithSHA256 = DERValue.sequence([.identifier([1, 2, 840, 10045, 4, 3, 2])])
        let body = DERValue.sequence([
            .integer(1), ecdsaWithSHA256, noName,
            .sequence([.utcTime("200101000000Z"), .utcTime("200101000000Z")]), noName,
            .encoded(Array(key.publicKey.derRepresentation)),
        ])
        privateKeyInfo = Array(key.derRepresentation)
        certificate = DERValue.sequence([body, ecdsaWithSHA256, .bits([0])]).bytes
    }
}
