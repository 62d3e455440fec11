// SecPKCS12Import: imports identities from a PKCS #12 container.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Opens a PKCS #12 container.
///
/// The keychain is changed only if `kSecUseDataProtectionKeychain` is true and
/// `kSecImportToMemoryOnly` is not true. In that case the private keys that have a certificate in
/// the container and all certificates of the container are added. When this function returns
/// `errSecSuccess`, all of them are durable. Items that existed before are not changed. After a
/// failure the keychain is unchanged, with two exceptions. Its state is unknown if the connection
/// to a keychain service was lost (`errSecNotAvailable`), or if the change could not be
/// synchronized to the disk (`errSecIO`, `errSecDiskFull`).
///
/// - Parameters:
///   - pkcs12_data: The container.
///   - options: `kSecImportExportPassphrase`, a string; the default is the empty string. If items
///     are added, the other entries of the dictionary, such as `kSecAttrAccessible` and
///     `kSecAttrLabel`, apply to them, except `kSecClass`, `kSecValueRef`, the `kSecReturn…` keys
///     and the keys of import options.
///   - items: Receives an array with one dictionary for each private key whose certificate is in
///     the container: `kSecImportItemIdentity`; `kSecImportItemCertChain`, the certificate followed
///     by its issuers as far as the container has them, at most 100 certificates;
///     `kSecImportItemTrust`, a trust object for the certificate, with all certificates of the
///     container, to be passed to ``SecTrustEvaluateWithError(_:_:)``; `kSecImportItemKeyID`, the
///     SHA-1 of the public key; and `kSecImportItemLabel`, the friendly name in the container or,
///     without one, the summary of the certificate. The label is absent if there is neither.
///     Certificates that are in no chain are in one additional dictionary, which contains only
///     `kSecImportItemCertChain`. A private key without a certificate is omitted;
///     ``SecItemImport(_:_:_:_:_:_:_:_:)`` returns it. If the container has nothing to return, the
///     array is empty. After a failure, the pointer's target is unchanged.
/// - Returns: `errSecSuccess`, or
///   - `errSecAuthFailed`: the passphrase is wrong, or the container is damaged. The two can't be
///     distinguished;
///   - `errSecDecode`: the data is not a PKCS #12 container, has no authentication code, or
///     contains a damaged certificate or a key of an unsupported kind;
///   - `errSecUnsupportedFormat`: the encryption is not supported, or requires too much work. The
///     current encryption scheme (PBES2 with AES-CBC, and PBKDF2 or scrypt) is supported. The
///     legacy ciphers triple DES, RC2 and RC4 are supported for certificates, RSA keys and keys on
///     NIST curves. With these ciphers, the passphrase must not contain zero bytes; for keys, it
///     must also be ASCII of at most 1023 bytes. `errSecUnsupportedFormat` is also returned if
///     certificates that are encrypted with a legacy cipher are damaged. The limits are 10 million
///     rounds for each encrypted part and for the authentication code, 1 GiB of memory for scrypt,
///     and work equal to 100 million rounds of PBKDF2 in total;
///   - `errSecParam`: the passphrase is not a string;
///   - `errSecUnimplemented`: the contents are encrypted with a legacy cipher, and the package was
///     built without its trait `OlderPKCS12`;
///   - any status of ``SecItemAdd(_:_:)`` if an item could not be added.
///
/// It corresponds to Apple's function of the same name on iOS.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    do throws(KeychainFailure) {
        let options = PKCS12Options(options)
        var budget = WorkBudget()
        let contents = try PKCS12Items(
            Array(pkcs12_data.contents), passphrase: options.passphrase(), within: &budget)
        var results = contents.identities.map { $0.result(contents) }
        let lone = contents.loneCertificates
        if !lone.isEmpty { results.append([kSecImportItemCertChain: lone as NSArray]) }
        if options.addsItems { try contents.add(with: options.attributes) }
        // SAFETY: the caller must pass a pointer that is valid during the call, as `&variable` is.
        unsafe items.pointee = results as NSArray
        return errSecSuccess
    } catch {
        // Like Apple's function on iOS, this one reports a wrong passphrase with
        // `errSecAuthFailed`. `errSecPkcs12VerifyFailure` is the status of macOS's keychains and of
        // `SecItemImport`.
        return error.status == .pkcs12VerifyFailure ? errSecAuthFailed : error.status.rawValue
    }
}

/// The options of an import.
private struct PKCS12Options {
    private let entries: [String: Any]

    init(_ dictionary: CFDictionary) {
        var entries: [String: Any] = [:]
        for (key, value) in dictionary {
            if let key = key as? String { entries[key] = value }
        }
        self.entries = entries
    }

    func passphrase() throws(KeychainFailure) -> String {
        guard let value = entries[kSecImportExportPassphrase as String] else { return "" }
        guard case .string(let text) = DictionaryValue(value) else {
            throw .param("The passphrase is not a string.")
        }
        return text
    }

    var addsItems: Bool {
        isTrue(kSecUseDataProtectionKeychain) && !isTrue(kSecImportToMemoryOnly)
    }

    private func isTrue(_ name: CFString) -> Bool {
        guard let value = entries[name as String] else { return false }
        return switch DictionaryValue(value) {
        case .boolean(let flag): flag
        case .number(let number): number.boolValue
        default: false
        }
    }

    /// The entries of the dictionary that apply to the added items.
    var attributes: [String: Any] {
        let own = [
            kSecImportExportPassphrase, kSecImportExportKeychain, kSecImportExportAccess,
            kSecImportToMemoryOnly, kSecClass, kSecValueRef, kSecReturnData, kSecReturnRef,
            kSecReturnAttributes, kSecReturnPersistentRef,
        ].map { $0 as String }
        return entries.filter { !own.contains($0.key) }
    }
}

extension PKCS12Items.Entry {
    /// The identity's dictionary in the array of results.
    fileprivate func result(_ contents: PKCS12Items) -> NSDictionary {
        // All identities share one array of certificates, because a container may hold thousands of
        // both.
        let trust = SecTrust(
            SecTrust.Settings(
                leaf: identity.certificate, others: contents.certificates,
                policies: [SecPolicyCreateBasicX509()]))
        var result: [CFString: Any] = [
            kSecImportItemIdentity: identity, kSecImportItemCertChain: chain as NSArray,
            kSecImportItemTrust: trust,
            kSecImportItemKeyID: identity.privateKey.publicKeyHash as NSData,
        ]
        result[kSecImportItemLabel] = name ?? identity.certificate.subjectSummary
        return result as NSDictionary
    }
}

extension PKCS12Items {
    /// Adds those keys of identities and those certificates that the keychain doesn't contain yet,
    /// in one transaction: either all of them are added, or none.
    fileprivate func add(with attributes: [String: Any]) throws(KeychainFailure) {
        var requests: [RequestDictionary] = []
        for entry in identities {
            var own = attributes
            own[kSecAttrLabel as String] =
                own[kSecAttrLabel as String] ?? entry.name
                ?? entry.identity.certificate.subjectSummary
            own[kSecValueRef as String] = entry.identity.privateKey
            requests.append(try RequestDictionary(own as NSDictionary))
        }
        for certificate in certificates {
            var own = attributes
            own[kSecValueRef as String] = certificate
            requests.append(try RequestDictionary(own as NSDictionary))
        }
        try requests.addMissing()
    }
}

#endif
