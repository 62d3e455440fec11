// KeychainService: the app's secrets in the keychain, accessed only with the SecItem functions.
//   (1) Only this file creates dictionaries for the SecItem functions, and it creates new ones for
//       each call.
//   (2) `nil` and `false` mean that the item does not exist. Every other failure is thrown.
//   (3) An item is never deleted or recreated because of an error.
//   (4) A log line contains an operation, a key and a status, never a value.

import Foundation
import Security

/// Stores the secrets of the app, each as a generic password.
///
/// Its functions block the calling thread until the keychain responds. A saved value is durable
/// when ``save(_:for:)`` returns. It can be read after the first unlock, has the attribute "this
/// device only", and is not synchronized.
public final class KeychainService: Sendable {
    /// The keychain that the app uses.
    public static let shared = KeychainService(log: Console.log)

    /// The key of a secret, which is the account of its item.
    public enum Key: String, CaseIterable, Sendable {
        /// The identifier of the signed-in user, as issued by the sign-in service.
        case userIdentifier
    }

    /// The service of all items (`kSecAttrService`).
    static let service = "com.steeven.mysubguard"

    private let log: @Sendable (String) -> Void

    /// - Parameter log: A closure that is called with one line for each operation.
    init(log: @escaping @Sendable (String) -> Void) {
        self.log = log
    }

    /// Saves text, replacing an existing value.
    ///
    /// An existing item is updated in place, so no reader finds it missing. If this method throws,
    /// the keychain is unchanged, unless the connection to a keychain service broke or the disk
    /// failed to confirm the write. In these cases, the change may have been made.
    ///
    /// - Parameters:
    ///   - value: The text, which may be empty.
    ///   - key: The key of the secret.
    /// - Throws: ``KeychainError``. If the device is locked, keep the value and save it after the
    ///   device is unlocked.
    public func save(_ value: String, for key: Key) throws {
        var status = SecItemAdd(addition(of: value, for: key) as CFDictionary, nil)
        if status == errSecDuplicateItem {
            status = SecItemUpdate(
                query(for: key) as CFDictionary, changes(to: value) as CFDictionary)
            if status == errSecItemNotFound {
                // Another process deleted the item between the two calls.
                status = SecItemAdd(addition(of: value, for: key) as CFDictionary, nil)
            }
        }
        note("save", key, status)
        guard status == errSecSuccess else { throw KeychainError(status) }
    }

    /// Reads text.
    ///
    /// - Parameter key: The key of the secret.
    /// - Returns: The text, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError`` if it is unknown whether the item exists, if the item can't be
    ///   read, or if its bytes are not text. The item is not changed.
    public func read(for key: Key) throws -> String? {
        var result: CFTypeRef?
        var status = SecItemCopyMatching(search(for: key) as CFDictionary, &result)
        let text = (result as? Data).flatMap { String(data: $0, encoding: .utf8) }
        if status == errSecSuccess, text == nil { status = errSecDecode }
        note("read", key, status)
        guard status != errSecItemNotFound else { return nil }
        guard status == errSecSuccess else { throw KeychainError(status) }
        return text
    }

    /// Deletes an item. Deleting an item that does not exist succeeds.
    ///
    /// - Parameter key: The key of the secret.
    /// - Throws: ``KeychainError``. The item still exists, unless the connection to a keychain
    ///   service broke or the disk failed to confirm the write. In these cases, the item may have
    ///   been deleted.
    public func delete(for key: Key) throws {
        let status = SecItemDelete(query(for: key) as CFDictionary)
        note("delete", key, status)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError(status)
        }
    }

    /// Checks whether an item exists, without opening its secret.
    ///
    /// - Parameter key: The key of the secret.
    /// - Returns: `false` if the item does not exist.
    /// - Throws: ``KeychainError`` if it is unknown whether the item exists.
    public func exists(for key: Key) throws -> Bool {
        let status = SecItemCopyMatching(query(for: key) as CFDictionary, nil)
        note("look for", key, status)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError(status)
        }
        return status == errSecSuccess
    }

    private func note(_ operation: String, _ key: Key, _ status: OSStatus) {
        log("\(operation) \(key.rawValue): \(status)")
    }

    // MARK: Dictionaries

    /// The query that matches only the item with this key.
    private func query(for key: Key) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: Self.service,
            kSecAttrAccount as String: key.rawValue,
            kSecAttrSynchronizable as String: false,
            // On macOS, use the data protection keychain, as on iOS.
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    private func search(for key: Key) -> [String: Any] {
        var search = query(for: key)
        search[kSecReturnData as String] = true
        search[kSecMatchLimit as String] = kSecMatchLimitOne
        return search
    }

    private func changes(to value: String) -> [String: Any] {
        [
            kSecValueData as String: Data(value.utf8),
            // The app also needs the item if it is launched in the background on a locked device.
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
    }

    private func addition(of value: String, for key: Key) -> [String: Any] {
        query(for: key).merging(changes(to: value)) { item, _ in item }
    }
}
