// StoredItem: what a test sees of an item without opening its secret.

#if !canImport(Darwin)

public import Foundation
public import Keychain
import KeychainCore

extension TestKeychain {
    /// An item with its attributes.
    public struct StoredItem: Hashable, Sendable {
        /// The value of `kSecClass`: `genp` for a generic password, `inet` for one of a server.
        public let itemClass: String
        /// The service of a generic password or the server of an internet password, if it is
        /// text.
        public let service: String?
        /// The account, if it is text.
        public let account: String?
        /// The label, if it is text.
        public let label: String?
        /// The group that the item belongs to.
        public let accessGroup: String
        /// When the item can be read.
        public let accessibility: Keychain.Accessibility
        /// Whether the item is marked for synchronization.
        public let isSynchronizable: Bool
        /// When the item was added.
        public let creationDate: Date
        /// When the item was last changed.
        public let modificationDate: Date

        init(_ item: ItemSnapshot) {
            func text(_ attribute: Attribute) -> String? {
                guard case .string(let text) = item.attributes[attribute] else { return nil }
                return text
            }
            func date(_ attribute: Attribute) -> Date {
                guard case .date(let seconds) = item.attributes[attribute] else {
                    return .distantPast
                }
                return Date(timeIntervalSinceReferenceDate: seconds)
            }
            itemClass = item.itemClass.name
            service = text(item.itemClass.firstKey)
            account = text(.account)
            label = text(.label)
            accessGroup = item.accessGroup
            accessibility = Keychain.Accessibility(rawValue: item.protection.code)
            isSynchronizable = item.isSynchronizable
            creationDate = date(.creationDate)
            modificationDate = date(.modificationDate)
        }
    }
}

#endif
