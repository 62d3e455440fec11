// Requests: what a caller can ask of a keychain, in types.

package import FoundationEssentials

/// Attribute values by name, each already converted to its attribute's kind.
package typealias Attributes = [Attribute: AttributeValue]

/// An item to add.
package struct NewItem: Hashable, Sendable {
    package var itemClass: ItemClass
    package var attributes: Attributes
    /// nil: the caller's default group.
    package var accessGroup: String?
    package var protection: ProtectionClass
    package var constraints: AccessConstraints
    package var isSynchronizable: Bool
    package var isTombstone: Bool
    /// The secret. nil: an item without one.
    package var data: Data?
    /// Holds the password to encrypt with, where the constraints ask for one.
    package var authorization: Authorization
    /// Whether an item that has its primary key already is taken for it, where items are added
    /// together. A certificate about another public key is a duplicate all the same.
    package var keepsExisting = false

    package init(
        itemClass: ItemClass, attributes: Attributes, accessGroup: String? = nil,
        protection: ProtectionClass = .whenUnlocked, constraints: AccessConstraints = [],
        isSynchronizable: Bool = false, isTombstone: Bool = false, data: Data? = nil,
        authorization: Authorization = Authorization()
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.protection = protection
        self.constraints = constraints
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.data = data
        self.authorization = authorization
    }
}

/// What identifies the items a request is about. All parts must hold.
package struct ItemQuery: Hashable, Sendable {
    package var itemClass: ItemClass
    package var attributes: Attributes
    /// nil: every group of the caller.
    package var accessGroup: String?
    package var protection: ProtectionClass?
    /// nil: both synchronizable and local items.
    package var isSynchronizable: Bool?
    package var isTombstone: Bool
    package var reference: ItemReference?
    /// Internet passwords whose server is this host or a subdomain of it. Case counts.
    package var hostOrSubdomain: String?
    /// For the secrets that the request opens.
    package var authorization: Authorization

    /// Whether nothing is said of the items but what they are: what a program says that empties a
    /// class. Access group, protection class and synchronizability name no item.
    package var isOfClassAlone: Bool {
        attributes.isEmpty && reference == nil && hostOrSubdomain == nil
    }

    package init(
        itemClass: ItemClass, attributes: Attributes = [:], accessGroup: String? = nil,
        protection: ProtectionClass? = nil, isSynchronizable: Bool? = false,
        isTombstone: Bool = false, reference: ItemReference? = nil,
        hostOrSubdomain: String? = nil, authorization: Authorization = Authorization()
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.protection = protection
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.reference = reference
        self.hostOrSubdomain = hostOrSubdomain
        self.authorization = authorization
    }
}

/// How much of each item a search gives.
package struct Retrieval: Hashable, Sendable {
    /// The most items to give, 0 and up. nil: all.
    package var limit: Int?
    /// Whether to open the secrets. Attributes are always given.
    package var includesData: Bool
    /// Whether to leave out items whose secret the query's authorization doesn't open, instead of
    /// failing. It matters where secrets are to be opened only.
    package var skipsConstrained: Bool

    package init(
        limit: Int? = 1, includesData: Bool = false, skipsConstrained: Bool = false
    ) {
        self.limit = limit
        self.includesData = includesData
        self.skipsConstrained = skipsConstrained
    }
}

/// What an update sets. Whatever is nil or absent stays.
package struct ItemChanges: Hashable, Sendable {
    package var attributes: Attributes
    package var accessGroup: String?
    /// Without constraints beside it, a new protection class takes away those of the item.
    package var protection: ProtectionClass?
    package var constraints: AccessConstraints?
    package var isSynchronizable: Bool?
    package var isTombstone: Bool?
    package var data: Data?

    package init(
        attributes: Attributes = [:], accessGroup: String? = nil,
        protection: ProtectionClass? = nil, constraints: AccessConstraints? = nil,
        isSynchronizable: Bool? = nil, isTombstone: Bool? = nil, data: Data? = nil
    ) {
        self.attributes = attributes
        self.accessGroup = accessGroup
        self.protection = protection
        self.constraints = constraints
        self.isSynchronizable = isSynchronizable
        self.isTombstone = isTombstone
        self.data = data
    }
}

/// Whether a delete leaves a tombstone behind.
package enum TombstonePolicy: Hashable, Sendable {
    /// Synchronizable items leave one, local items don't.
    case automatic
    case always
    case never
}
