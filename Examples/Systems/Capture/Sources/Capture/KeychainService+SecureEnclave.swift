// Keys in the Secure Enclave, by name: P-256, made in the hardware, which they never leave.
//   (1) Without the hardware no key is made, and none in software stands in for one.
//   (2) There is one key of a name: the name is its application tag and its application label, and
//       the label is part of what makes a key unique. Of several creations at once, one succeeds.
//   (3) The keys sign. Nothing here encrypts or decrypts with them.

import Foundation
import Security

extension KeychainService {
    /// Makes a key in the Secure Enclave: on P-256, permanent, bound to this device and not
    /// extractable. It can be used after the first unlock.
    ///
    /// It is durable when this returns. When it throws, nothing was stored, with one exception:
    /// where a keychain service broke off, the key may have been. Load it before you repeat this.
    ///
    /// - Parameter key: The name of the key.
    /// - Returns: The private key, which signs.
    /// - Throws: ``KeychainError/secureEnclaveUnavailable`` where there is no such hardware,
    ///   ``KeychainError/duplicateItem`` if there is a key of this name, otherwise
    ///   ``KeychainError/saveFailed(_:)``.
    public func createSecureEnclaveKey(forKey key: String) throws -> SecKey {
        try logger.log("create key", key) {
            var error: Unmanaged<CFError>?
            let accessControl = SecAccessControlCreateWithFlags(
                nil, Self.defaultAccessibility, .privateKeyUsage, &error)
            guard let accessControl else { throw KeychainError.saveFailed(status(of: error)) }
            let name = Data(key.utf8)
            let attributes: [String: Any] = [
                kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
                kSecAttrKeySizeInBits as String: 256,
                kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
                kSecUseDataProtectionKeychain as String: true,
                kSecPrivateKeyAttrs as String: [
                    kSecAttrIsPermanent as String: true,
                    kSecAttrApplicationTag as String: name,
                    kSecAttrApplicationLabel as String: name,
                    kSecAttrAccessControl as String: accessControl,
                ] as [String: Any],
            ]
            if let made = SecKeyCreateRandomKey(attributes as CFDictionary, &error) { return made }
            switch status(of: error) {
            case errSecUnimplemented: throw KeychainError.secureEnclaveUnavailable
            case errSecDuplicateItem: throw KeychainError.duplicateItem
            case let status: throw KeychainError.saveFailed(status)
            }
        }
    }

    /// Loads a key of the Secure Enclave. The key is not used for that.
    ///
    /// - Parameter key: The name of the key.
    /// - Returns: The private key, whose bytes stay in the hardware; nil if there is no such key.
    /// - Throws: ``KeychainError/loadFailed(_:)``; with status -25308 try again after unlock.
    public func loadSecureEnclaveKey(forKey key: String) throws -> SecKey? {
        try logger.log("load key", key) {
            var query = secureEnclaveQuery(forKey: key)
            query[kSecReturnRef as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw KeychainError.loadFailed(status) }
            guard let result, CFGetTypeID(result) == SecKeyGetTypeID() else {
                throw KeychainError.unexpectedError(errSecInternalComponent)
            }
            // Only a forced cast leads to a type of Core Foundation; the line above makes it safe.
            // swift-format-ignore: NeverForceUnwrap
            return (result as! SecKey)
        }
    }

    /// Deletes a key of the Secure Enclave, for good. Deleting one that is not there succeeds.
    ///
    /// - Parameter key: The name of the key.
    /// - Throws: ``KeychainError/deleteFailed(_:)``; the key is still there, unless a keychain
    ///   service broke off.
    public func deleteSecureEnclaveKey(forKey key: String) throws {
        try logger.log("delete key", key) {
            let status = SecItemDelete(secureEnclaveQuery(forKey: key) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw KeychainError.deleteFailed(status)
            }
        }
    }

    /// Signs data with a private key, hashed with SHA-256.
    ///
    /// - Parameters:
    ///   - data: What is signed, 0 bytes and up.
    ///   - key: A key of ``createSecureEnclaveKey(forKey:)`` or ``loadSecureEnclaveKey(forKey:)``.
    /// - Returns: The signature by ECDSA, in DER.
    /// - Throws: ``KeychainError/secureEnclaveUnavailable`` if the hardware is gone, otherwise
    ///   ``KeychainError/unexpectedError(_:)``; with status -25308 try again after unlock.
    public func signature(for data: Data, using key: SecKey) throws -> Data {
        var error: Unmanaged<CFError>?
        let signature = SecKeyCreateSignature(
            key, .ecdsaSignatureMessageX962SHA256, data as CFData, &error)
        if let signature { return signature as Data }
        let status = status(of: error)
        throw status == errSecUnimplemented
            ? KeychainError.secureEnclaveUnavailable : .unexpectedError(status)
    }

    /// The public half of a key, which is no secret.
    ///
    /// - Parameter key: A private key.
    /// - Returns: 04 ‖ X ‖ Y, 65 bytes.
    /// - Throws: ``KeychainError/unexpectedError(_:)``.
    public func publicKeyData(of key: SecKey) throws -> Data {
        var error: Unmanaged<CFError>?
        guard let publicKey = SecKeyCopyPublicKey(key),
            let data = SecKeyCopyExternalRepresentation(publicKey, &error)
        else { throw KeychainError.unexpectedError(status(of: error)) }
        return data as Data
    }

    /// Whether the bytes of a private key can be had from its object or from the keychain. It asks
    /// for them in these two ways; they are never returned.
    ///
    /// The hardware is not used for that. Sign with the key to see that it is there.
    ///
    /// - Parameter key: The name of the key.
    /// - Returns: Whether there are bytes; false for each key in the Secure Enclave.
    /// - Throws: ``KeychainError/itemNotFound`` if there is no such key, otherwise as
    ///   ``loadSecureEnclaveKey(forKey:)``.
    public func isSecureEnclaveKeyExtractable(forKey key: String) throws -> Bool {
        guard let privateKey = try loadSecureEnclaveKey(forKey: key) else {
            throw KeychainError.itemNotFound
        }
        if SecKeyCopyExternalRepresentation(privateKey, nil) != nil { return true }
        var query = secureEnclaveQuery(forKey: key)
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status == errSecSuccess else { throw KeychainError.loadFailed(status) }
        return result != nil
    }

    private func secureEnclaveQuery(forKey key: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassKey,
            kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
            kSecAttrTokenID as String: kSecAttrTokenIDSecureEnclave,
            kSecAttrApplicationTag as String: Data(key.utf8),
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    /// The status of an error of a function on keys.
    private func status(of error: Unmanaged<CFError>?) -> OSStatus {
        guard let error = error?.takeRetainedValue() else { return errSecInternalComponent }
        return OSStatus(truncatingIfNeeded: CFErrorGetCode(error))
    }
}
