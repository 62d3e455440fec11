// PKCS8: private keys in PKCS #8 (RFC 5958), in the clear and encrypted with a password, and the
// older formats of RSA keys (RFC 8017) and elliptic curve keys (RFC 5915), which OpenSSL calls
// traditional.
//   (1) Only the container is read and written here. The crypto library decides whether the key in
//       it is valid.

package import KeychainCore
package import SwiftASN1

// MARK: - In the clear

/// A private key in PKCS #8.
package struct PrivateKeyInfo {
    /// A key in its older format, and the label of that format in PEM.
    package struct Traditional: Hashable, Sendable {
        package let label: String
        package let bytes: [UInt8]
    }

    /// The encoding as it was read: DER, or any other BER. For a key that was read from its older
    /// format, a new DER encoding.
    package let bytes: [UInt8]
    /// The object identifier of the key's algorithm.
    package let algorithm: ASN1ObjectIdentifier
    private let parameters: ASN1Node?

    /// The object identifier of the curve, if the key's parameters name one.
    package var curve: ASN1ObjectIdentifier? { parameters?.objectIdentifier }

    private let privateKey: [UInt8]

    /// Reads a PrivateKeyInfo.
    ///
    /// - Returns: `nil` for anything else.
    package init?(encoded bytes: [UInt8]) {
        guard let parts = ASN1Node(encoded: bytes)?.sequence, parts.count >= 3,
            let version = parts[0].integer, (0...1).contains(version),
            let identifier = parts[1].sequence, (1...2).contains(identifier.count),
            let algorithm = identifier[0].objectIdentifier, let privateKey = parts[2].octets
        else { return nil }
        self.bytes = bytes
        self.algorithm = algorithm
        parameters = identifier.count == 2 ? identifier[1] : nil
        self.privateKey = privateKey
    }

    /// Reads a private key as PKCS #8, RSAPrivateKey or ECPrivateKey.
    ///
    /// - Returns: `nil` for anything else, and for an ECPrivateKey that doesn't name its curve.
    package init?(anyForm bytes: [UInt8]) {
        if let info = PrivateKeyInfo(encoded: bytes) {
            self = info
            return
        }
        guard let parts = ASN1Node(encoded: bytes)?.sequence else { return nil }
        if Self.isRSAPrivateKey(parts) {
            self.init(.rsaEncryption, .null, bytes)
        } else if Self.isECPrivateKey(parts),
            let curve = parts.lazy.compactMap({ $0.tagged(0) }).first
        {
            self.init(.ellipticCurve, .encoded(Array(curve.encodedBytes)), bytes)
        } else {
            return nil
        }
    }

    private init?(
        _ algorithm: ASN1ObjectIdentifier, _ parameters: DERValue, _ privateKey: [UInt8]
    ) {
        let value = DERValue.sequence([
            .integer(0), .sequence([.identifier(algorithm), parameters]), .octets(privateKey),
        ])
        self.init(encoded: value.bytes)
    }

    /// The key in its older format, or `nil` if there is none. Only RSA keys, and elliptic curve
    /// keys with parameters, have one.
    package var traditional: Traditional? {
        switch algorithm {
        case .rsaEncryption:
            return Traditional(label: "RSA PRIVATE KEY", bytes: privateKey)
        case .ellipticCurve:
            // PKCS #8 names the curve outside the ECPrivateKey, RFC 5915 inside it.
            guard let parts = ASN1Node(encoded: privateKey)?.sequence, Self.isECPrivateKey(parts),
                let parameters
            else { return nil }
            var values = parts.filter { !$0.isTagged(0) }
                .map { DERValue.encoded(Array($0.encodedBytes)) }
            values.insert(.tagged(0, .encoded(Array(parameters.encodedBytes))), at: 2)
            return Traditional(label: "EC PRIVATE KEY", bytes: DERValue.sequence(values).bytes)
        default:
            return nil
        }
    }

    /// Whether the elements are those of an RSAPrivateKey with two primes.
    package static func isRSAPrivateKey(_ parts: [ASN1Node]) -> Bool {
        parts.count == 9 && parts[0].integer == 0
            && parts.allSatisfy { $0.identifier == .integer }
    }

    /// Whether the elements are those of an ECPrivateKey.
    package static func isECPrivateKey(_ parts: [ASN1Node]) -> Bool {
        (2...4).contains(parts.count) && parts[0].integer == 1 && parts[1].octets != nil
            && parts.dropFirst(2).allSatisfy { $0.isTagged(0) || $0.isTagged(1) }
    }
}

extension ASN1ObjectIdentifier {
    /// rsaEncryption.
    package static let rsaEncryption: Self = [1, 2, 840, 113549, 1, 1, 1]
    /// id-ecPublicKey.
    package static let ellipticCurve: Self = [1, 2, 840, 10045, 2, 1]
    /// id-X25519 (RFC 8410).
    package static let x25519: Self = [1, 3, 101, 110]
    /// id-Ed25519 (RFC 8410).
    package static let ed25519: Self = [1, 3, 101, 112]
}

// MARK: - Encrypted

/// A private key encrypted with a password.
package struct EncryptedPrivateKey {
    /// The AlgorithmIdentifier of the encryption.
    package let algorithm: ASN1Node
    /// The whole EncryptedPrivateKeyInfo, as it was read.
    package let bytes: [UInt8]
    private let ciphertext: [UInt8]

    /// Reads an EncryptedPrivateKeyInfo.
    ///
    /// - Returns: `nil` for anything else.
    package init?(_ node: ASN1Node) {
        guard let parts = node.sequence, parts.count == 2, parts[0].sequence != nil,
            let ciphertext = parts[1].octets
        else { return nil }
        algorithm = parts[0]
        bytes = Array(node.encodedBytes)
        self.ciphertext = ciphertext
    }

    /// Whether ``open(password:within:)`` supports the encryption scheme and its parameters.
    package var isSupported: Bool { PBES2(algorithm: algorithm) != nil }

    /// Decrypts the key.
    ///
    /// - Parameters:
    ///   - password: The bytes of the password. A text password is encoded in UTF-8.
    ///   - budget: The budget from which the work is deducted.
    /// - Returns: The bytes that were encrypted, a PrivateKeyInfo (PKCS #8).
    /// - Throws: `unsupportedFormat` if the scheme isn't supported or the work exceeds a limit or
    ///   the budget; `authFailed` if decryption doesn't yield a private key, because the password
    ///   is wrong or the bytes are damaged.
    package func open(
        password: [UInt8], within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [UInt8] {
        guard let scheme = PBES2(algorithm: algorithm) else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The encryption scheme of the private key is not supported, or decryption requires "
                    + "too much computation."
            )
        }
        try budget.take(scheme.rounds)
        guard let bytes = scheme.decrypt(ciphertext, password: password),
            PrivateKeyInfo(encoded: bytes) != nil
        else {
            throw KeychainFailure(
                .authFailed, "The passphrase is wrong, or the private key is damaged.")
        }
        return bytes
    }

    /// Encrypts a private key with new random parameters.
    ///
    /// - Parameters:
    ///   - privateKeyInfo: The DER encoding of the PrivateKeyInfo (PKCS #8).
    ///   - password: The bytes of the password.
    /// - Returns: The EncryptedPrivateKeyInfo, to be encoded as DER.
    /// - Throws: `internalError` if the crypto library fails.
    package static func seal(
        _ privateKeyInfo: [UInt8], password: [UInt8]
    ) throws(KeychainFailure) -> DERValue {
        let scheme = PBES2()
        guard let algorithm = scheme.algorithm,
            let ciphertext = scheme.encrypt(privateKeyInfo, password: password)
        else { throw KeychainFailure(.internalError, "The private key could not be encrypted.") }
        return .sequence([algorithm, .octets(ciphertext)])
    }
}
