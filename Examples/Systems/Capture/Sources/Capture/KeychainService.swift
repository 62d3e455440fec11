// KeychainService: the items of the capture app, each under its key.
//   (1) Every dictionary is made anew for its call, from `query(forKey:)`.
//   (2) An item is never deleted in order to be saved: it is added or, if it exists, updated.
//   (3) A failure changes nothing, and nothing is deleted or made anew because of one. The one
//       exception: where a keychain service broke off, the change may have been made.

import Foundation
import Security

#if canImport(os)
import os
#else
import Logging
#endif

/// The keychain of the capture app: generic passwords of the service `app.rial.keychain`.
///
/// New items can be read after the first unlock, are for this device only and are not synchronized.
/// A service holds no secret; make as many as you like and use them from any thread.
public final class KeychainService: Sendable {
    /// The service of all items (`kSecAttrService`).
    public static let service = "app.rial.keychain"

    /// The keys of the items (`kSecAttrAccount`).
    public enum Account {
        /// The identifier of the key that attests this device, text.
        public static let attestationKeyId = "rial.attestation.keyId"
        /// The identifier of this device, text.
        public static let deviceId = "rial.device.id"
        /// The ``DeviceState``, JSON.
        public static let deviceState = "rial.device.state"
        /// The key that encrypts captures, 256 bits.
        public static let encryptionKey = "rial.encryption.key"
        /// All of them.
        public static let all = [attestationKeyId, deviceId, deviceState, encryptionKey]
    }

    /// When a new item can be read if its caller doesn't say.
    static var defaultAccessibility: CFString { kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly }

    let logger: Logger

    /// The keychain of this app, with the log of the subsystem `app.rial`, category `keychain`.
    public convenience init() {
        self.init(logger: .keychain)
    }

    /// The keychain of this app, with a log of its own.
    init(logger: Logger) {
        self.logger = logger
    }

    // MARK: Save, load, delete

    /// Saves bytes, replacing those that are there.
    ///
    /// A new item can be read after the first unlock, on this device only. An existing one keeps
    /// its accessibility, its creation date and its persistent reference. The item is durable when
    /// this returns. When it throws, nothing was changed, with one exception: where a keychain
    /// service broke off, the change may have been made. Load before you repeat it.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: The key of the item.
    /// - Throws: ``KeychainError/saveFailed(_:)``. With status -25308 keep the data and save them
    ///   again after unlock. ``KeychainError/duplicateItem`` if other processes deleted and added
    ///   the item meanwhile: save again.
    public func save(_ data: Data, forKey key: String) throws {
        try logger.log("save", key) { try write(data, forKey: key) }
    }

    /// Saves bytes, replacing those that are there, with an accessibility for the item.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: The key of the item.
    ///   - accessibility: When the item can be read from now on, such as
    ///     `kSecAttrAccessibleWhenUnlockedThisDeviceOnly` for a critical item.
    /// - Throws: As ``save(_:forKey:)``.
    public func save(_ data: Data, forKey key: String, accessibility: CFString) throws {
        try logger.log("save", key) {
            try write(data, forKey: key, accessibility: accessibility)
        }
    }

    /// Adds bytes where there are none. Of several processes that add at once, one succeeds.
    ///
    /// - Parameters:
    ///   - data: The secret, 0 bytes and up.
    ///   - key: The key of the item.
    /// - Throws: ``KeychainError/duplicateItem`` if there is such an item, which stays as it was;
    ///   otherwise as ``save(_:forKey:)``.
    public func add(_ data: Data, forKey key: String) throws {
        try logger.log("add", key) {
            try insert(data, forKey: key, accessibility: Self.defaultAccessibility)
        }
    }

    /// Loads bytes.
    ///
    /// - Parameter key: The key of the item.
    /// - Returns: The bytes; nil if there is no such item.
    /// - Throws: ``KeychainError/loadFailed(_:)``; the item is still there. With status -25308 it is
    ///   locked: try again after unlock. ``KeychainError/invalidData`` if the item has no bytes.
    public func load(forKey key: String) throws -> Data? {
        try logger.log("load", key) { try read(forKey: key) }
    }

    /// Deletes an item. Deleting one that is not there succeeds.
    ///
    /// - Parameter key: The key of the item.
    /// - Throws: ``KeychainError/deleteFailed(_:)``; the item is still there, unless a keychain
    ///   service broke off.
    public func delete(forKey key: String) throws {
        try logger.log("delete", key) {
            let status = SecItemDelete(query(forKey: key) as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else {
                throw KeychainError.deleteFailed(status)
            }
        }
    }

    // MARK: Calls, which are not logged

    /// What the item of a key is found by, and made with.
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

    /// Adds an item or, if it exists, updates it; and adds it after all if another process deleted
    /// it between the two.
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
