// SecPKCS12Import: identities out of a PKCS #12 container.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

public import Foundation
internal import KeychainAsymmetricKeys
internal import KeychainCore

/// Opens a PKCS #12 container.
///
/// No keychain is changed, unless the options say so: with `kSecUseDataProtectionKeychain` true and
/// `kSecImportToMemoryOnly` not true, the keys, certificates and the certificates of their chains are
/// added. All of them are durable then when this returns `errSecSuccess`; those that were there
/// already stay as they are, and after a failure the keychain is as it was, except perhaps where a
/// keychain service broke off (`errSecNotAvailable`).
///
/// - Parameters:
///   - pkcs12_data: The container.
///   - options: `kSecImportExportPassphrase`, a string; without it, the empty one. If items are to be
///     added, what else the dictionary has is theirs, such as `kSecAttrAccessible` and `kSecAttrLabel`.
///   - items: Receives an array with a dictionary for each private key that has its certificate in the
///     container: `kSecImportItemIdentity`; `kSecImportItemCertChain`, its certificate and those that
///     issued it, as far as they are there, 100 at the most; `kSecImportItemTrust`, a trust object of that
///     chain for ``SecTrustEvaluateWithError(_:_:)``; `kSecImportItemKeyID`, the SHA-1 of the public key; and
///     `kSecImportItemLabel`, the name in the container or that of the certificate. Certificates of no
///     chain stand in one more dictionary, which has `kSecImportItemCertChain` alone. A private key
///     without its certificate is left out: ``SecItemImport(_:_:_:_:_:_:_:_:)`` gives it. Empty if there
///     is none of all that. Untouched when the call fails.
/// - Returns: `errSecSuccess`, or
///   - `errSecAuthFailed`: the passphrase is wrong, or the container is damaged: the two can't be told
///     apart;
///   - `errSecDecode`: the data are no PKCS #12 container or have no authentication code, or there is a
///     key in it of a kind that is not supported;
///   - `errSecUnsupportedFormat`: it is encrypted in a way that is not supported. Today's encryption
///     (PBES2 with AES) always is; triple DES, RC2 and RC4 of older programs are with a passphrase of
///     ASCII characters, for RSA and the curves of NIST. Or it asks for too much work: more than 10
///     million rounds of PBKDF2 for one key, or 100 million for all;
///   - `errSecParam`: the passphrase is no string;
///   - `errSecUnimplemented`: the contents are under an older cipher, and the package was built
///     without its trait `OlderPKCS12`;
///   - any of ``SecItemAdd(_:_:)`` where an item could not be added.
///
/// It corresponds to the function of the same name, as iOS has it.
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
        // SAFETY: the caller's pointer is valid for the call, as its type promises.
        unsafe items.pointee = results as NSArray
        return errSecSuccess
    } catch {
        // The status of macOS's keychains, and of `SecItemImport`, for what is a wrong passphrase.
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
            throw .param("The passphrase is no string.")
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

    /// What is left for the items that are added.
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
    /// What the array of results has of the identity.
    fileprivate func result(_ contents: PKCS12Items) -> NSDictionary {
        // All identities have one array of certificates among them: a container may hold thousands of
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
    /// Adds identities and certificates to the keychain in one transaction: all that is not there
    /// yet, or nothing.
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
