// KeychainManager: values of any Codable type in the keychain, by service and account.
//   (1) Every call makes its dictionaries anew, in `query(_:_:)`.
//   (2) A value is added or updated in place, never deleted and added: a reader finds the old value
//       or the new one.
//   (3) No access group is named. Items go to the program's first group, and are found in all its
//       groups.

import Foundation
import Security

/// Keeps values of any `Codable` type in the keychain, as JSON.
///
/// Values can be read after the first unlock since the device started, so that a widget can show
/// itself on a locked screen. They are for this device only and never synchronized.
///
/// A manager has no state and can be used from any thread. Each call is a round trip to the
/// keychain and blocks its thread: don't call it on the main actor.
public final class KeychainManager: Sendable {
    /// Makes a manager.
    public init() {}

    /// Saves a value, replacing the one that was there.
    ///
    /// The value is stored when this returns. When it throws, nothing was changed, with one
    /// exception: where a keychain service broke off, the change may have been made. Load before
    /// you repeat it.
    ///
    /// - Parameters:
    ///   - object: The value.
    ///   - service: What the value belongs to.
    ///   - account: What it is called there.
    /// - Throws: ``KeychainError/encodingFailed`` if the value has no JSON form;
    ///   ``KeychainError/unexpectedStatus(_:)`` with `errSecInteractionNotAllowed` while the device
    ///   is locked, or with another status of the keychain.
    ///
    /// The corresponding calls are `SecItemAdd` and, for an existing item, `SecItemUpdate`.
    public func save<T: Codable>(_ object: T, service: String, account: String) throws {
        let data: Data
        do {
            data = try JSONEncoder().encode(object)
        } catch {
            // The underlying error can describe the value that it is about.
            throw KeychainError.encodingFailed
        }
        var status = add(data, service, account)
        if status == errSecDuplicateItem {
            status = update(data, service, account)
            // Another program deleted the item in between.
            if status == errSecItemNotFound { status = add(data, service, account) }
        }
        guard status == errSecSuccess else { throw KeychainError.unexpectedStatus(status) }
    }

    /// Loads a value.
    ///
    /// - Parameters:
    ///   - type: The type that was saved.
    ///   - service: What the value belongs to.
    ///   - account: What it is called there.
    /// - Returns: The value; nil if there is none.
    /// - Throws: `DecodingError` if the stored value does not decode as this type: it stays as it
    ///   is, and loads as the type that it was saved as. The error names the type, and nothing of
    ///   the value. ``KeychainError/unexpectedStatus(_:)`` with `errSecInteractionNotAllowed`
    ///   before the first unlock, with `errSecDecode` for an item without data, or with another
    ///   status of the keychain.
    ///
    /// The corresponding call is `SecItemCopyMatching`.
    public func load<T: Codable>(_ type: T.Type, service: String, account: String) throws -> T? {
        var query = query(service, account)
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw KeychainError.unexpectedStatus(status) }
        guard let data = result as? Data else {
            throw KeychainError.unexpectedStatus(errSecDecode)
        }
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch {
            // The decoder's error can describe the value that it is about.
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "The stored value is no \(type)."))
        }
    }

    /// Deletes a value. Deleting one that is not there succeeds.
    ///
    /// - Parameters:
    ///   - service: What the value belongs to.
    ///   - account: What it is called there.
    /// - Throws: ``KeychainError/unexpectedStatus(_:)``; the value is still there, unless a
    ///   keychain service broke off.
    ///
    /// The corresponding call is `SecItemDelete`.
    public func delete(service: String, account: String) throws {
        let status = SecItemDelete(query(service, account) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw KeychainError.unexpectedStatus(status)
        }
    }

    private func add(_ data: Data, _ service: String, _ account: String) -> OSStatus {
        let item = query(service, account).merging(contents(data)) { $1 }
        return SecItemAdd(item as CFDictionary, nil)
    }

    private func update(_ data: Data, _ service: String, _ account: String) -> OSStatus {
        SecItemUpdate(query(service, account) as CFDictionary, contents(data) as CFDictionary)
    }

    /// What identifies the item, and nothing else.
    private func query(_ service: String, _ account: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
            kSecAttrSynchronizable as String: false,
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    /// What is stored, also over an item that had another protection.
    private func contents(_ data: Data) -> [String: Any] {
        [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
    }
}
