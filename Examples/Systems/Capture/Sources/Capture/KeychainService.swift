// KeychainService: the items of the capture app, each identified by its key.
//   (1) Every call builds its own dictionary, starting with `query(forKey:)`.
//   (2) An item is never deleted in order to be saved: it is added or, if it exists, updated.
//   (3) A failure changes nothing, with one exception: if the connection to a keychain service
//       broke, or the disk failed to synchronize the change, the change may have been made. Nothing
//       is deleted or recreated because of a failure.

import Foundation
import Security

#if canImport(os)
import os
#else
import Logging
#endif

/// The keychain of the capture app: generic passwords of the service `app.rial.keychain`.
///
/// New items are not synchronized. Unless the caller passes another accessibility, they can be read
/// after the first unlock and are restricted to this device. A `KeychainService` contains no
/// secret. Create as many as you like and use them from any thread.
public final class KeychainService: Sendable {
    /// The service of all items (`kSecAttrService`).
    public static let service = "app.rial.keychain"

    /// The keys of the items (`kSecAttrAccount`).
    public enum Account {
        /// The identifier of the key that attests this device, as text.
        public static let attestationKeyId = "rial.attestation.keyId"
        /// The identifier of this device, as text.
        public static let deviceId = "rial.device.id"
        /// The ``DeviceState``, as JSON.
        public static let deviceState = "rial.device.state"
        /// The key that encrypts captures, 256 bits.
        public static let encryptionKey = "rial.encryption.key"
        /// All keys.
        public static let all = [attestationKeyId, deviceId, deviceState, encryptionKey]
    }

    /// The default accessibility of a new item.
    static var defaultAccessibility: CFString { kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly }

    let logger: Logger

    /// Creates the keychain of this app with a logger for the subsystem `app.rial` and the category
    /// `keychain`.
    public convenience init() {
        self.init(logger: .keychain)
    }

    /// Creates the keychain of this app with the given logger.
    init(logger: Logger) {
        self.logger = logger
    }

    // MARK: Save, load, delete

    /// Saves bytes, replacing existing ones.
    ///
    /// A new item can be read after the first unlock, on this device only. An existing item keeps
    /// its accessibility, its creation date and its persistent reference. The item is durable when
    /// this method returns. If this method throws, nothing was changed, with one exception: if the
    /// connection to a keychain service broke, or the disk failed to synchronize the change, the
    /// change may have been made. Load the item before you retry.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/saveFailed(_:)``. With status -25308, the device is locked: keep
    ///   the data and retry after it is unlocked. ``KeychainError/duplicateItem`` if other
    ///   processes deleted and added the item in the meantime: retry.
    public func save(_ data: Data, forKey key: String) throws {
        try logger.log("save", key) { try write(data, forKey: key) }
    }

    /// Saves bytes with an accessibility for the item, replacing existing ones.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    ///   - accessibility: The new accessibility of the item, such as
    ///     `kSecAttrAccessibleWhenUnlockedThisDeviceOnly` for a critical item.
    /// - Throws: The errors of ``save(_:forKey:)``.
    public func save(_ data: Data, forKey key: String, accessibility: CFString) throws {
        try logger.log("save", key) {
            try write(data, forKey: key, accessibility: accessibility)
        }
    }

    /// Adds bytes if the item does not exist. Of several processes that add concurrently, one
    /// succeeds.
    ///
    /// - Parameters:
    ///   - data: The secret, which may be empty.
    ///   - key: The name under which the item is stored.
    /// - Throws: ``KeychainError/duplicateItem`` if the item exists, in which case it is not
    ///   changed; otherwise the errors of ``save(_:forKey:)``.
    public func add(_ data: Data, forKey key: String) throws {
        try logger.log("add", key) {
            try insert(data, forKey: key, accessibility: Self.defaultAccessibility)
        }
    }

    /// Loads bytes.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Returns: The bytes, or `nil` if the item does not exist.
    /// - Throws: ``KeychainError/loadFailed(_:)``. With status -25308, the item is locked: retry
    ///   after the device is unlocked. Before the first unlock, an absent item can't be
    ///   distinguished from a locked item. ``KeychainError/invalidData`` if the item was added
    ///   without `kSecValueData`; empty bytes that were saved are returned.
    public func load(forKey key: String) throws -> Data? {
        try logger.log("load", key) { try read(forKey: key) }
    }

    /// Deletes an item. Deleting an item that does not exist succeeds.
    ///
    /// - Parameter key: The name under which the item is stored.
    /// - Throws: ``KeychainError/deleteFailed(_:)``. The item still exists, with one exception: if
    ///   the connection to a keychain service broke, or the disk failed to synchronize the change,
    ///   the item may have been deleted.
    public func delete(forKey key: String) throws {
        try logger.log("delete", key) {
            let status = SecItemDelete(query(forKey: key) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw KeychainError.deleteFailed(status)
            }
        }
    }

    // MARK: Calls without logging

    /// The attributes that identify the item with the given key. All calls for the item use them.
    func query(forKey key: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: Self.service,
            kSecAttrAccount as String: key,
            kSecAttrSynchronizable as String: false,
            kSecUseDataProtectionKeychain as String: true,
        ]
    }

    func read(forKey key: String) throws -> Data? {
        var query = query(forKey: key)
        query[kSecReturnData as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitOne
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw KeychainError.loadFailed(status) }
        guard let data = result as? Data else { throw KeychainError.invalidData }
        return data
    }

    func write(_ data: Data, forKey key: String) throws {
        try insert(data, forKey: key, accessibility: Self.defaultAccessibility) {
            try update(data, forKey: key)
        }
    }

    func write(_ data: Data, forKey key: String, accessibility: CFString) throws {
        try insert(data, forKey: key, accessibility: accessibility) {
            let changes: [String: Any] = [
                kSecValueData as String: data, kSecAttrAccessible as String: accessibility,
            ]
            try update(changes, forKey: key)
        }
    }

    /// Adds an item or, if it exists, updates it. If another process deletes the item between these
    /// two calls, this method tries again to add the item.
    private func insert(
        _ data: Data, forKey key: String, accessibility: CFString,
        orUpdate update: () throws -> Void
    ) throws {
        do {
            try insert(data, forKey: key, accessibility: accessibility)
        } catch KeychainError.duplicateItem {
            do {
                try update()
            } catch KeychainError.itemNotFound {
                try insert(data, forKey: key, accessibility: accessibility)
            }
        }
    }

    func insert(_ data: Data, forKey key: String, accessibility: CFString) throws {
        var attributes = query(forKey: key)
        attributes[kSecValueData as String] = data
        attributes[kSecAttrAccessible as String] = accessibility
        let status = SecItemAdd(attributes as CFDictionary, nil)
        if status == errSecDuplicateItem { throw KeychainError.duplicateItem }
        guard status == errSecSuccess else { throw KeychainError.saveFailed(status) }
    }

    private func update(_ data: Data, forKey key: String) throws {
        try update([kSecValueData as String: data], forKey: key)
    }

    private func update(_ changes: [String: Any], forKey key: String) throws {
        let status = SecItemUpdate(query(forKey: key) as CFDictionary, changes as CFDictionary)
        if status == errSecItemNotFound { throw KeychainError.itemNotFound }
        guard status == errSecSuccess else { throw KeychainError.saveFailed(status) }
    }
}
