// KeychainQueryBuilder: the one place where dictionaries for the SecItem functions are made.
//   (1) Every call gets a new dictionary; none is stored.
//   (2) Every key is one of Apple's constants, never a literal.
//   (3) Every query asks for the data-protection keychain; macOS would search its file-based one.
//   (4) A query names an item by its primary key alone: with a label in it, a search could miss
//       an item that an addition then reports as a duplicate.

import Foundation
import Security

/// Makes the dictionaries of the SecItem functions.
public enum KeychainQueryBuilder {
    /// A query that names items, for any of the four functions.
    ///
    /// Only a search takes a limit and return keys; the other functions refuse them. A limit of one
    /// is what a search has without the key, so it is written only beside a return key.
    ///
    /// - Parameters:
    ///   - itemClass: One of the five classes.
    ///   - account: The account, or nil for every account.
    ///   - service: The service, or nil for every service.
    ///   - accessGroup: The access group. With nil, a new item goes to the first group of the
    ///     program and a search covers all of them.
    ///   - returnData: Whether a search returns secrets.
    ///   - returnAttributes: Whether a search returns attributes.
    ///   - matchLimit: `kSecMatchLimitOne` or `kSecMatchLimitAll`.
    /// - Returns: A new dictionary.
    public static func buildQuery(
        forClass itemClass: CFString = kSecClassGenericPassword, account: String? = nil,
        service: String? = nil, accessGroup: String? = nil, returnData: Bool = false,
        returnAttributes: Bool = false, matchLimit: CFString = kSecMatchLimitOne
    ) -> [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: itemClass,
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let account { query[kSecAttrAccount as String] = account }
        if let service { query[kSecAttrService as String] = service }
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
        if returnData { query[kSecReturnData as String] = true }
        if returnAttributes { query[kSecReturnAttributes as String] = true }
        if returnData || returnAttributes || matchLimit != kSecMatchLimitOne {
            query[kSecMatchLimit as String] = matchLimit
        }
        return query
    }

    /// A new generic password, for `SecItemAdd`.
    ///
    /// - Parameters:
    ///   - secret: The secret, 0 bytes and up.
    ///   - account: The account.
    ///   - service: The service.
    ///   - accessibility: One of the values of `kSecAttrAccessible`.
    /// - Returns: A new dictionary.
    public static func buildAddition(
        of secret: Data, account: String, service: String, accessibility: CFTypeRef
    ) -> [String: Any] {
        var attributes = buildQuery(account: account, service: service)
        attributes[kSecValueData as String] = secret
        attributes[kSecAttrAccessible as String] = accessibility
        return attributes
    }

    /// The second dictionary of `SecItemUpdate`. It is no query: it has neither a class nor a
    /// primary key.
    ///
    /// - Parameters:
    ///   - secret: The new secret, 0 bytes and up.
    ///   - accessibility: One of the values of `kSecAttrAccessible`.
    /// - Returns: A new dictionary.
    public static func buildChanges(to secret: Data, accessibility: CFTypeRef) -> [String: Any] {
        [
            kSecValueData as String: secret,
            kSecAttrAccessible as String: accessibility,
        ]
    }

    /// A search with any of the four return keys and a limit, for `SecItemCopyMatching`.
    ///
    /// - Parameters:
    ///   - query: Which items.
    ///   - returns: What of each.
    ///   - limit: Of how many.
    /// - Returns: A new dictionary.
    public static func buildSearch(
        _ query: [String: Any], returning returns: ReturnKeys, limit: MatchLimit
    ) -> [String: Any] {
        var search = query
        for key in returns.keys { search[key as String] = true }
        search[kSecMatchLimit as String] = limit.value
        return search
    }
}
