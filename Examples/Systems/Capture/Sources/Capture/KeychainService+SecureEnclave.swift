// KeychainService+SecureEnclave: named P-256 keys that are created in the Secure Enclave and never
// leave it.
//   (1) Without the hardware, no key is created, and no software key is used instead.
//   (2) There is one key per name. The name is the key's application tag and its application label,
//       and the label is part of the item's primary key. Of several concurrent creations with the
//       same name, only one succeeds.
//   (3) The keys only sign. They are never used to encrypt or decrypt.

import Foundation
import Security

extension KeychainService {
    /// Creates a P-256 key in the Secure Enclave. The key is permanent, bound to this device and
    /// not extractable, and can be used after the first unlock.
    ///
    /// The key is durable when this method returns. If this method throws, nothing was stored, with
    /// one exception: if the connection to a keychain service broke, or the disk failed to
    /// synchronize the change, the key may have been stored. Load the key before you retry.
    ///
    /// - Parameter key: The name of the key.
    /// - Returns: The private key, which can sign.
    /// - Throws: ``KeychainError/secureEnclaveUnavailable`` if there is no Secure Enclave,
    ///   ``KeychainError/duplicateItem`` if a key with this name exists, otherwise
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

    /// Loads a Secure Enclave key, without using it.
    ///
    /// - Parameter key: The name of the key.
    /// - Returns: The private key, whose bytes stay in the hardware, or `nil` if it does not exist.
    /// - Throws: ``KeychainError/loadFailed(_:)``. With status -25308, the device is locked: retry
    ///   after it is unlocked. ``KeychainError/unexpectedError(_:)`` if the keychain returns
    ///   something other than a key.
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
            // A Core Foundation type requires a forced cast. The guard above makes the cast safe.
            // swift-format-ignore: NeverForceUnwrap
            return (result as! SecKey)
        }
    }

    /// Permanently deletes a Secure Enclave key. Deleting a key that does not exist succeeds.
    ///
    /// - Parameter key: The name of the key.
    /// - Throws: ``KeychainError/deleteFailed(_:)``. The key still exists, with one exception: if
    ///   the connection to a keychain service broke, or the disk failed to synchronize the change,
    ///   the key may have been deleted.
    public func deleteSecureEnclaveKey(forKey key: String) throws {
        try logger.log("delete key", key) {
            let status = SecItemDelete(secureEnclaveQuery(forKey: key) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw KeychainError.deleteFailed(status)
            }
        }
    }

    /// Signs the SHA-256 hash of data with a private key.
    ///
    /// - Parameters:
    ///   - data: The data to sign, which may be empty.
    ///   - key: A key from ``createSecureEnclaveKey(forKey:)`` or
    ///     ``loadSecureEnclaveKey(forKey:)``.
    /// - Returns: The ECDSA signature in DER.
    /// - Throws: ``KeychainError/secureEnclaveUnavailable`` if the hardware is no longer available,
    ///   otherwise ``KeychainError/unexpectedError(_:)``. With status -25308, the device is locked:
    ///   retry after it is unlocked.
    public func signature(for data: Data, using key: SecKey) throws -> Data {
        var error: Unmanaged<CFError>?
        let signature = SecKeyCreateSignature(
            key, .ecdsaSignatureMessageX962SHA256, data as CFData, &error)
        if let signature { return signature as Data }
        let status = status(of: error)
        throw status == errSecUnimplemented
            ? KeychainError.secureEnclaveUnavailable : .unexpectedError(status)
    }

    /// Returns the public key of a private key.
    ///
    /// - Parameter key: A P-256 private key.
    /// - Returns: 04 ‖ X ‖ Y, 65 bytes.
    /// - Throws: ``KeychainError/unexpectedError(_:)``.
    public func publicKeyData(of key: SecKey) throws -> Data {
        var error: Unmanaged<CFError>?
        guard let publicKey = SecKeyCopyPublicKey(key),
            let data = SecKeyCopyExternalRepresentation(publicKey, &error)
        else { throw KeychainError.unexpectedError(status(of: error)) }
        return data as Data
    }

    /// Checks whether the bytes of a private key can be obtained from its key object or from the
    /// keychain. This method requests the bytes in both ways, but never returns them.
    ///
    /// This method does not use the hardware. To verify that the hardware is present, sign with the
    /// key.
    ///
    /// - Parameter key: The name of the key.
    /// - Returns: `true` if the bytes can be obtained; `false` for every Secure Enclave key.
    /// - Throws: ``KeychainError/itemNotFound`` if the key does not exist, otherwise the errors of
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

    /// The status in the error of a SecKey function.
    private func status(of error: Unmanaged<CFError>?) -> OSStatus {
        guard let error = error?.takeRetainedValue() else { return errSecInternalComponent }
        return OSStatus(truncatingIfNeeded: CFErrorGetCode(error))
    }
}
