// KeychainQueryBuilder: the only file of this library that creates dictionaries for the SecItem
// functions.
//   (1) Every call gets a new dictionary. No dictionary is stored.
//   (2) Every key is one of Apple's constants, never a literal.
//   (3) Every query specifies the data protection keychain. Otherwise, macOS would search its
//       file-based keychain.
//   (4) A query identifies an item only by its primary key. If it also contained a label, a search
//       could miss an item that an addition then reports as a duplicate.

import Foundation
import Security

/// Creates the dictionaries of the SecItem functions.
public enum KeychainQueryBuilder {
    /// Creates a query for any of the four functions.
    ///
    /// The limit and the return keys are for searches. An update rejects limits and return keys. An
    /// add rejects every limit and accepts return keys. A delete rejects a limit of one and ignores
    /// return keys. A limit of one is the default of a search, so the query contains it only
    /// together with a return key.
    ///
    /// - Parameters:
    ///   - itemClass: One of the five classes.
    ///   - account: The account, or `nil` for all accounts.
    ///   - service: The service, or `nil` for all services.
    ///   - accessGroup: The access group. If `nil`, a new item is added to the program's first
    ///     group, and a search covers all of the program's groups.
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

    /// Creates the attributes of a new generic password, for `SecItemAdd`.
    ///
    /// - Parameters:
    ///   - secret: The secret, which may be empty.
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

    /// Creates the second dictionary of `SecItemUpdate`. It is not a query and contains neither a
    /// class nor a primary key.
    ///
    /// - Parameters:
    ///   - secret: The new secret, which may be empty.
    ///   - accessibility: One of the values of `kSecAttrAccessible`.
    /// - Returns: A new dictionary.
    public static func buildChanges(to secret: Data, accessibility: CFTypeRef) -> [String: Any] {
        [
            kSecValueData as String: secret,
            kSecAttrAccessible as String: accessibility,
        ]
    }

    /// Creates a search with any of the four return keys and a limit, for `SecItemCopyMatching`.
    ///
    /// - Parameters:
    ///   - query: The query for the items.
    ///   - returns: The parts of each item to return.
    ///   - limit: The limit on the number of items.
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
