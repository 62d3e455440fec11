// What is stored about the protection of an item, read back so that it can be checked.

import Foundation
import Security

/// The stored attributes that protect an item.
public struct ItemProtection: Hashable, Sendable {
    /// When the item can be read: the text of a constant such as
    /// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
    public let accessibility: String
    /// Whether the item is synchronized with other devices.
    public let isSynchronizable: Bool
}

extension KeychainService {
    /// The protection that an item is stored with. The secret is not read.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The protection; nil if there is no such item.
    /// - Throws: ``KeychainError/loadFailed(_:)``, or ``KeychainError/invalidData`` if the
    ///   attributes don't say.
    public func protection(forKey key: String) throws -> ItemProtection? {
        try logger.log("read attributes of", key) {
            var query = query(forKey: key)
            query[kSecReturnAttributes as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var result: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &result)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw KeychainError.loadFailed(status) }
            guard let attributes = result as? [String: Any],
                let accessibility = attributes[kSecAttrAccessible as String] as? String
            else { throw KeychainError.invalidData }
            let isSynchronizable = attributes[kSecAttrSynchronizable as String] as? Bool
            return ItemProtection(
                accessibility: accessibility, isSynchronizable: isSynchronizable ?? false)
        }
    }

    /// Whether an item is stored with an accessibility, and is not synchronized.
    ///
    /// - Parameters:
    ///   - key: The key of the item.
    ///   - accessibility: A constant such as `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`.
    /// - Returns: Whether it has exactly this protection.
    /// - Throws: ``KeychainError/itemNotFound`` if there is no such item, which is neither protected
    ///   nor unprotected; otherwise as ``protection(forKey:)``.
    public func isProtected(forKey key: String, by accessibility: CFString) throws -> Bool {
        guard let protection = try protection(forKey: key) else {
            throw KeychainError.itemNotFound
        }
        return protection.accessibility == accessibility as String
            && !protection.isSynchronizable
    }
}
