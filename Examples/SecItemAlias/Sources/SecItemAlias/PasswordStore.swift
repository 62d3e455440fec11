// PasswordStore: passwords by account, written for Apple's Security framework. Nothing in this
// file knows of Linux.

import Foundation
import Security

enum PasswordStoreError: Error {
    case unexpectedData
    case unhandled(OSStatus)
}

extension PasswordStoreError: LocalizedError {
    var errorDescription: String? {
        switch self {
        case .unexpectedData:
            return "The item holds no text."
        case .unhandled(let status):
            return SecCopyErrorMessageString(status, nil) as String? ?? "Error \(status)"
        }
    }
}

final class PasswordStore {
    private let service: String

    init(service: String) {
        self.service = service
    }

    private func baseQuery(account: String? = nil) -> [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let account = account {
            query[kSecAttrAccount as String] = account
        }
        return query
    }

    func save(_ password: String, for account: String) throws {
        var attributes = baseQuery(account: account)
        attributes[kSecValueData as String] = Data(password.utf8)
        attributes[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlock
        attributes[kSecAttrLabel as String] = "\(account)'s password"

        var status = SecItemAdd(attributes as CFDictionary, nil)
        if status == errSecDuplicateItem {
            let update = [kSecValueData as String: Data(password.utf8)]
            status = SecItemUpdate(
                baseQuery(account: account) as CFDictionary, update as CFDictionary)
        }
        guard status == errSecSuccess else { throw PasswordStoreError.unhandled(status) }
    }

    func password(for account: String) throws -> String? {
        var query = baseQuery(account: account)
        query[kSecReturnData as String] = kCFBooleanTrue
        query[kSecMatchLimit as String] = kSecMatchLimitOne

        var result: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return nil }
        guard status == errSecSuccess else { throw PasswordStoreError.unhandled(status) }
        guard let data = result as? Data, let password = String(data: data, encoding: .utf8) else {
            throw PasswordStoreError.unexpectedData
        }
        return password
    }

    func accounts() throws -> [String] {
        var query = baseQuery()
        query[kSecReturnAttributes as String] = true
        query[kSecMatchLimit as String] = kSecMatchLimitAll

        var result: AnyObject?
        let status = SecItemCopyMatching(query as CFDictionary, &result)
        guard status != errSecItemNotFound else { return [] }
        guard status == errSecSuccess else { throw PasswordStoreError.unhandled(status) }
        guard let items = result as? [[String: Any]] else {
            throw PasswordStoreError.unexpectedData
        }
        return items.compactMap { $0[kSecAttrAccount as String] as? String }.sorted()
    }

    func deletePassword(for account: String) throws {
        let status = SecItemDelete(baseQuery(account: account) as CFDictionary)
        guard status == errSecSuccess || status == errSecItemNotFound else {
            throw PasswordStoreError.unhandled(status)
        }
    }
}
