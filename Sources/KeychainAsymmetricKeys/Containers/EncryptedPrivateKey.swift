// EncryptedPrivateKey: a private key under a password: EncryptedPrivateKeyInfo of PKCS #8
// (RFC 5958, section 3).

package import KeychainCore
package import SwiftASN1

/// A private key under a password.
package struct EncryptedPrivateKey {
    /// The AlgorithmIdentifier of the encryption.
    package let algorithm: ASN1Node
    /// The whole, as it was read.
    package let bytes: [UInt8]
    private let ciphertext: [UInt8]

    /// Reads an EncryptedPrivateKeyInfo.
    ///
    /// - Returns: Nil for anything else.
    package init?(_ node: ASN1Node) {
        guard let parts = node.sequence, parts.count == 2, parts[0].sequence != nil,
            let ciphertext = parts[1].octets
        else { return nil }
        algorithm = parts[0]
        bytes = Array(node.encodedBytes)
        self.ciphertext = ciphertext
    }

    /// Whether ``open(password:within:)`` reads the scheme.
    package var isSupported: Bool { PBES2(algorithm: algorithm) != nil }

    /// Decrypts the key.
    ///
    /// - Parameters:
    ///   - password: The bytes of the password, UTF-8 if it is text.
    ///   - allowance: The work is taken off it.
    /// - Returns: PrivateKeyInfo (PKCS #8), DER.
    /// - Throws: `unsupportedFormat` for a scheme that isn't read, and for too much work;
    ///   `authFailed` if what comes out is no private key: the password is wrong, or the bytes are
    ///   damaged.
    package func open(
        password: [UInt8], within allowance: inout WorkAllowance
    ) throws(KeychainFailure) -> [UInt8] {
        guard let scheme = PBES2(algorithm: algorithm) else {
            throw KeychainFailure(
                .unsupportedFormat,
                "The private key is under a scheme that is not supported, or asks for too much work."
            )
        }
        try allowance.take(scheme.rounds)
        guard let bytes = scheme.decrypt(ciphertext, password: password),
            PrivateKeyInfo(encoded: bytes) != nil
        else {
            throw KeychainFailure(
                .authFailed, "The passphrase doesn't open the private key, or it is damaged.")
        }
        return bytes
    }

    /// Encrypts a key with fresh parameters.
    ///
    /// - Parameters:
    ///   - privateKeyInfo: PrivateKeyInfo (PKCS #8), DER.
    ///   - password: The bytes of the password.
    /// - Returns: EncryptedPrivateKeyInfo, DER.
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
