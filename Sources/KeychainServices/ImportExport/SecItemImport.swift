// SecItemImport: imports keys, certificates and identities from any supported format.
//   (1) The result contains all keys and X.509 certificates in the data, or the import fails: one
//       unreadable entry makes the whole import fail.
//   (2) The format is detected from the data, except for a raw key. If the caller states a format,
//       the DER data or each PEM block must be in that format, or the import fails.
//       `formatPEMSequence` allows any PEM blocks. A file name is only a hint: it selects the
//       status if the data is not recognized. An item type has an effect only for a raw key.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore
internal import SwiftASN1

/// Creates keys, certificates and identities from data of other programs. The keychain is not
/// changed; to store the results, pass each as `kSecValueRef` to ``SecItemAdd(_:_:)``.
///
/// The data can contain X.509 certificates, private keys (PKCS #8 with or without a passphrase,
/// PKCS #1, RFC 5915), public keys (SubjectPublicKeyInfo, PKCS #1), PKCS #7 with certificates, or
/// PKCS #12, each as DER or PEM. PEM text can contain any number of blocks. A key and its
/// certificate in the same PKCS #12 container are returned as an identity. The friendly names of a
/// container's entries are not returned.
///
/// - Parameters:
///   - importedData: The data.
///   - fileNameOrExtension: A file name or an extension. It is only a hint: the format is detected
///     from the data. May be `nil`.
///   - inputFormat: The format of the data, or `formatUnknown` to detect it. Receives the detected
///     format: `formatPEMSequence` for more than one PEM block, otherwise the format of the item.
///     `formatRawKey`, Apple's external representation of an RSA or elliptic curve key, is never
///     detected and must be stated. May be `nil`. Unchanged after a failure.
///   - itemType: For `formatRawKey`: `itemTypePrivateKey` or `itemTypePublicKey`. With any other
///     type, both are tried, except that `itemTypeSessionKey` is not implemented. Receives the
///     detected type. May be `nil`. Unchanged after a failure.
///   - flags: Ignored. PEM is detected.
///   - keyParams: The passphrase, and whether more than one private key is an error. May be `nil`.
///   - importKeychain: `nil`. There are no file-based keychains to import into, and the type has no
///     values.
///   - outItems: Receives an array of `SecKey`, `SecCertificate` and `SecIdentity`, in the order of
///     the data. The contents of a PKCS #12 container come in this order: identities, other private
///     keys, other certificates. May be `nil`. Unchanged after a failure.
/// - Returns: `errSecSuccess`, or
///   - `errSecUnknownFormat`: the data is in another format than the caller stated; or the format
///     is not recognized, the caller stated none, and the file name indicates none. A damaged
///     certificate counts as not recognized;
///   - `errSecUnsupportedFormat`: the format or its encryption is not supported, or decryption
///     requires more work than the limit documented at ``SecPKCS12Import(_:_:_:)``. The unsupported
///     formats are `formatSSH`, `formatSSHv2`, `formatBSAFE`, `formatWrappedOpenSSL`,
///     `formatWrappedSSH`, `formatWrappedLSH` and `formatNetscapeCertSequence`. The status is
///     the same for a PEM block whose label names none of the kinds of data that can be imported,
///     such as `CERTIFICATE REQUEST`;
///   - `errSecDecode`: the data is damaged, contains a key of an unsupported kind, or is not
///     recognized although the caller stated a format or the file name indicates one; or the caller
///     stated `formatPEMSequence` and the data is DER;
///   - `errSecPassphraseRequired`: the data is PKCS #12 or an encrypted key, and no passphrase was
///     passed;
///   - `errSecAuthFailed`: the passphrase doesn't decrypt the private key, or the key is damaged;
///   - `errSecPkcs12VerifyFailure`: the passphrase doesn't decrypt the PKCS #12 container, or the
///     container is damaged;
///   - `errSecMultiplePrivKeys`: there is more than one private key, and `importOnlyOne` is set;
///   - `errSecParam`: the passphrase is neither a string nor data, or it is data that is not UTF-8
///     although PKCS #12 or a legacy cipher requires text;
///   - `errSecUnimplemented`: a raw symmetric key was requested, or the data is encrypted with a
///     legacy cipher and the package was built without its trait `OlderPKCS12`.
///
/// It corresponds to Apple's function of the same name.
@discardableResult
public func SecItemImport(
    _ importedData: CFData, _ fileNameOrExtension: CFString?,
    _ inputFormat: UnsafeMutablePointer<SecExternalFormat>?,
    _ itemType: UnsafeMutablePointer<SecExternalItemType>?, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ importKeychain: SecKeychain?,
    _ outItems: UnsafeMutablePointer<CFArray?>?
) -> OSStatus {
    // SAFETY: the types of the caller's pointers guarantee that they are valid during the call.
    let parameters = unsafe keyParams?.pointee
    let format = unsafe inputFormat?.pointee ?? .formatUnknown
    let type = unsafe itemType?.pointee ?? .itemTypeUnknown
    do throws(KeychainFailure) {
        let result = try ItemImport(
            format: format,
            expected: SecExternalFormat(fileNameOrExtension: fileNameOrExtension as String? ?? ""),
            type: type, passphrase: Passphrase(parameters)
        ).result(of: Array(importedData.contents))
        if parameters?.flags.contains(.importOnlyOne) == true {
            try checkOnlyOne(result.items)
        }
        // SAFETY: as above.
        unsafe inputFormat?.pointee = result.format
        unsafe itemType?.pointee = result.type
        unsafe outItems?.pointee = result.items.map(\.object) as NSArray
        return errSecSuccess
    } catch {
        return error.status.rawValue
    }
}

private func checkOnlyOne(_ items: [ValueReference]) throws(KeychainFailure) {
    guard items.count(where: { $0.key?.isPrivate == true }) <= 1 else {
        throw KeychainFailure(.multiplePrivateKeys, "There is more than one private key.")
    }
}

// MARK: - Formats

/// A single import.
struct ItemImport {
    /// The result of an import.
    struct Result {
        var items: [ValueReference]
        var format: SecExternalFormat
        var type: SecExternalItemType
    }

    /// The format that the caller stated, or `formatUnknown` to detect it.
    var format: SecExternalFormat
    /// The format that the file name indicates.
    var expected: SecExternalFormat
    var type: SecExternalItemType
    var passphrase: Passphrase?

    /// Imports the keys, certificates and identities in the bytes.
    func result(of bytes: [UInt8]) throws(KeychainFailure) -> Result {
        guard format.isSupported else {
            throw KeychainFailure(.unsupportedFormat, "The format is not supported.")
        }
        if format == .formatRawKey {
            let key = try rawKey(Data(bytes))
            return Result(items: [.key(key)], format: .formatRawKey, type: key.itemType)
        }
        var budget = WorkBudget()
        // DER is tried first, because a certificate may contain PEM text, for example as a comment.
        guard let form = ExternalForm(bytes) else {
            guard PEMBlock.isIn(bytes) else { throw unknown }
            return try result(of: PEMBlock.blocks(in: bytes), &budget)
        }
        guard format != .formatPEMSequence else { throw unknown }
        return try result(of: bytes, form, &budget)
    }

    private func result(
        of blocks: [PEMBlock], _ budget: inout WorkBudget
    ) throws(KeychainFailure) -> Result {
        // A block with the parameters of the curve may precede a key. The key contains them too.
        let blocks = blocks.filter { $0.label != "EC PARAMETERS" }
        var results: [Result] = []
        for block in blocks { results.append(try result(of: block, &budget)) }
        guard let first = results.first else { throw unknown }
        if results.count == 1 { return first }
        return Result(
            items: results.flatMap(\.items), format: .formatPEMSequence, type: .itemTypeAggregate)
    }

    private static let labels: Set = [
        "CERTIFICATE", "X509 CERTIFICATE", "PRIVATE KEY", "ENCRYPTED PRIVATE KEY",
        "RSA PRIVATE KEY", "EC PRIVATE KEY", "PUBLIC KEY", "RSA PUBLIC KEY", "PKCS7", "CMS",
        "PKCS12",
    ]

    private func result(
        of block: PEMBlock, _ budget: inout WorkBudget
    ) throws(KeychainFailure) -> Result {
        guard Self.labels.contains(block.label), !block.isEncrypted else {
            throw KeychainFailure(
                .unsupportedFormat,
                block.isEncrypted
                    ? "OpenSSL's traditional key encryption is not supported. Convert the key to "
                        + "PKCS #8 with `openssl pkcs8 -topk8`."
                    : "A block of the PEM text has contents that are not supported.")
        }
        guard let form = ExternalForm(block.bytes) else {
            throw KeychainFailure(.decode, "A block of the PEM text is damaged.")
        }
        return try result(of: block.bytes, form, &budget)
    }

    private func result(
        of bytes: [UInt8], _ form: ExternalForm, _ budget: inout WorkBudget
    ) throws(KeychainFailure) -> Result {
        guard [.formatUnknown, .formatPEMSequence, form.format].contains(format) else {
            throw KeychainFailure(.unknownFormat, "The data is not in the stated format.")
        }
        let items = try items(in: bytes, form, &budget)
        let type: SecExternalItemType =
            items.count == 1 && form != .pkcs12 && form != .pkcs7
            ? items[0].itemType : .itemTypeAggregate
        return Result(items: items, format: form.format, type: type)
    }

    private func items(
        in bytes: [UInt8], _ form: ExternalForm, _ budget: inout WorkBudget
    ) throws(KeychainFailure) -> [ValueReference] {
        switch form {
        case .certificate:
            // A certificate signing request has the same outermost elements as a certificate, so
            // data that can't be read isn't necessarily a damaged certificate.
            guard let certificate = SecCertificate(der: Data(bytes)) else { throw unknown }
            return [.certificate(certificate)]
        case .privateKey:
            return [.key(try SecKey(privateKey: bytes, within: &budget))]
        case .encryptedPrivateKey:
            let bytes = try decrypted(bytes, &budget)
            return [.key(try SecKey(privateKey: bytes, within: &budget))]
        case .publicKey:
            guard let key = AsymmetricPublicKey(subjectPublicKeyInfo: Data(bytes)) else {
                throw KeychainFailure(
                    .decode, "The public key is damaged or is of an unsupported kind.")
            }
            return [.key(SecKey(.publicKey(key)))]
        case .rsaPublicKey:
            do {
                let key = try AsymmetricPublicKey(
                    externalRepresentation: Data(bytes), kind: .rsa)
                return [.key(SecKey(.publicKey(key)))]
            } catch {
                throw KeychainFailure(
                    .decode, "The public key is damaged or is of an unsupported size.")
            }
        case .pkcs7:
            return try CertificateBundle.certificates(in: bytes).map { .certificate($0) }
        case .pkcs12:
            guard let passphrase else { throw Passphrase.required }
            return try PKCS12Items(
                bytes, passphrase: passphrase.text(), within: &budget
            ).all
        }
    }

    private func decrypted(
        _ bytes: [UInt8], _ budget: inout WorkBudget
    ) throws(KeychainFailure) -> [UInt8] {
        guard let node = EncryptedPrivateKey(encoded: bytes) else { throw unknown }
        guard let passphrase else { throw Passphrase.required }
        if node.isSupported {
            return try node.open(password: passphrase.bytes, within: &budget)
        }
        return try PKCS12.openPrivateKey(
            node, password: passphrase.text(), within: &budget)
    }

    /// A key in Apple's external representation, which doesn't identify its type. RSA and elliptic
    /// curve keys are recognized by trying to read them. Ed25519 and X25519 keys are not supported,
    /// because both have 32 bytes and can't be distinguished.
    private func rawKey(_ data: Data) throws(KeychainFailure) -> SecKey {
        if type == .itemTypeSessionKey { throw .notImplemented("importing symmetric keys") }
        for kind in [KeyKind.rsa, .elliptic] {
            if type != .itemTypePublicKey,
                let key = try? AsymmetricPrivateKey(externalRepresentation: data, kind: kind)
            {
                return SecKey(.privateKey(key))
            }
            if type != .itemTypePrivateKey,
                let key = try? AsymmetricPublicKey(externalRepresentation: data, kind: kind)
            {
                return SecKey(.publicKey(key))
            }
        }
        throw unknown
    }

    /// The failure for bytes that are not recognized. If the caller stated a format, or the file
    /// name indicates one, the bytes are reported as damaged.
    private var unknown: KeychainFailure {
        let isExpected = format != .formatUnknown || expected != .formatUnknown
        return isExpected
            ? KeychainFailure(.decode, "The data is damaged or is not in the expected format.")
            : KeychainFailure(.unknownFormat, "The format of the data was not recognized.")
    }
}

extension SecKey {
    /// Reads a private key in PKCS #8, PKCS #1 or RFC 5915.
    convenience init(
        privateKey bytes: [UInt8], within budget: inout WorkBudget
    ) throws(KeychainFailure) {
        try budget.take(WorkBudget.roundsPerKey)
        guard let info = PrivateKeyInfo(anyForm: bytes) else {
            throw KeychainFailure(.decode, "The private key is damaged or doesn't name its curve.")
        }
        guard let key = AsymmetricPrivateKey(pkcs8: Data(info.bytes)) else {
            throw KeychainFailure(
                .decode, "The private key is damaged or is of an unsupported kind.")
        }
        self.init(.privateKey(key))
    }

    fileprivate var itemType: SecExternalItemType {
        isPrivate ? .itemTypePrivateKey : .itemTypePublicKey
    }
}

extension ValueReference {
    fileprivate var itemType: SecExternalItemType {
        switch self {
        case .key(let key): key.itemType
        case .certificate: .itemTypeCertificate
        case .identity: .itemTypeAggregate
        }
    }

    /// The key, certificate or identity.
    var object: NSObject {
        switch self {
        case .key(let key): key
        case .certificate(let certificate): certificate
        case .identity(let identity): identity
        }
    }
}

extension EncryptedPrivateKey {
    /// Reads an EncryptedPrivateKeyInfo from its bytes.
    fileprivate init?(encoded bytes: [UInt8]) {
        guard let node = ASN1Node(encoded: bytes) else { return nil }
        self.init(node)
    }
}

#endif
