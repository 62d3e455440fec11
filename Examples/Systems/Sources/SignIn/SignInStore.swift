// SignInStore: the app's secrets in the keychain, by the SecItem functions alone.
//   (1) This is the only file with dictionaries. Each call makes its own.
//   (2) An actor: one call after the other, and none on the main actor.

import KeychainServices

/// Keeps the secrets of the app.
public actor SignInStore {
    /// A store of the app's service. It holds nothing and opens nothing.
    public init() {}

    /// Saves text, replacing what was there. It is durable when this returns.
    ///
    /// - Throws: ``SignInError``. The keychain is as it was.
    public func save(_ text: String, for key: SignInKey) throws(SignInError) {
        let contents: [String: Any] = [
            kSecValueData as String: Data(text.utf8),
            // In the background too, once the device was unlocked; useless on another device.
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        let item = contents.merging(Self.query(key)) { value, _ in value }
        var status = SecItemAdd(item as CFDictionary, nil)
        if status == errSecDuplicateItem {
            // In place, so that no reader finds it missing.
            status = SecItemUpdate(Self.query(key) as CFDictionary, contents as CFDictionary)
        }
        if status == errSecItemNotFound {
            // Another process has deleted it in between.
            status = SecItemAdd(item as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw SignInError(.save, status) }
    }

    /// Reads text.
    ///
    /// - Returns: The text; nil if there is none.
    /// - Throws: ``SignInError``, so that nil never stands for "locked" or "damaged". Its status
    ///   is `errSecDecode` for bytes that are no text. They stay.
    public func read(_ key: SignInKey) throws(SignInError) -> String? {
        var query = Self.query(key)
        query[kSecReturnData as String] = true
        var result: CFTypeRef?
        // SAFETY: the pointer is used during the call only.
        let status = unsafe SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return nil }
        guard status == errSecSuccess else { throw SignInError(.read, status) }
        guard let data = result as? Data, let text = String(validating: data, as: UTF8.self)
        else { throw SignInError(.read, errSecDecode) }
        return text
    }

    /// Deletes what is there. It is fine if there is nothing.
    ///
    /// - Throws: ``SignInError``. The keychain is as it was.
    public func delete(_ key: SignInKey) throws(SignInError) {
        let status = SecItemDelete(Self.query(key) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw SignInError(.delete, status)
        }
    }

    /// Whether there is anything. The secret is not read.
    ///
    /// - Throws: ``SignInError``, so that "no" means that there is none.
    public func exists(_ key: SignInKey) throws(SignInError) -> Bool {
        let status = SecItemCopyMatching(Self.query(key) as CFDictionary, nil)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw SignInError(.read, status)
        }
        return status == errSecSuccess
    }

    private static func query(_ key: SignInKey) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: SignInKey.service,
            kSecAttrAccount as String: key.rawValue,
            // On macOS, the keychain that iOS has; elsewhere there is no other.
            kSecUseDataProtectionKeychain as String: true,
        ]
    }
}
