// PKCS12Writer: writes PKCS #12 containers in the form in which current programs write them.
//   (1) The certificates come first, in one encrypted part. Each key is encrypted in its own bag.
//       This layout also suits programs that read only one key and one chain.

import KeychainCrypto
import KeychainCore
import SwiftASN1

enum PKCS12Writer {
    /// The rounds of the key derivation for the authentication code. One round is one compression
    /// of SHA-256 here, and two compressions in PBKDF2. With fewer rounds, the authentication code
    /// would be a cheaper way to check a password guess than the encryption is.
    private static let rounds = 2 * PBES2.writtenRounds

    /// Writes a container, see ``PKCS12/seal(_:password:)``.
    static func write(
        _ contents: PKCS12Contents, password: String
    ) throws(KeychainFailure) -> [UInt8] {
        let password = PKCS12Password(text: password)
        var parts: [DERValue] = []
        if !contents.certificates.isEmpty {
            let bags = DERValue.sequence(contents.certificates.map(bag(of:)))
            parts.append(try encrypted(bags, password: password))
        }
        if !contents.keys.isEmpty {
            var bags: [DERValue] = []
            for key in contents.keys { bags.append(try bag(of: key, password: password)) }
            parts.append(content(ContentType.data, .octets(DERValue.sequence(bags).bytes)))
        }
        let safe = DERValue.sequence(parts).bytes
        let salt = [UInt8].random(count: 16)
        let code = PasswordHash.sha256.pkcs12Code(
            of: safe, password: password.wide, salt: salt, rounds: rounds)
        guard let code else {
            throw KeychainFailure(
                .internalError, "The container's authentication code could not be computed.")
        }
        return DERValue.sequence([
            .integer(3), content(ContentType.data, .octets(safe)),
            .sequence([
                .sequence([
                    .sequence([.identifier(PasswordHash.sha256.digestIdentifier), .null]),
                    .octets(code),
                ]),
                .octets(salt), .integer(rounds),
            ]),
        ]).bytes
    }

    private static func encrypted(
        _ bags: DERValue, password: PKCS12Password
    ) throws(KeychainFailure) -> DERValue {
        let scheme = PBES2()
        guard let algorithm = scheme.algorithm,
            let ciphertext = scheme.encrypt(bags.bytes, password: password.utf8)
        else { throw KeychainFailure(.internalError, "The container could not be encrypted.") }
        return content(
            ContentType.encryptedData,
            .sequence([
                .integer(0),
                .sequence([
                    .identifier(ContentType.data), algorithm, .implicit(0, ciphertext),
                ]),
            ]))
    }

    private static func bag(of certificate: PKCS12Contents.Certificate) -> DERValue {
        bag(
            BagType.certificate,
            .sequence([
                .identifier(BagType.x509Certificate), .tagged(0, .octets(certificate.der)),
            ]), certificate.name, certificate.localKeyID)
    }

    private static func bag(
        of key: PKCS12Contents.Key, password: PKCS12Password
    ) throws(KeychainFailure) -> DERValue {
        bag(
            BagType.shroudedKey,
            try EncryptedPrivateKey.seal(key.privateKeyInfo, password: password.utf8),
            key.name, key.localKeyID)
    }

    private static func bag(
        _ type: ASN1ObjectIdentifier, _ value: DERValue, _ name: String?, _ localKeyID: [UInt8]?
    ) -> DERValue {
        var attributes: [DERValue] = []
        if let name {
            attributes.append(
                .sequence([.identifier(BagAttribute.friendlyName), .set([.bmpString(name)])]))
        }
        if let localKeyID {
            attributes.append(
                .sequence([.identifier(BagAttribute.localKeyID), .set([.octets(localKeyID)])]))
        }
        return .sequence(
            [.identifier(type), .tagged(0, value)]
                + (attributes.isEmpty ? [] : [.set(attributes)]))
    }

    private static func content(_ type: ASN1ObjectIdentifier, _ value: DERValue) -> DERValue {
        .sequence([.identifier(type), .tagged(0, value)])
    }
}
