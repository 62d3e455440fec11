// SecItemExport: exports keys, certificates and identities in formats that other programs read.
//   (1) The result contains all of the given items, or the export fails.
//   (2) If there is a passphrase and the format allows encryption, private keys are encrypted.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Exports keys, certificates and identities in formats that other programs read.
///
/// - `formatX509Cert`: one certificate, DER.
/// - `formatOpenSSL`: one key. A private key is in PKCS #1 or RFC 5915, or in PKCS #8 for Ed25519
///   and X25519; a public key is a SubjectPublicKeyInfo. A passphrase is ignored.
/// - `formatRawKey`: one key in Apple's external representation. A passphrase is ignored, and
///   `pemArmour` is an error.
/// - `formatWrappedPKCS8`: one private key in encrypted PKCS #8. Requires a passphrase.
/// - `formatPEMSequence`: any items; an identity as its certificate and key. With a passphrase,
///   private keys are in encrypted PKCS #8, otherwise as in `formatOpenSSL`.
/// - `formatPKCS7`: certificates.
/// - `formatPKCS12`: private keys, certificates and identities, encrypted. Requires a passphrase.
/// - `formatUnknown`: `formatX509Cert` for one certificate, `formatOpenSSL` for one key,
///   `formatPEMSequence` for anything else.
///
/// Encryption uses AES-256 with a key derived from the passphrase by 100,000 rounds of PBKDF2 with
/// SHA-256. Systems before macOS 15 and iOS 18 may not be able to read the encrypted data.
///
/// - Parameters:
///   - secItemOrArray: A `SecKey`, `SecCertificate` or `SecIdentity`, or an array of these.
///   - outputFormat: The format.
///   - flags: With `pemArmour`, the result is PEM instead of DER.
///   - keyParams: The parameters. Only their passphrase is used, which may be empty. If `keyParams`
///     or its passphrase is `nil`, there is no passphrase.
///   - exportedData: Receives the data. The caller is responsible for protecting any unencrypted
///     keys in it. Unchanged after a failure.
/// - Returns: `errSecSuccess`, or
///   - `errSecParam`: there is no object; an object has another type; the format can't contain one
///     of the objects, such as a public key in PKCS #12; there are several objects, but the format
///     can contain only one; `formatRawKey` is combined with `pemArmour`; or the passphrase is
///     neither a string nor data or, for `formatPKCS12`, is not UTF-8;
///   - `errSecUnsupportedFormat`: the format is not supported;
///   - `errSecPassphraseRequired`: the format requires a passphrase;
///   - `errSecUnimplemented`: a private key is in the Secure Enclave, which it can't leave.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecItemExport(
    _ secItemOrArray: CFTypeRef, _ outputFormat: SecExternalFormat,
    _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?,
    _ exportedData: UnsafeMutablePointer<CFData?>
) -> OSStatus {
    do throws(KeychainFailure) {
        // SAFETY: the caller guarantees that the pointers are valid during the call, as Apple's
        // function requires.
        let passphrase = try unsafe Passphrase(keyParams?.pointee)
        let objects = (secItemOrArray as? NSArray).map { Array($0) } ?? [secItemOrArray]
        let items = objects.compactMap { ValueReference($0 as AnyObject) }
        guard items.count == objects.count else {
            throw .param("An object is not a key, certificate or identity.")
        }
        let export = ItemExport(
            items: items, isArmored: flags.contains(.pemArmour), passphrase: passphrase)
        let data = try export.data(outputFormat)
        // SAFETY: as above.
        unsafe exportedData.pointee = data as NSData
        return errSecSuccess
    } catch {
        return error.status.rawValue
    }
}

// MARK: - Formats

/// A single export.
struct ItemExport {
    var items: [ValueReference]
    var isArmored: Bool
    var passphrase: Passphrase?

    /// The items in the given format.
    func data(_ format: SecExternalFormat) throws(KeychainFailure) -> Data {
        guard !items.isEmpty else { throw .param("There is nothing to export.") }
        let format = format == .formatUnknown ? defaultFormat : format
        switch format {
        case .formatPEMSequence:
            var text = ""
            for block in try blocks() { text += block.text }
            return Data(text.utf8)
        case .formatPKCS12:
            return try data(of: PEMBlock(label: "PKCS12", bytes: container()))
        case .formatPKCS7:
            let certificates = items.compactMap(\.certificate)
            guard items.allSatisfy({ $0.key == nil }) else {
                throw .param("PKCS #7 can contain only certificates, not keys.")
            }
            return data(
                of: PEMBlock(label: "PKCS7", bytes: CertificateBundle.message(of: certificates)))
        case .formatX509Cert, .formatOpenSSL, .formatWrappedPKCS8, .formatRawKey:
            guard items.count == 1, let item = items.first else {
                throw .param(
                    "This format can contain only one item. Use a PEM sequence or PKCS #12 for "
                        + "several items.")
            }
            return try data(of: item, format)
        case .formatUnknown, .formatSSH, .formatBSAFE, .formatWrappedOpenSSL, .formatWrappedSSH,
            .formatWrappedLSH, .formatNetscapeCertSequence, .formatSSHv2:
            throw KeychainFailure(.unsupportedFormat, "The format is not supported.")
        }
    }

    private var defaultFormat: SecExternalFormat {
        guard items.count == 1, let item = items.first else { return .formatPEMSequence }
        switch item {
        case .certificate: return .formatX509Cert
        case .key: return .formatOpenSSL
        case .identity: return .formatPEMSequence
        }
    }

    private func data(of block: PEMBlock) -> Data {
        isArmored ? Data(block.text.utf8) : Data(block.bytes)
    }

    private func data(
        of item: ValueReference, _ format: SecExternalFormat
    ) throws(KeychainFailure) -> Data {
        switch (format, item) {
        case (.formatX509Cert, .certificate(let certificate)):
            return data(of: Self.block(of: certificate))
        case (.formatOpenSSL, .key(let key)):
            return data(of: try Self.openBlock(of: key))
        case (.formatWrappedPKCS8, .key(let key)):
            guard let passphrase else { throw Passphrase.required }
            return try data(of: Self.sealedBlock(of: key, passphrase))
        case (.formatRawKey, .key(let key)) where !isArmored:
            guard let data = key.externalData else { throw .keyStaysInHardware }
            return data
        default:
            throw .param("This format can't contain the item, or has no PEM form.")
        }
    }

    // MARK: - PEM

    private func blocks() throws(KeychainFailure) -> [PEMBlock] {
        var blocks: [PEMBlock] = []
        for item in items {
            if let certificate = item.certificate { blocks.append(Self.block(of: certificate)) }
            guard let key = item.key else { continue }
            if let passphrase, key.isPrivate {
                blocks.append(try Self.sealedBlock(of: key, passphrase))
            } else {
                blocks.append(try Self.openBlock(of: key))
            }
        }
        return blocks
    }

    private static func block(of certificate: SecCertificate) -> PEMBlock {
        PEMBlock(label: "CERTIFICATE", bytes: Array(certificate.der))
    }

    /// The key without encryption: a public key as a SubjectPublicKeyInfo, and a private key in the
    /// format that OpenSSL calls traditional, or in PKCS #8 if it has no traditional format.
    private static func openBlock(of key: SecKey) throws(KeychainFailure) -> PEMBlock {
        switch key.material {
        case .publicKey(let key):
            return PEMBlock(label: "PUBLIC KEY", bytes: Array(key.subjectPublicKeyInfo))
        case .privateKey(let key):
            let bytes = Array(key.pkcs8Representation)
            guard let form = PrivateKeyInfo(encoded: bytes)?.traditional else {
                return PEMBlock(label: "PRIVATE KEY", bytes: bytes)
            }
            return PEMBlock(label: form.label, bytes: form.bytes)
        case .secureEnclave: throw .keyStaysInHardware
        }
    }

    private static func sealedBlock(
        of key: SecKey, _ passphrase: Passphrase
    ) throws(KeychainFailure) -> PEMBlock {
        if key.secureEnclaveKey != nil { throw .keyStaysInHardware }
        guard case .privateKey(let key) = key.material else {
            throw .param("A public key can't be encrypted with a passphrase.")
        }
        let sealed = try EncryptedPrivateKey.seal(
            Array(key.pkcs8Representation), password: passphrase.bytes)
        return PEMBlock(label: "ENCRYPTED PRIVATE KEY", bytes: sealed.bytes)
    }

    // MARK: - PKCS #12

    private func container() throws(KeychainFailure) -> [UInt8] {
        guard let passphrase else { throw Passphrase.required }
        let password = try passphrase.text()
        var contents = PKCS12Contents()
        for item in items {
            // The identifier that links the two halves of an identity in the container.
            var localKeyID = item.key.map { Array($0.publicKeyHash) }
            if let certificate = item.certificate {
                localKeyID =
                    localKeyID
                    ?? privateKey(to: certificate).map {
                        Array($0.publicKeyHash)
                    }
                contents.certificates.append(
                    .init(
                        der: Array(certificate.der), name: certificate.subjectSummary,
                        localKeyID: localKeyID))
            }
            guard let key = item.key else { continue }
            if key.secureEnclaveKey != nil { throw .keyStaysInHardware }
            guard case .privateKey(let material) = key.material else {
                throw .param(
                    "PKCS #12 can contain private keys and certificates, but not public keys.")
            }
            contents.keys.append(
                .init(
                    privateKeyInfo: Array(material.pkcs8Representation),
                    name: name(of: key, in: item), localKeyID: localKeyID))
        }
        return try PKCS12.seal(contents, password: password)
    }

    private func privateKey(to certificate: SecCertificate) -> SecKey? {
        items.lazy.compactMap(\.key).first { certificate.isAbout($0) }
    }

    /// The label of a key, or the summary of its certificate.
    private func name(of key: SecKey, in item: ValueReference) -> String? {
        if case .string(let label) = key.givenAttributes[.label], !label.isEmpty { return label }
        let certificate =
            item.certificate ?? items.lazy.compactMap(\.certificate).first { $0.isAbout(key) }
        return certificate?.subjectSummary
    }
}

#endif
