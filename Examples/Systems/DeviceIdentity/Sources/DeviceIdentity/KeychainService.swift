// KeychainService: the app's items in the keychain, by the SecItem functions.
//   (1) This is the only file with SecItem calls. Every call gets dictionaries of its own.
//   (2) A query names an item by its primary key and by nothing else.
//   (3) An item is replaced by an update, never by deleting and adding it.
//   (4) Every status is looked at. Nothing is deleted or made anew because of an error.

import Foundation
import Security

/// Keeps secrets as generic passwords that are not synchronized, with the protection
/// `kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly`.
public final class KeychainService: KeychainServiceProtocol {
    private let service: String

    /// The items of a service. Nothing is opened before the first operation.
    ///
    /// - Parameter service: The service of all items (`kSecAttrService`).
    public init(service: String = Bundle.main.bundleIdentifier ?? "com.poopypals") {
        self.service = service
    }

    /// Saves bytes, replacing those that were there. They are durable when this returns.
    ///
    /// An item that is replaced keeps its creation date and its persistent reference, and gets
    /// the protection that this service gives.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name.
    /// - Throws: ``KeychainError/saveFailed(status:)``. What was stored stays.
    public func save(_ data: Data, for key: String) throws {
        if try add(data, for: key) { return }
        let status = SecItemUpdate(query(key) as CFDictionary, contents(data) as CFDictionary)
        if status == errSecItemNotFound {
            // Deleted since it was found. If another process has added one by now, that one
            // stays: this save counts as done before the deletion.
            _ = try add(data, for: key)
            return
        }
        guard status == errSecSuccess else { throw KeychainError.saveFailed(status: status) }
    }

    /// Saves bytes if there are none. When several processes do this at once, one gets true.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: Its name.
    /// - Returns: Whether it was saved. If false, what was stored stays.
    /// - Throws: ``KeychainError/saveFailed(status:)``. What was stored stays.
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
    /// - Parameter key: Their name.
    /// - Returns: The bytes; nil if there are none.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
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

    /// Deletes what is there. It succeeds if there is nothing.
    ///
    /// - Parameter key: Its name.
    /// - Throws: ``KeychainError/deleteFailed(status:)``. What was stored stays.
    public func delete(for key: String) throws {
        let status = SecItemDelete(query(key) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError.deleteFailed(status: status)
        }
    }

    /// Whether there is anything. The secret is not read.
    ///
    /// - Parameter key: Its name.
    /// - Returns: Whether there is an item.
    /// - Throws: ``KeychainError/loadFailed(status:)``.
    public func exists(for key: String) throws -> Bool {
        switch SecItemCopyMatching(query(key) as CFDictionary, nil) {
        case errSecSuccess: return true
        case errSecItemNotFound: return false
        case let status: throw KeychainError.loadFailed(status: status)
        }
    }

    // MARK: Dictionaries

    /// The one item of a key.
    private func query(_ key: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: key,
            kSecAttrSynchronizable as String: false,
            // On macOS, the keychain that iOS has, not the file-based one.
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    /// What an item gets when it is added and when it is replaced.
    private func contents(_ data: Data) -> [String: Any] {
        [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
    }
}
