// PasswordStore: passwords in the keychain, through Apple's SecItem functions. The article "Share
// code with iOS" explains this file.

import Foundation
import Security

/// The passwords of one service.
public struct PasswordStore {
    let service: String

    /// Creates a store for the passwords of a service.
    public init(service: String) {
        self.service = service
    }

    /// The attributes that identify the password of an account.
    func query(for account: String) -> [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecAttrAccount as String: account,
            // On macOS, this selects the same keychain as on iOS.
            kSecUseDataProtectionKeychain as String: true,
        ]
    }
}

/// The status of a function that failed.
public struct StatusError: LocalizedError {
    /// The status.
    public let status: OSStatus

    /// The sentence that describes the status.
    public var errorDescription: String? {
        SecCopyErrorMessageString(status, nil) as String?
    }
}

extension PasswordStore {
    /// Saves a password. An existing password is replaced.
    public func save(_ password: String, for account: String) throws {
        let query = query(for: account)
        let value: [String: Any] = [
            kSecValueData as String: Data(password.utf8)
        ]
        var status = SecItemUpdate(
            query as CFDictionary, value as CFDictionary)
        if status == errSecItemNotFound {
            let item = query.merging(value) { $1 }
            status = SecItemAdd(item as CFDictionary, nil)
        }
        if status == errSecDuplicateItem {
            // Another process added the password in between.
            status = SecItemUpdate(
                query as CFDictionary, value as CFDictionary)
        }
        guard status == errSecSuccess else {
            throw StatusError(status: status)
        }
    }
}

extension PasswordStore {
    /// The password of an account, or `nil` if there is none.
    public func password(for account: String) throws -> String? {
        var query = query(for: account)
        query[kSecReturnData as String] = true
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else {
            throw StatusError(status: status)
        }
        guard let data = result as? Data else {
            // The item has no data.
            throw StatusError(status: errSecDecode)
        }
        return String(decoding: data, as: UTF8.self)
    }
}
