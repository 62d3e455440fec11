// SecKeyStore: stores CryptoKit's keys as items of class key.
//   (1) An item is found by its label and size. The label is stored as `kSecAttrApplicationLabel`,
//       in place of the usual hash of the public key, because a program knows the label before it
//       has the key.
//   (2) The module Security can use these keys without CryptoKit, for example to sign.

import Foundation
import Security

/// Stores keys on NIST curves, each under a label.
public struct SecKeyStore: Sendable {
    /// Creates a store. All stores of a program share the same keys.
    public init() {}

    /// Stores a key.
    ///
    /// - Throws: `SecurityError`, with `errSecDuplicateItem` if the label already has a key of this
    ///   size. That key is kept.
    public func store<Key: SecKeyConvertible>(_ key: Key, label: String) throws {
        let attributes: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
        ]
        var error: Unmanaged<CFError>?
        guard
            let secKey = SecKeyCreateWithData(
                key.x963Representation as CFData, attributes as CFDictionary, &error)
        else { throw SecurityError(error?.takeRetainedValue()) }

        let item: [String: Any] = [
            kSecClass as String: kSecClassKey,
            kSecAttrApplicationLabel as String: Data(label.utf8),
            kSecAttrLabel as String: label,
            kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
            kSecUseDataProtectionKeychain as String: true,
            kSecValueRef as String: secKey,
        ]
        try SecurityError.check(SecItemAdd(item as CFDictionary, nil))
    }

    /// Returns the key with the given label and the key size of `type`, or `nil` if there is none.
    ///
    /// - Throws: `SecurityError`, or CryptoKit's error if the item is not a key on the curve of the
    ///   type.
    public func read<Key: SecKeyConvertible>(_ type: Key.Type = Key.self, label: String) throws
        -> Key?
    {
        guard let secKey = try reference(to: type, label: label) else { return nil }
        var error: Unmanaged<CFError>?
        guard let form = SecKeyCopyExternalRepresentation(secKey, &error) as Data? else {
            throw SecurityError(error?.takeRetainedValue())
        }
        return try Key(x963Representation: form)
    }

    /// Returns the key with the given label and the key size of `type` as a `SecKey`, for use
    /// without CryptoKit, or `nil` if there is none.
    ///
    /// - Throws: `SecurityError`.
    public func reference<Key: SecKeyConvertible>(to type: Key.Type, label: String) throws
        -> SecKey?
    {
        var query = query(for: type, label: label)
        query[kSecReturnRef as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        try SecurityError.check(status)
        guard let result, CFGetTypeID(result) == SecKeyGetTypeID() else {
            throw SecurityError(errSecInternalComponent)
        }
        // A Core Foundation type requires a forced cast. The guard above makes the cast safe.
        // swift-format-ignore: NeverForceUnwrap
        return (result as! SecKey)
    }

    /// Deletes the key with the given label and the key size of `type`. Deleting a key that does
    /// not exist succeeds.
    ///
    /// - Throws: `SecurityError`.
    public func delete<Key: SecKeyConvertible>(_ type: Key.Type, label: String) throws {
        let status = SecItemDelete(query(for: type, label: label) as CFDictionary)
        if status != errSecItemNotFound { try SecurityError.check(status) }
    }

    private func query<Key: SecKeyConvertible>(for type: Key.Type, label: String)
        -> [String: Any]
    {
        [
            kSecClass as String: kSecClassKey,
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeyClass as String: kSecAttrKeyClassPrivate,
            kSecAttrKeySizeInBits as String: type.keySizeInBits,
            kSecAttrApplicationLabel as String: Data(label.utf8),
            kSecUseDataProtectionKeychain as String: true,
        ]
    }
}
