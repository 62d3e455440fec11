// SecItemImport: keys, certificates and identities from the formats of other programs.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore

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
        ).result(of: Array(importedData as Data))
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

#endif
