// SecKeyStore: CryptoKit's keys as items of the keychain's own class for keys.
//   (1) An item is found by its label and size. The label takes the place of the hash of the public
//       key that `kSecAttrApplicationLabel` is otherwise: a program knows it before it has the key.
//   (2) Whatever Security does with a key, sign with it for example, it can do with these.

import Foundation
import Security

/// Stores keys on NIST's curves, each under a label.
public struct SecKeyStore: Sendable {
    /// A store. All stores of a program see the same keys.
    public init() {}

    /// Stores a key.
    ///
    /// - Throws: `SecurityError`, with `errSecDuplicateItem` where the label has a key of this size;
    ///   that key stays.
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

    /// The key of a label; nil where there is none of this size.
    ///
    /// - Throws: `SecurityError`, or CryptoKit's error where the item is no such key.
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

    /// The key of a label as Security has it, to use without CryptoKit; nil where there is none of
    /// this size.
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
        // Only a forced cast leads to a type of Core Foundation; the line above makes it safe.
        // swift-format-ignore: NeverForceUnwrap
        return (result as! SecKey)
    }

    /// Deletes the key of a label. That there is none is success.
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
