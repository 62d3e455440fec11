// PKCS12: containers of keys and certificates under a password (RFC 7292), and the object
// identifiers of their parts.
//   (1) The frame, the authentication code and the encryption of today (PBES2) are read and written
//       here. The ciphers of older programs (RC2, triple DES, RC4) are NIOSSL's; nothing is written
//       with them.
//   (2) NIOSSL's own `NIOSSLPKCS12Bundle` is given only what is known to hold one key with its
//       certificate: it traps on any other container. See `OlderEncryption`.
//   (3) Without the package trait OlderPKCS12 those ciphers are `unimplemented`; all else works.

package import KeychainCore
import SwiftASN1

/// What a container holds.
package struct PKCS12Contents: Hashable, Sendable {
    /// A private key.
    package struct Key: Hashable, Sendable {
        /// PrivateKeyInfo (PKCS #8), DER.
        package var privateKeyInfo: [UInt8]
        /// The name for people.
        package var name: String?
        /// What ties the key to its certificate.
        package var localKeyID: [UInt8]?

        package init(privateKeyInfo: [UInt8], name: String? = nil, localKeyID: [UInt8]? = nil) {
            self.privateKeyInfo = privateKeyInfo
            self.name = name
            self.localKeyID = localKeyID
        }
    }

    /// A certificate.
    package struct Certificate: Hashable, Sendable {
        /// The certificate, DER.
        package var der: [UInt8]
        /// The name for people. Nil also where the certificate was under an older cipher.
        package var name: String?
        /// What ties the certificate to its key. Nil also where it was under an older cipher.
        package var localKeyID: [UInt8]?

        package init(der: [UInt8], name: String? = nil, localKeyID: [UInt8]? = nil) {
            self.der = der
            self.name = name
            self.localKeyID = localKeyID
        }
    }

    /// The keys, in the container's order.
    package var keys: [Key]
    /// The certificates, in the container's order, which need not be that of a chain.
    package var certificates: [Certificate]

    package init(keys: [Key] = [], certificates: [Certificate] = []) {
        self.keys = keys
        self.certificates = certificates
    }
}

/// Reads and writes containers.
package enum PKCS12 {
    /// Opens a container.
    ///
    /// Revocation lists and secrets that are no keys are left out.
    ///
    /// - Parameters:
    ///   - bytes: The container.
    ///   - password: Empty for a container without a password too.
    ///   - budget: The work is taken off it.
    /// - Returns: The contents.
    /// - Throws: `decode` if the bytes are no container or have no authentication code;
    ///   `pkcs12VerifyFailure` if the code is not right, by a wrong password or damage;
    ///   `authFailed` if a key within is under another password; `unsupportedFormat`
    ///   for schemes that are not read, for a cost beyond `PasswordHash.roundLimit` or the
    ///   budget, and where an
    ///   older cipher meets a password that is not ASCII, keys among the encrypted certificates, or
    ///   a key of Ed25519 or X25519.
    package static func open(
        _ bytes: [UInt8], password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> PKCS12Contents {
        try PKCS12Reader.read(bytes, password: password, within: &budget)
    }

    /// Makes a container: keys and certificates under PBES2 with AES-256, SHA-256 for the code.
    ///
    /// - Parameters:
    ///   - contents: May be without keys or without certificates.
    ///   - password: The password; an empty one is one.
    /// - Returns: The container, DER.
    /// - Throws: `internalError` if the crypto library fails.
    package static func seal(
        _ contents: PKCS12Contents, password: String
    ) throws(KeychainFailure) -> [UInt8] {
        try PKCS12Writer.write(contents, password: password)
    }

    /// Opens a private key that stands alone (PKCS #8) under an older cipher.
    ///
    /// - Returns: PrivateKeyInfo, DER.
    /// - Throws: `authFailed` if the password is wrong or the key damaged; `unsupportedFormat` as
    ///   ``open(_:password:within:)``.
    package static func openPrivateKey(
        _ key: EncryptedPrivateKey, password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [UInt8] {
        try OlderEncryption.open(key, password: password, within: &budget)
    }
}

/// A password, or that there is none.
struct PKCS12Password {
    /// Nil for no password, which makes another key than an empty one.
    let text: String?

    /// For the authentication code and the older ciphers: UTF-16 and two zero bytes.
    var wide: [UInt8] {
        text.map { $0.bigEndianUTF16 + [0, 0] } ?? []
    }

    /// For PBES2. RFC 7292 says nothing of it; all programs take UTF-8.
    var utf8: [UInt8] {
        text.map { Array($0.utf8) } ?? []
    }
}

// MARK: - Object identifiers

enum ContentType {
    static let data: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]
    static let encryptedData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 6]
}

enum BagType {
    static let key: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 1]
    static let shroudedKey: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 2]
    static let certificate: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 3]
    static let safeContents: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 6]
    /// Among certificate bags, the one that holds an X.509 certificate.
    static let x509Certificate: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 22, 1]
}

enum BagAttribute {
    static let friendlyName: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 20]
    static let localKeyID: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 21]
}
