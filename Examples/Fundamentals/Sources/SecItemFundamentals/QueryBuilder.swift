// QueryBuilder: the one place where dictionaries for Security are made.
//   (1) Every call makes a fresh dictionary; none is kept and changed.
//   (2) Every key is one of Apple's constants, never a literal.
//   (3) Every query asks for the data-protection keychain; on macOS the file-based one would
//       be asked otherwise.
//   (4) A query names an item by its primary key and by nothing else: with a label in it, it
//       could miss an item that an addition then finds to be a duplicate.

import Foundation
import Security

/// Makes the dictionaries for the generic passwords of one service.
public struct QueryBuilder: Sendable {
    /// The service of all items.
    public let service: String
    /// The access group of all items; nil: the program's first for new items, all for searches.
    public let accessGroup: String?

    /// A builder for one service.
    public init(service: String, accessGroup: String? = nil) {
        self.service = service
        self.accessGroup = accessGroup
    }

    /// All items of the service. For `SecItemUpdate` and `SecItemDelete`, which take all matches.
    public func everyItem() -> [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: service,
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let accessGroup = accessGroup {
            query[kSecAttrAccessGroup as String] = accessGroup
        }
        return query
    }

    /// The one item of an account.
    public func item(of account: String) -> [String: Any] {
        var query = everyItem()
        query[kSecAttrAccount as String] = account
        return query
    }

    /// A new item, for `SecItemAdd`.
    public func addition(
        of secret: Data, account: String, accessibility: Accessibility
    ) -> [String: Any] {
        var attributes = item(of: account)
        attributes[kSecValueData as String] = secret
        attributes[kSecAttrAccessible as String] = accessibility.attribute
        return attributes
    }

    /// What becomes different, for the second dictionary of `SecItemUpdate`. It is no query: it
    /// has neither class nor primary key.
    public func change(to secret: Data, accessibility: Accessibility) -> [String: Any] {
        return [
            kSecValueData as String: secret,
            kSecAttrAccessible as String: accessibility.attribute,
        ]
    }

    /// The secret of one account, for `SecItemCopyMatching`.
    public func secret(of account: String) -> [String: Any] {
        return search(item(of: account), returning: .data, limit: .one)
    }

    /// The attributes of all items, for `SecItemCopyMatching`. No secret is opened for it.
    public func listing() -> [String: Any] {
        return search(everyItem(), returning: .attributes, limit: .all)
    }

    /// Any search with any of the four return keys and a limit.
    public func search(
        _ query: [String: Any], returning returns: ReturnKeys, limit: MatchLimit
    ) -> [String: Any] {
        var search = query
        for key in returns.keys { search[key as String] = true }
        search[kSecMatchLimit as String] = limit.value
        return search
    }

    /// What may be logged of a dictionary: its keys, and not one value.
    public static func shape(of dictionary: [String: Any]) -> String {
        return dictionary.keys.sorted().joined(separator: " ")
    }
}
