// SecItemImport: keys, certificates and identities from bytes of any supported form.
//   (1) All that the bytes hold is given, or nothing: an entry that can't be read fails the whole.
//   (2) What the bytes are decides; a stated format that they are not is an error, the ending of a
//       file name and a stated item type are hints.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore
internal import SwiftASN1

/// Makes keys, certificates and identities from data of other programs. No keychain is changed:
/// ``SecItemAdd(_:_:)`` adds what this gives, by `kSecValueRef`.
///
/// Read are certificates (X.509), private keys (PKCS #8, with and without a passphrase, PKCS #1,
/// RFC 5915), public keys (SubjectPublicKeyInfo, PKCS #1), PKCS #7 with certificates, and PKCS #12;
/// all in DER or PEM, and any number of blocks in PEM. A key and its certificate out of one PKCS #12
/// container come as an identity. Names that a container gives its entries are not given.
///
/// - Parameters:
///   - importedData: The data.
///   - fileNameOrExtension: The name of a file or its ending. It is a hint: the data decide what
///     they are. May be nil.
///   - inputFormat: The format of the data, `formatUnknown` to have it found out. Receives the format
///     that was found: `formatPEMSequence` for more than one block in PEM, else that of the item.
///     `formatRawKey`, Apple's external representation of an RSA or elliptic curve key, is never
///     found out and has to be stated. May be nil. Untouched when the call fails.
///   - itemType: A hint that tells private from public for `formatRawKey`. Receives the type that was
///     found. May be nil. Untouched when the call fails.
///   - flags: Ignored: PEM is recognized.
///   - keyParams: The passphrase, and whether more than one private key is an error. May be nil.
///   - importKeychain: Nil. There are no file-based keychains to import into, and no value of the
///     type.
///   - outItems: Receives an array of `SecKey`, `SecCertificate` and `SecIdentity`, in the order of
///     the data. May be nil. Untouched when the call fails.
/// - Returns: `errSecSuccess`, or
///   - `errSecUnknownFormat`: the data are nothing that is known, or not of the stated format;
///   - `errSecUnsupportedFormat`: the format, or the encryption within, is not supported, or asks for
///     more work than ``SecPKCS12Import(_:_:_:)`` does. Not supported are
///     `formatSSH`, `formatSSHv2`, `formatBSAFE`, `formatWrappedOpenSSL`, `formatWrappedSSH`,
///     `formatWrappedLSH` and `formatNetscapeCertSequence`;
///   - `errSecDecode`: the data are damaged, or hold a key of a kind that is not supported;
///   - `errSecPassphraseRequired`: the data are under a passphrase, and none is given;
///   - `errSecAuthFailed`: the passphrase is not that of the private key, or the key is damaged;
///   - `errSecPkcs12VerifyFailure`: the same for PKCS #12;
///   - `errSecMultiplePrivKeys`: there is more than one private key, and one is asked for;
///   - `errSecParam`: the passphrase is neither text nor data;
///   - `errSecUnimplemented`: a symmetric key is asked for, or the data are under a cipher of older
///     programs and the package was built without its trait `OlderPKCS12`.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecItemImport(
    _ importedData: CFData, _ fileNameOrExtension: CFString?,
    _ inputFormat: UnsafeMutablePointer<SecExternalFormat>?,
    _ itemType: UnsafeMutablePointer<SecExternalItemType>?, _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?, _ importKeychain: SecKeychain?,
    _ outItems: UnsafeMutablePointer<CFArray?>?
) -> OSStatus {
    // SAFETY: the caller's pointers are valid for the call, as their types promise.
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

// MARK: - Reading the forms

/// One import.
struct ItemImport {
    /// What an import gives.
    struct Result {
        var items: [ValueReference]
        var format: SecExternalFormat
        var type: SecExternalItemType
    }

    /// The format that the caller states; unknown if it is to be found out.
    var format: SecExternalFormat
    /// The format that a file name speaks for.
    var expected: SecExternalFormat
    var type: SecExternalItemType
    var passphrase: Passphrase?

    /// Reads the bytes.
    func result(of bytes: [UInt8]) throws(KeychainFailure) -> Result {
        guard format.isSupported else {
            throw KeychainFailure(.unsupportedFormat, "The format is not supported.")
        }
        if format == .formatRawKey {
            let key = try rawKey(Data(bytes))
            return Result(items: [.key(key)], format: .formatRawKey, type: key.itemType)
        }
        var budget = WorkBudget()
        // DER is tried first: a certificate can hold a text in PEM, as a comment.
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
        // Parameters of a curve stand before the key, which repeats them.
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
                    ? "OpenSSL's own encryption of keys is not supported. "
                        + "`openssl pkcs8 -topk8` writes PKCS #8, which is."
                    : "A block of the text in PEM holds something that is not supported.")
        }
        guard let form = ExternalForm(block.bytes) else {
            throw KeychainFailure(.decode, "A block of the text in PEM is damaged.")
        }
        return try result(of: block.bytes, form, &budget)
    }

    private func result(
        of bytes: [UInt8], _ form: ExternalForm, _ budget: inout WorkBudget
    ) throws(KeychainFailure) -> Result {
        guard [.formatUnknown, .formatPEMSequence, form.format].contains(format) else {
            throw KeychainFailure(.unknownFormat, "The data are not of the stated format.")
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
            // A signing request has the same outermost elements.
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
                    .decode, "The public key is damaged, or of a kind that is not supported.")
            }
            return [.key(SecKey(.publicKey(key)))]
        case .rsaPublicKey:
            do {
                let key = try AsymmetricPublicKey(
                    externalRepresentation: Data(bytes), kind: .rsa)
                return [.key(SecKey(.publicKey(key)))]
            } catch {
                throw KeychainFailure(
                    .decode, "The public key is damaged, or of a size that is not supported.")
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

    /// A key in Apple's external representation. It doesn't say what it is: RSA keys and points on
    /// curves are told by trying, 32 bytes of Ed25519 and X25519 can't be told apart.
    private func rawKey(_ data: Data) throws(KeychainFailure) -> SecKey {
        if type == .itemTypeSessionKey { throw .notBuilt("importing symmetric keys") }
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

    /// The bytes are nothing that is known. Where a file name says what they should have been, they
    /// are damaged.
    private var unknown: KeychainFailure {
        let isExpected = format != .formatUnknown || expected != .formatUnknown
        return isExpected
            ? KeychainFailure(.decode, "The data are damaged, or not of the expected format.")
            : KeychainFailure(.unknownFormat, "The format of the data was not recognized.")
    }
}

extension SecKey {
    /// The private key of PKCS #8, PKCS #1 or RFC 5915.
    convenience init(
        privateKey bytes: [UInt8], within budget: inout WorkBudget
    ) throws(KeychainFailure) {
        try budget.take(WorkBudget.roundsPerKey)
        guard let info = PrivateKeyInfo(anyForm: bytes) else {
            throw KeychainFailure(.decode, "The private key is damaged, or names no curve.")
        }
        guard let key = AsymmetricPrivateKey(pkcs8: Data(info.bytes)) else {
            throw KeychainFailure(
                .decode, "The private key is damaged, or of a kind that is not supported.")
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

    /// The object itself.
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
