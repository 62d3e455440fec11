// KeychainManager: stores values of any Codable type in the keychain, by service and account.
//   (1) Every call builds its own dictionaries, starting with `query(_:_:)`.
//   (2) A value is added or updated in place, never deleted and added. A reader finds either the
//       old or the new value.
//   (3) No access group is specified. New items are added to the program's first group, and items
//       are found in all of the program's groups.

import Foundation
import Security

/// Stores values of any `Codable` type in the keychain, as JSON.
///
/// Values can be read after the first unlock since the device booted, so that a widget works on a
/// locked screen. They are restricted to this device and never synchronized.
///
/// A manager has no state and can be used from any thread. Each call accesses the keychain and
/// blocks its thread, so don't use a manager on the main actor.
public final class KeychainManager: Sendable {
    /// Creates a manager.
    public init() {}

    /// Saves a value, replacing an existing one.
    ///
    /// The value is stored when this method returns. If this method throws, nothing was changed,
    /// unless the connection to a keychain service broke or the disk failed to confirm the write.
    /// In these cases, the change may have been made. Load the value before you retry.
    ///
    /// - Parameters:
    ///   - object: The value.
    ///   - service: The service that the value belongs to.
    ///   - account: The account of the value.
    /// - Throws: ``KeychainError/encodingFailed`` if the value can't be encoded as JSON;
    ///   ``KeychainError/unexpectedStatus(_:)`` with `errSecInteractionNotAllowed` before the
    ///   first unlock, or with another status of the keychain.
    ///
    /// The corresponding calls are `SecItemAdd` and, for an existing item, `SecItemUpdate`.
    public func save<T: Codable>(_ object: T, service: String, account: String) throws {
        let data: Data
        do {
            data = try JSONEncoder().encode(object)
        } catch {
            // The underlying error is dropped, because it can describe the value.
            throw KeychainError.encodingFailed
        }
        var status = add(data, service, account)
        if status == errSecDuplicateItem {
            status = update(data, service, account)
            // Another program deleted the item in the meantime.
            if status == errSecItemNotFound { status = add(data, service, account) }
        }
        guard status == errSecSuccess else { throw KeychainError.unexpectedStatus(status) }
    }

    /// Loads a value.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - service: The service that the value belongs to.
    ///   - account: The account of the value.
    /// - Returns: The value, or `nil` if none exists.
    /// - Throws: `DecodingError` if the stored value can't be decoded as this type. The value
    ///   isn't changed, and can still be loaded as its original type. The error contains the type
    ///   and nothing of the value. In the other cases, ``KeychainError/unexpectedStatus(_:)`` with
    ///   `errSecInteractionNotAllowed` before the first unlock, with `errSecDecode` for an item
    ///   without data, or with another status of the keychain.
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
            // The decoder's error is replaced, because it can describe the value.
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "The stored value isn't a valid \(type)."))
        }
    }

    /// Deletes a value. Deleting a value that does not exist succeeds.
    ///
    /// - Parameters:
    ///   - service: The service that the value belongs to.
    ///   - account: The account of the value.
    /// - Throws: ``KeychainError/unexpectedStatus(_:)`` with the status of the keychain. If this
    ///   method throws, a stored value still exists, unless the connection to a keychain service
    ///   broke or the disk failed to confirm the write. In these cases, it may have been deleted.
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

    /// The attributes that identify the item, and no others.
    private func query(_ service: String, _ account: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
            kSecAttrSynchronizable as String: false,
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    /// The data and the protection class to store. An update replaces these two of an existing
    /// item, which keeps its other attributes.
    private func contents(_ data: Data) -> [String: Any] {
        [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
    }
}
