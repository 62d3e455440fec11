// SecItemQuery: every dictionary that this package hands to the SecItem functions is built here.
//   (1) Each call gets a fresh dictionary; none is used twice.
//   (2) Every dictionary names class, service and synchronizable, so that no call is about more
//       than one keychain's items, and asks for the data-protection keychain.
//   (3) Keys are Apple's constants, never literals.

import Foundation
import KeychainCore

#if canImport(Darwin)
import KeychainServicesDarwin
#else
import KeychainServices
#endif

/// The dictionaries of the SecItem functions.
enum SecItemQuery {
    typealias Dictionary = [CFString: Any]

    /// All items of a keychain.
    static func all(_ namespace: Namespace) -> Dictionary {
        var query: Dictionary = [
            kSecClass: kSecClassGenericPassword,
            kSecAttrService: namespace.service,
            kSecAttrSynchronizable: namespace.isSynchronizable,
            kSecUseDataProtectionKeychain: true,
        ]
        if let group = namespace.accessGroup { query[kSecAttrAccessGroup] = group }
        return query
    }

    /// One item, in the version that the selector names.
    static func item(_ item: ItemSelector) -> Dictionary {
        var query = all(item.namespace)
        query[kSecAttrAccount] = item.account
        if let version = item.version {
            query[kSecAttrModificationDate] = Date(timeIntervalSinceReferenceDate: version)
        }
        return query
    }

    /// A search for one item: its secret, its attributes or both.
    static func search(
        _ item: ItemSelector, data: Bool, attributes: Bool
    ) -> Dictionary {
        var query = self.item(item)
        query[kSecMatchLimit] = kSecMatchLimitOne
        if data { query[kSecReturnData] = true }
        if attributes { query[kSecReturnAttributes] = true }
        // A secret is asked for alone or with its date: the reference would be of no use there.
        if attributes && !data { query[kSecReturnPersistentRef] = true }
        return query
    }

    /// A search for the attributes of all items.
    static func list(_ namespace: Namespace) -> Dictionary {
        var query = all(namespace)
        query[kSecMatchLimit] = kSecMatchLimitAll
        query[kSecReturnAttributes] = true
        query[kSecReturnPersistentRef] = true
        return query
    }

    /// A new item.
    static func addition(_ item: ItemSelector, _ contents: ItemContents) -> Dictionary {
        self.item(item).merging(changes(contents)) { _, new in new }
    }

    /// The second dictionary of an update. It may hold attributes and the secret only.
    static func changes(_ contents: ItemContents) -> Dictionary {
        var changes: Dictionary = [
            kSecValueData: contents.data,
            kSecAttrAccessible: contents.accessibility,
        ]
        if let label = contents.label { changes[kSecAttrLabel] = label }
        return changes
    }
}
