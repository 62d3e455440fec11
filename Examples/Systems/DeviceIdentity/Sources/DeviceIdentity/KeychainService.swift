// KeychainService: the app's items in the keychain, accessed with the SecItem functions.
//   (1) This is the only file with SecItem calls. Every call has its own dictionaries.
//   (2) A query identifies an item only by its primary key.
//   (3) An item is replaced by an update, never by deleting and adding it.
//   (4) Every status is checked. Nothing is deleted or recreated because of an error.

import Foundation
import Security

/// Stores secrets as generic passwords that are not synchronized, with the protection
/// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
public final class KeychainService: KeychainServiceProtocol {
    private let service: String

    /// Creates an object that accesses the items of one service. The keychain is not opened before
    /// the first operation.
    ///
    /// - Parameter service: The service of all items (`kSecAttrService`).
    public init(service: String = Bundle.main.bundleIdentifier ?? "com.poopypals") {
        self.service = service
    }

    /// Saves bytes, replacing existing ones. The saved bytes are durable when this method returns.
    ///
    /// An item that is replaced keeps its creation date and its persistent reference, and gets the
    /// protection `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/saveFailed(status:)``. Stored data are kept.
    public func save(_ data: Data, for key: String) throws {
        if try add(data, for: key) { return }
        let status = SecItemUpdate(query(key) as CFDictionary, contents(data) as CFDictionary)
        if status == errSecItemNotFound {
            // The item was deleted after `add` found it. If another process has added a new item
            // since then, that item is kept, as if this save had happened before the deletion.
            _ = try add(data, for: key)
            return
        }
        guard status == errSecSuccess else { throw KeychainError.saveFailed(status: status) }
    }

    /// Saves bytes if none exist. If several processes do this concurrently, exactly one of the
    /// calls returns `true`.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Returns: `true` if the bytes were saved. If `false`, the stored data are kept.
    /// - Throws: ``KeychainError/saveFailed(status:)``. Stored data are kept.
    public func add(_ data: Data, for key: String) throws -> Bool {
        let item = query(key).merging(contents(data)) { _, new in new }
        switch SecItemAdd(item as CFDictionary, nil) {
        case errSecSuccess: return true
        case errSecDuplicateItem: return false
        case let status: throw KeychainError.saveFailed(status: status)
        }
    }

    /// Loads bytes.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The bytes, or `nil` if there are none.
    /// - Throws: ``KeychainError/loadFailed(status:)``, or ``KeychainError/unexpectedData`` if the
    ///   result is not bytes.
    public func load(for key: String) throws -> Data? {
        var query = query(key)
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: CFTypeRef?
        switch SecItemCopyMatching(query as CFDictionary, &result) {
        case errSecSuccess:
            guard let data = result as? Data else { throw KeychainError.unexpectedData }
            return data
        case errSecItemNotFound: return nil
        case let status: throw KeychainError.loadFailed(status: status)
        }
    }

    /// Deletes an item. This succeeds if the item does not exist.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Throws: ``KeychainError/deleteFailed(status:)``. The item is then kept.
    public func delete(for key: String) throws {
        let status = SecItemDelete(query(key) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError.deleteFailed(status: status)
        }
    }

    /// Checks whether an item exists, without reading its secret.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: `true` if the item exists.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
    public func exists(for key: String) throws -> Bool {
        switch SecItemCopyMatching(query(key) as CFDictionary, nil) {
        case errSecSuccess: return true
        case errSecItemNotFound: return false
        case let status: throw KeychainError.loadFailed(status: status)
        }
    }

    // MARK: Dictionaries

    /// The query that matches only the item with a key.
    private func query(_ key: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: key,
            kSecAttrSynchronizable as String: false,
            // On macOS, use the data protection keychain, as on iOS, not the file-based keychain.
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    /// The attributes that an item gets when it is added or replaced.
    private func contents(_ data: Data) -> [String: Any] {
        [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
    }
}
