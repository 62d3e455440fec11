// RecoveryCode: a secret that only the user can open. The article "Ask the user before showing a
// secret" explains this file.

import Foundation
import LocalAuthentication
import Security

/// The status of a function that failed.
struct StatusError: Error, Equatable {
    let status: OSStatus
}

/// A recovery code that only the authenticated user can read.
struct RecoveryCode {
    /// The attributes that identify the item.
    var query: [String: Any] {
        [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "com.example.recovery",
            kSecAttrAccount as String: "code",
        ]
    }

    /// Adds the code. The user is not asked.
    func add(_ code: String) throws {
        let access = SecAccessControlCreateWithFlags(
            nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly,
            .userPresence, nil)
        var item = query
        item[kSecAttrAccessControl as String] = access
        item[kSecValueData as String] = Data(code.utf8)
        let status = SecItemAdd(item as CFDictionary, nil)
        guard status == errSecSuccess else {
            throw StatusError(status: status)
        }
    }
}

extension RecoveryCode {
    /// Asks the user for authentication, and reads the code.
    func load() throws -> String {
        let context = LAContext()
        context.localizedReason = "show your recovery code"
        var search = query
        search[kSecReturnData as String] = true
        search[kSecUseAuthenticationContext as String] = context
        var result: CFTypeRef?
        let status = SecItemCopyMatching(
            search as CFDictionary, &result)
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
