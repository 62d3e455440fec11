// GenericPasswordStore: stores CryptoKit's keys as generic passwords.
//   (1) An item is found by its service and account.
//   (2) An access control can require the user's presence or a password before a key is read. A
//       context provides the authentication.

import Foundation
import LocalAuthentication
import Security

/// Stores keys of any type, each under an account.
public struct GenericPasswordStore: Sendable {
    /// The service of all items.
    public let service: String

    /// Creates a store for the keys of one service.
    public init(service: String) {
        self.service = service
    }

    /// Stores a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - account: The account by which the key is found.
    ///   - accessControl: The conditions for reading the key, or `nil` to require only an unlocked
    ///     device.
    ///   - context: The context that provides the application password, if the access control
    ///     requires one. If `nil`, the user is asked for that password.
    /// - Throws: `SecurityError`, with `errSecDuplicateItem` if the account already has a key. That
    ///   key is kept.
    public func store<Key: GenericPasswordConvertible>(
        _ key: Key, account: String, accessControl: SecAccessControl? = nil,
        context: LAContext? = nil
    ) throws {
        var item = query(for: account, context: context)
        item[kSecValueData as String] = key.rawRepresentation
        if let accessControl {
            item[kSecAttrAccessControl as String] = accessControl
        } else {
            item[kSecAttrAccessible as String] = kSecAttrAccessibleWhenUnlockedThisDeviceOnly
        }
        try SecurityError.check(SecItemAdd(item as CFDictionary, nil))
    }

    /// Returns the key of an account, or `nil` if there is none.
    ///
    /// - Throws: `SecurityError`, or CryptoKit's error if the bytes are not a key of this type.
    public func read<Key: GenericPasswordConvertible>(
        _ type: Key.Type = Key.self, account: String, context: LAContext? = nil
    ) throws -> Key? {
        var query = query(for: account, context: context)
        query[kSecReturnData as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        try SecurityError.check(status)
        guard let bytes = result as? Data else { throw SecurityError(errSecInternalComponent) }
        return try Key(rawRepresentation: bytes)
    }

    /// Checks whether an account has a key, without asking the user.
    ///
    /// - Throws: `SecurityError`.
    public func contains(account: String) throws -> Bool {
        var query = query(for: account, context: nil)
        query[kSecReturnAttributes as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return false }
        try SecurityError.check(status)
        return true
    }

    /// Deletes the key of an account. Deleting a key that does not exist succeeds.
    ///
    /// - Throws: `SecurityError`.
    public func delete(account: String) throws {
        let status = SecItemDelete(query(for: account, context: nil) as CFDictionary)
        if status != errSecItemNotFound { try SecurityError.check(status) }
    }

    private func query(for account: String, context: LAContext?) -> [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let context { query[kSecUseAuthenticationContext as String] = context }
        return query
    }
}
