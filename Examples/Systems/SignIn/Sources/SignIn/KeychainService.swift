// KeychainService: the app's secrets in the keychain, by the SecItem functions alone.
//   (1) Dictionaries are made in this file only, and afresh for each call.
//   (2) nil and false mean that there is no such item. Every other failure is thrown.
//   (3) An item is never deleted or made anew because of an error.
//   (4) A log line has an operation, a key and a status, never a value.

import Foundation
import Security

/// Keeps the secrets of the app, each a generic password.
///
/// Its functions block the thread that calls them, until the keychain answers. What is saved is
/// durable when ``save(_:for:)`` returns, can be read after the first unlock, carries the attribute
/// "this device only", and is not synchronized.
public final class KeychainService: Sendable {
    /// The service that the app uses.
    public static let shared = KeychainService(log: Console.log)

    /// The name of a secret: the account of its item.
    public enum Key: String, CaseIterable, Sendable {
        /// Who is signed in: the identifier that the sign-in service gave.
        case userIdentifier
    }

    /// The service of all items (`kSecAttrService`).
    static let service = "com.steeven.mysubguard"

    private let log: @Sendable (String) -> Void

    /// - Parameter log: Takes one line for each call.
    init(log: @escaping @Sendable (String) -> Void) {
        self.log = log
    }

    /// Saves text, replacing what was there.
    ///
    /// An existing item is updated in place: no reader finds it missing meanwhile. When this
    /// throws, the keychain is as it was, unless a keychain service broke off: then the change may
    /// have been made.
    ///
    /// - Parameters:
    ///   - value: The text, 0 characters and up.
    ///   - key: Its name.
    /// - Throws: ``KeychainError``. On a locked device keep the value and save it after unlock.
    public func save(_ value: String, for key: Key) throws {
        var status = SecItemAdd(addition(of: value, for: key) as CFDictionary, nil)
        if status == errSecDuplicateItem {
            status = SecItemUpdate(
                query(for: key) as CFDictionary, changes(to: value) as CFDictionary)
            if status == errSecItemNotFound {
                // Another process has deleted it between the two calls.
                status = SecItemAdd(addition(of: value, for: key) as CFDictionary, nil)
            }
        }
        note("save", key, status)
        guard status == errSecSuccess else { throw KeychainError(status) }
    }

    /// Reads text.
    ///
    /// - Parameter key: Its name.
    /// - Returns: The text; nil if there is none.
    /// - Throws: ``KeychainError``: whether there is any can't be told, or it is no text. The item
    ///   stays as it is.
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

    /// Deletes what is there. Deleting what is absent succeeds.
    ///
    /// - Parameter key: Its name.
    /// - Throws: ``KeychainError``. The item is still there, unless a keychain service broke off:
    ///   then it may be deleted.
    public func delete(for key: Key) throws {
        let status = SecItemDelete(query(for: key) as CFDictionary)
        note("delete", key, status)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError(status)
        }
    }

    /// Whether there is an item. Its secret is not opened.
    ///
    /// - Parameter key: Its name.
    /// - Returns: false: there is none.
    /// - Throws: ``KeychainError``: it can't be told.
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

    /// The one item of a key.
    private func query(for key: Key) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: Self.service,
            kSecAttrAccount as String: key.rawValue,
            kSecAttrSynchronizable as String: false,
            // On macOS, the keychain that iOS has.
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
            // A launch in the background needs it, too.
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
    }

    private func addition(of value: String, for key: Key) -> [String: Any] {
        query(for: key).merging(changes(to: value)) { item, _ in item }
    }
}
