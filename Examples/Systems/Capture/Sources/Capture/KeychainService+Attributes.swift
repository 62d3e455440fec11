// KeychainService+Attributes: reads and checks the protection that an item is stored with.

import Foundation
import Security

/// The stored attributes that protect an item.
public struct ItemProtection: Hashable, Sendable {
    /// When the item can be read, as the value of a constant such as
    /// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
    public let accessibility: String
    /// Whether the item is synchronized with other devices.
    public let isSynchronizable: Bool
}

extension KeychainService {
    /// Returns the protection that an item is stored with, without reading its secret.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The protection, or `nil` if the item does not exist. Synchronized items are not
    ///   found.
    /// - Throws: ``KeychainError/loadFailed(_:)``, or ``KeychainError/invalidData`` if the
    ///   attributes don't contain the accessibility.
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

    /// Checks whether an item has the given accessibility and is not synchronized.
    ///
    /// - Parameters:
    ///   - key: The name under which the item is stored.
    ///   - accessibility: A constant such as `kSecAttrAccessibleWhenUnlockedThisDeviceOnly`.
    /// - Returns: `true` if the item has exactly this protection.
    /// - Throws: ``KeychainError/itemNotFound`` if the item does not exist or is synchronized,
    ///   because an item that is not found is neither protected nor unprotected; otherwise the
    ///   errors of ``protection(forKey:)``.
    public func isProtected(forKey key: String, by accessibility: CFString) throws -> Bool {
        guard let protection = try protection(forKey: key) else {
            throw KeychainError.itemNotFound
        }
        return protection.accessibility == accessibility as String
            && !protection.isSynchronizable
    }
}
