// PKCS12: password-protected containers of keys and certificates (RFC 7292), and the object
// identifiers of their parts.
//   (1) The container, the authentication code and the current encryption scheme (PBES2) are read
//       and written here. The ciphers of older programs (RC2, triple DES, RC4) are NIOSSL's; they
//       are only read, never written.
//   (2) NIOSSL's `NIOSSLPKCS12Bundle` is used only on containers to which a key and its certificate
//       were added, because it traps on a container without them. See `OlderEncryption`.
//   (3) Without the package trait OlderPKCS12, the ciphers of older programs fail with
//       `unimplemented`. Everything else works.

package import KeychainCore
import SwiftASN1

/// The contents of a container.
package struct PKCS12Contents: Hashable, Sendable {
    /// A private key.
    package struct Key: Hashable, Sendable {
        /// PrivateKeyInfo (PKCS #8): DER or, from a container that was read, any BER.
        package var privateKeyInfo: [UInt8]
        /// The friendly name, if there is one.
        package var name: String?
        /// The identifier that links the key to its certificate, if there is one.
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
        /// The friendly name; `nil` if there is none, or if the certificate was encrypted with an
        /// older cipher.
        package var name: String?
        /// The identifier that links the certificate to its key; `nil` if there is none, or if the
        /// certificate was encrypted with an older cipher.
        package var localKeyID: [UInt8]?

        package init(der: [UInt8], name: String? = nil, localKeyID: [UInt8]? = nil) {
            self.der = der
            self.name = name
            self.localKeyID = localKeyID
        }
    }

    /// The keys, in the container's order.
    package var keys: [Key]
    /// The certificates, in the container's order, which need not be the order of a chain.
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
    /// Only keys and X.509 certificates are read. Revocation lists, other secrets and entries of
    /// unknown types are omitted.
    ///
    /// - Parameters:
    ///   - bytes: The container.
    ///   - password: The password. An empty string also opens a container without a password.
    ///   - budget: The budget from which the work is deducted.
    /// - Returns: The contents.
    /// - Throws: An error with one of the following statuses:
    ///   - `decode` if the bytes are not a container, are damaged or have no authentication code.
    ///   - `pkcs12VerifyFailure` if the code doesn't match, because the password is wrong or the
    ///     container is damaged.
    ///   - `authFailed` if a key inside is encrypted with another password or is damaged.
    ///   - `unsupportedFormat` if a scheme, a digest or a type of contents is not supported, or if
    ///     the cost exceeds a limit or the budget. With an older cipher, this status is also thrown
    ///     if encrypted certificates are damaged, if there are keys among them, or if the password
    ///     contains a zero byte. For a key encrypted with an older cipher, it is also thrown if the
    ///     password is not ASCII or has 1024 characters or more, or if the key is an Ed25519 or
    ///     X25519 key.
    ///   - `unimplemented` if the package was built without its trait OlderPKCS12, and an older
    ///     cipher was used that the trait supports.
    package static func open(
        _ bytes: [UInt8], password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> PKCS12Contents {
        try PKCS12Reader.read(bytes, password: password, within: &budget)
    }

    /// Creates a container. Keys and certificates are encrypted with PBES2 and AES-256. The
    /// authentication code uses SHA-256.
    ///
    /// - Parameters:
    ///   - contents: The keys and certificates. Either may be empty.
    ///   - password: The password. An empty string counts as a password.
    /// - Returns: The container, DER.
    /// - Throws: `internalError` if the crypto library fails.
    package static func seal(
        _ contents: PKCS12Contents, password: String
    ) throws(KeychainFailure) -> [UInt8] {
        try PKCS12Writer.write(contents, password: password)
    }

    /// Decrypts a single private key (PKCS #8) that was encrypted with an older cipher.
    ///
    /// - Returns: PrivateKeyInfo, DER.
    /// - Throws: `authFailed` if the password is wrong or the key is damaged; `unsupportedFormat`
    ///   and `unimplemented` as ``open(_:password:within:)`` does.
    package static func openPrivateKey(
        _ key: EncryptedPrivateKey, password: String, within budget: inout WorkBudget
    ) throws(KeychainFailure) -> [UInt8] {
        try OlderEncryption.open(key, password: password, within: &budget)
    }
}

/// A password, or the absence of one.
struct PKCS12Password {
    /// The text, or `nil` for no password. In ``wide``, `nil` and an empty text differ; in
    /// ``utf8``, they don't.
    let text: String?

    /// The password for the authentication code and the older ciphers: UTF-16 and two zero bytes,
    /// or nothing for no password.
    var wide: [UInt8] {
        text.map { $0.bigEndianUTF16 + [0, 0] } ?? []
    }

    /// The password for PBES2. RFC 7292 doesn't specify its encoding; in practice, programs use
    /// UTF-8.
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
    /// In a certificate bag: the type of an X.509 certificate.
    static let x509Certificate: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 22, 1]
}

enum BagAttribute {
    static let friendlyName: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 20]
    static let localKeyID: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 21]
}
