// GenericPasswordStore: CryptoKit's keys as generic passwords.
//   (1) An item is found by service and account.
//   (2) The owner may have to be present, or a password be shown, for a key to be read: the access
//       control says so, and a context answers for it.

import Foundation
import LocalAuthentication
import Security

/// Stores keys of any kind, each under an account.
public struct GenericPasswordStore: Sendable {
    /// The service of all items.
    public let service: String

    /// A store of the keys of one service.
    public init(service: String) {
        self.service = service
    }

    /// Stores a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - account: What to find it by.
    ///   - accessControl: What it takes to read it; nil: an unlocked device.
    ///   - context: Answers what the access control asks for; nil: the person is asked.
    /// - Throws: `SecurityError`, with `errSecDuplicateItem` where the account has a key; that key
    ///   stays.
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

    /// The key of an account; nil where there is none.
    ///
    /// - Throws: `SecurityError`, or CryptoKit's error where the bytes are no such key.
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

    /// Whether an account has a key. The user is not asked for anything.
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

    /// Deletes the key of an account. That there is none is success.
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
