// Keychain.Item: what is known about an item without reading its secret.

public import Foundation
import KeychainCore

extension Keychain {
    /// The attributes of an item. The secret is not among them and was not read.
    public struct Item: Hashable, Sendable {
        /// Whose item it is: the account of its key (`kSecAttrAccount`).
        public let account: String

        /// The name for people (`kSecAttrLabel`), if it has one.
        public let label: String?

        /// When the item was added. Saving over it keeps this.
        public let creationDate: Date

        /// When the item was last changed. Every change moves it forward.
        public let modificationDate: Date

        /// When the item can be read.
        public let accessibility: Accessibility

        /// What has to be shown before its secret is opened. nil: nothing; on Apple platforms also an
        /// access control that can't be identified, such as ``AccessControl/biometryCurrentSet`` and
        /// those that this API can't make.
        public let accessControl: AccessControl?

        /// Whether ``accessControl`` is the item's: false where that can't be identified.
        let accessControlIsKnown: Bool

        /// Whether the item is synchronizable.
        public let isSynchronizable: Bool

        /// The access group that the item is in.
        public let accessGroup: String

        /// What stays the same about the item for as long as it exists
        /// (`kSecValuePersistentRef`).
        ///
        /// Saving over the item keeps it; deleting and adding gives a new one. It grants no
        /// access.
        public var persistentReference: Data { reference.persistent(of: itemClass) }

        let reference: ItemReference
        let itemClass: ItemClass
    }
}

extension Keychain.Item {
    /// An item as the keychain gives it.
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
