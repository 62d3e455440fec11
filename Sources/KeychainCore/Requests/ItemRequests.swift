// ItemRequests: adding, finding, changing and deleting items, and the values in these requests.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

// MARK: The requests

/// Adds an item. The answer is the item as stored, with its data.
package struct AddItem: Request {
    package static let code = RequestCode.add
    package var item: NewItem

    package init(_ item: NewItem) { self.item = item }

    package var authorization: Authorization {
        get { item.authorization }
        set { item.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { .creation }
    package var shape: String? { item.shape }

    package func usedUnlockedKeys(_ answer: ItemSnapshot) -> Bool { answer.neededUnlock }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        try executor.execute(self, as: caller)
    }
}

/// Adds all items, or none of them. The answer is the items as stored, with their data, in the same
/// order.
///
/// `duplicateItem` is thrown when the primary key of an item is taken, also by an earlier one of the
/// list, and the item doesn't keep existing ones.
package struct AddItems: Request {
    package static let code = RequestCode.addAll
    /// One and up.
    package var items: [NewItem]

    package init(_ items: [NewItem]) { self.items = items }

    /// One for all of them.
    package var authorization: Authorization {
        get { items.first?.authorization ?? Authorization() }
        set { for index in items.indices { items[index].authorization = newValue } }
    }
    package var purpose: AuthorizationPurpose? { .creation }
    package var shape: String? { items.map(\.shape).joined(separator: ", ") }
    /// A client can send another authorization with each.
    package var showsPassword: Bool {
        items.contains { $0.authorization.applicationPassword != nil }
    }

    package func usedUnlockedKeys(_ answer: [ItemSnapshot]) -> Bool {
        answer.contains { $0.neededUnlock }
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try executor.execute(self, as: caller)
    }
}

/// Finds items, in the order in which they were added; with a limit of one, any of them.
/// `itemNotFound` is thrown when there are none.
package struct FindItems: Request {
    package static let code = RequestCode.find
    package var query: ItemQuery
    package var retrieval: Retrieval

    package init(_ query: ItemQuery, _ retrieval: Retrieval = Retrieval()) {
        self.query = query
        self.retrieval = retrieval
    }

    package var authorization: Authorization {
        get { query.authorization }
        set { query.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { .use }
    package var shape: String? { query.shape }
    package var effort: RequestEffort { retrieval.effort(derives: showsPassword) }

    package func usedUnlockedKeys(_ answer: [ItemSnapshot]) -> Bool {
        answer.contains { $0.neededUnlock }
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        try executor.execute(self, as: caller)
    }
}

/// Changes all items that match, or none of them. The answer is how many, 1 and up.
package struct UpdateItems: Request {
    package static let code = RequestCode.update
    package var query: ItemQuery
    package var changes: ItemChanges
    /// Whether what the items were until then is kept, see ``ItemVersion``.
    package var keepsVersions: Bool

    package init(_ query: ItemQuery, _ changes: ItemChanges, keepsVersions: Bool = false) {
        self.query = query
        self.changes = changes
        self.keepsVersions = keepsVersions
    }

    package var authorization: Authorization {
        get { query.authorization }
        set { query.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { changes.purpose }
    package var shape: String? { query.shape }
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// Adds an item or, where its primary key is taken, changes the item that has it.
///
/// The query means that item. Apple's functions find it by the query, which is confined to the access
/// group that the item goes to; otherwise its authorization alone is looked at.
package struct PutItem: Request {
    package static let code = RequestCode.put
    package var item: NewItem
    package var query: ItemQuery
    package var changes: ItemChanges
    /// Whether what the item was until then is kept, see ``ItemVersion``.
    package var keepsVersions: Bool

    package init(
        _ item: NewItem, orChange query: ItemQuery, _ changes: ItemChanges,
        keepsVersions: Bool = false
    ) {
        self.item = item
        self.query = query
        self.changes = changes
        self.keepsVersions = keepsVersions
    }

    /// One for both.
    package var authorization: Authorization {
        get { item.authorization }
        set {
            item.authorization = newValue
            query.authorization = newValue
        }
    }
    package var purpose: AuthorizationPurpose? {
        item.constraints.contains(.applicationPassword) ? .both : changes.purpose
    }
    package var shape: String? { item.shape }
    package var showsPassword: Bool {
        authorization.applicationPassword != nil
            || query.authorization.applicationPassword != nil
    }

    package func usedUnlockedKeys(_ answer: Done) -> Bool {
        item.protection.availability == .whileUnlocked
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Done {
        try executor.execute(self, as: caller)
    }
}

/// Deletes all items that match, or none of them. The answer is how many, 1 and up.
package struct DeleteItems: UnauthorizedRequest {
    package static let code = RequestCode.delete
    package var query: ItemQuery
    package var tombstones: TombstonePolicy
    /// Whether the items are kept as versions, see ``ItemVersion``.
    package var keepsVersions: Bool

    package init(
        _ query: ItemQuery, tombstones: TombstonePolicy, keepsVersions: Bool = false
    ) {
        self.query = query
        self.tombstones = tombstones
        self.keepsVersions = keepsVersions
    }

    package var shape: String? { query.shape }
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

// MARK: Their values

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
    @Hidden package var data: Data?
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
    /// Whether to open the secrets.
    package var includesData: Bool
    /// Whether attributes, group, constraints and flags are wanted. Otherwise an answer may lack them,
    /// which saves opening them.
    package var includesAttributes: Bool
    /// Whether to leave out items whose secret the query's authorization doesn't open, instead of
    /// failing. It matters where secrets are to be opened only.
    package var skipsConstrained: Bool

    package init(
        limit: Int? = 1, includesData: Bool = false, includesAttributes: Bool = true,
        skipsConstrained: Bool = false
    ) {
        self.limit = limit
        self.includesData = includesData
        self.includesAttributes = includesAttributes
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
    @Hidden package var data: Data?

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
package enum TombstonePolicy: CaseIterable, Hashable, Sendable {
    /// Synchronizable items leave one, local items don't.
    case automatic
    case always
    case never
}

// MARK: What requests say of themselves

extension ItemQuery {
    /// Class and names of the attributes, in order; no value.
    package var shape: String {
        var names = attributes.keys.map(\.name)
        if accessGroup != nil { names.append("agrp") }
        if protection != nil { names.append("pdmn") }
        if reference != nil { names.append("persistref") }
        return ([itemClass.name] + names.sorted()).joined(separator: " ")
    }
}

extension NewItem {
    package var shape: String {
        ItemQuery(itemClass: itemClass, attributes: attributes, accessGroup: accessGroup).shape
    }
}

extension ItemChanges {
    package var purpose: AuthorizationPurpose {
        constraints?.contains(.applicationPassword) == true ? .both : .use
    }
}

extension Retrieval {
    package func effort(derives: Bool) -> RequestEffort {
        limit == nil ? .survey : derives ? .derivation : .few
    }
}

extension ItemSnapshot {
    /// Whether its secret was opened or sealed with keys that a lock takes away.
    package var neededUnlock: Bool {
        protection.availability == .whileUnlocked && data != nil
    }
}
