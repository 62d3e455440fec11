// Keychain.Item: the attributes of an item, available without reading its secret.

public import Foundation
import KeychainCore

extension Keychain {
    /// The attributes of an item. They don't include the secret, which is not read.
    public struct Item: Hashable, Sendable {
        /// The account (`kSecAttrAccount`), by which a ``KeychainKey`` identifies the item.
        public let account: String

        /// The display name (`kSecAttrLabel`), if the item has one.
        public let label: String?

        /// When the item was added. Saving a new value keeps this date.
        public let creationDate: Date

        /// When the item was last changed. Every change increases this date.
        public let modificationDate: Date

        /// When the item can be read.
        public let accessibility: Accessibility

        /// The authentication that the secret requires, or `nil` if it requires none.
        ///
        /// On Apple platforms, it is also `nil` for an access control that can't be identified,
        /// such as ``AccessControl/biometryCurrentSet`` and those that this API can't create.
        public let accessControl: AccessControl?

        /// Whether ``accessControl`` is certain; `false` if the item may have an access control
        /// that can't be identified.
        let accessControlIsKnown: Bool

        /// Whether the item is synchronizable.
        public let isSynchronizable: Bool

        /// The access group of the item.
        public let accessGroup: String

        /// An identifier that stays the same for as long as the item exists
        /// (`kSecValuePersistentRef`).
        ///
        /// Saving a new value keeps the reference. Deleting the item and adding it again creates a
        /// new reference. A reference grants no access.
        public var persistentReference: Data { reference.persistent(of: itemClass) }

        let reference: ItemReference
        let itemClass: ItemClass
    }
}

extension Keychain.Item {
    /// Converts an item that the keychain returned.
    init(_ item: ItemSnapshot) {
        self.init(
            account: item.attributes[.account]?.text ?? "",
            label: item.attributes[.label]?.text,
            creationDate: item.attributes[.creationDate]?.date ?? .distantPast,
            modificationDate: item.attributes[.modificationDate]?.date ?? .distantPast,
            accessibility: Keychain.Accessibility(item.protection),
            accessControl: item.constraints.isEmpty ? nil : .init(item.constraints),
            accessControlIsKnown: item.constraintsAreKnown,
            isSynchronizable: item.isSynchronizable, accessGroup: item.accessGroup,
            reference: item.reference, itemClass: item.itemClass)
    }
}
