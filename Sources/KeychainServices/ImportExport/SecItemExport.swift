// SecItemExport: keys, certificates and identities in the formats of other programs.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainCore

/// Writes keys, certificates and identities for other programs.
///
/// | Format | Holds | Without a passphrase |
/// |---|---|---|
/// | `formatX509Cert` | one certificate, DER | |
/// | `formatOpenSSL` | one key: PKCS #1 or RFC 5915, or PKCS #8 for Ed25519 and X25519; a public key as SubjectPublicKeyInfo. A passphrase has no place here | in the clear |
/// | `formatRawKey` | one key in Apple's external representation. A passphrase has no place here | in the clear |
/// | `formatWrappedPKCS8` | one private key, PKCS #8 | an error |
/// | `formatPEMSequence` | any items, identities as certificate and key. Private keys are in PKCS #8 if there is a passphrase, as `formatOpenSSL` otherwise | in the clear |
/// | `formatPKCS7` | certificates | |
/// | `formatPKCS12` | private keys, certificates, identities | an error |
/// | `formatUnknown` | `formatX509Cert` for a certificate, `formatOpenSSL` for a key, `formatPEMSequence` for anything else | in the clear |
///
/// Under a passphrase means AES-256 and a key from 100,000 rounds of PBKDF2 with SHA-256, which
/// systems before macOS 15 and iOS 18 may not read.
///
/// - Parameters:
///   - secItemOrArray: A `SecKey`, `SecCertificate` or `SecIdentity`, or an array of these.
///   - outputFormat: The format.
///   - flags: `pemArmour` writes PEM in place of DER.
///   - keyParams: The passphrase. An empty one is one. May be nil.
///   - exportedData: Receives the data. What they hold in the clear is the caller's to guard.
///     Untouched when the call fails.
/// - Returns: `errSecSuccess`, or
///   - `errSecParam`: an object is something else, there is none, or the format has no place for it,
///     such as a public key in PKCS #12; or the passphrase is neither text nor data;
///   - `errSecUnsupportedFormat`: the format is not supported;
///   - `errSecPassphraseRequired`: the format asks for a passphrase.
///
/// It corresponds to the function of the same name.
@discardableResult
public func SecItemExport(
    _ secItemOrArray: CFTypeRef, _ outputFormat: SecExternalFormat,
    _ flags: SecItemImportExportFlags,
    _ keyParams: UnsafePointer<SecItemImportExportKeyParameters>?,
    _ exportedData: UnsafeMutablePointer<CFData?>
) -> OSStatus {
    do throws(KeychainFailure) {
        // SAFETY: the caller's pointers are valid for the call, as their types promise.
        let passphrase = try unsafe Passphrase(keyParams?.pointee)
        let objects = (secItemOrArray as? NSArray).map { Array($0) } ?? [secItemOrArray]
        let items = objects.compactMap { ValueReference($0 as AnyObject) }
        guard items.count == objects.count else {
            throw .param("An object is no key, certificate or identity.")
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

#endif
