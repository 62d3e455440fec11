// ItemRequests: requests that add, find, change and delete items, and the values in these requests.

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
/// order. For an item that was not added because of ``NewItem/keepsExisting``, the answer contains
/// the existing item, but with the data of the request instead of the stored data.
///
/// Throws `duplicateItem` if an item's primary key already exists, in the keychain or earlier in
/// the list, and the item's ``NewItem/keepsExisting`` is not set.
package struct AddItems: Request {
    package static let code = RequestCode.addAll
    /// At least one item.
    package var items: [NewItem]

    package init(_ items: [NewItem]) { self.items = items }

    /// The authorization of the first item. Setting it sets that of all items.
    package var authorization: Authorization {
        get { items.first?.authorization ?? Authorization() }
        set { for index in items.indices { items[index].authorization = newValue } }
    }
    package var purpose: AuthorizationPurpose? { .creation }
    package var shape: String? { items.map(\.shape).joined(separator: ", ") }
    /// Whether any item comes with an application password. A client can send a different
    /// authorization with each item.
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

/// Finds items, in the order in which they were added; with a limit of one, any matching item.
/// Throws `itemNotFound` if no item matches or the limit is 0.
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

    /// Whether the answer is at most one secret, without attributes. Always `false` for keys,
    /// because the attributes of a key are always needed.
    package var isForOneSecret: Bool {
        retrieval.isOfOneSecret && query.itemClass != .key
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

/// Changes all matching items, or none of them. The answer is the number of changed items, at least
/// 1. The adapter for Apple's functions can answer 1 although several items were changed.
package struct UpdateItems: Request {
    package static let code = RequestCode.update
    package var query: ItemQuery
    package var changes: ItemChanges
    /// Whether to keep the previous contents of the items as versions, even if
    /// ``HistoryPolicy/isForAll`` is `false`.
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

    package func usedUnlockedKeys(_ answer: Int) -> Bool {
        changes.needUnlock(of: query.protection)
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// Adds an item, or changes the existing item that has the same primary key.
///
/// The query must match this existing item. Only the adapter for Apple's functions searches with
/// the query; if the query names no access group, the search is limited to the group of the new
/// item. The engine uses nothing of the query except its authorization.
package struct PutItem: Request {
    package static let code = RequestCode.put
    package var item: NewItem
    package var query: ItemQuery
    package var changes: ItemChanges
    /// Whether to keep the previous contents of the item as a version, even if
    /// ``HistoryPolicy/isForAll`` is `false`.
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

    /// The authorization of the item. Setting it also sets that of the query.
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

/// Deletes all matching items, or none of them. The answer is the number of deleted items, at least
/// 1. Damaged rows that this request set aside, instead of deleting them, are counted as well. The
/// adapter for Apple's functions can answer 1 although several items were deleted.
package struct DeleteItems: UnauthorizedRequest {
    package static let code = RequestCode.delete
    package var query: ItemQuery
    package var tombstones: TombstonePolicy
    /// Whether to keep the items as versions, even if ``HistoryPolicy/isForAll`` is `false`.
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

// MARK: Values of the requests

/// Attribute values by name. Each value has been converted to the kind of its attribute.
package typealias Attributes = [Attribute: AttributeValue]

/// An item to add.
package struct NewItem: Hashable, Sendable {
    package var itemClass: ItemClass
    package var attributes: Attributes
    /// `nil` for the caller's default group.
    package var accessGroup: String?
    package var protection: ProtectionClass
    package var constraints: AccessConstraints
    package var isSynchronizable: Bool
    package var isTombstone: Bool
    /// The secret; `nil` for an item without one.
    @Hidden package var data: Data?
    /// Contains the application password to encrypt with and the biometric enrollment to bind the
    /// item to, if the constraints require them.
    package var authorization: Authorization
    /// Whether an existing item with the same primary key is accepted in place of this item, in a
    /// request that adds several. An existing certificate with another public key, or an existing
    /// item that can't be opened, is still a duplicate.
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

/// The conditions that select items. All of them must hold.
package struct ItemQuery: Hashable, Sendable {
    package var itemClass: ItemClass
    package var attributes: Attributes
    /// `nil` for all groups of the caller.
    package var accessGroup: String?
    package var protection: ProtectionClass?
    /// `nil` for both synchronizable and local items.
    package var isSynchronizable: Bool?
    package var isTombstone: Bool
    package var reference: ItemReference?
    /// Selects internet passwords whose server is this host or a subdomain of it. Case-sensitive.
    package var hostOrSubdomain: String?
    /// The authorization for the secrets that the request opens.
    package var authorization: Authorization

    /// Whether the query identifies no particular items, as in a request to delete a whole class.
    /// Access group, protection class and synchronizability don't identify items.
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

/// The parts of items that a search returns, and how many items.
package struct Retrieval: Hashable, Sendable {
    /// The maximum number of items, at least 0. `nil` for all.
    package var limit: Int?
    /// Whether to open the secrets.
    package var includesData: Bool
    /// Whether attributes, group, constraints and flags are required. If not, the answer can lack
    /// them, which saves decrypting them.
    package var includesAttributes: Bool
    /// Whether to skip items whose secret can't be opened with the query's authorization, instead
    /// of throwing an error. This has an effect only if secrets are opened.
    package var skipsConstrained: Bool

    /// Whether at most one secret is returned, without attributes.
    package var isOfOneSecret: Bool { includesData && !includesAttributes && limit == 1 }

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

/// The changes that an update makes. Values that are `nil` or absent stay as they are, except that
/// a new ``protection`` can remove the constraints.
package struct ItemChanges: Hashable, Sendable {
    package var attributes: Attributes
    package var accessGroup: String?
    /// A new protection class without new ``constraints`` removes the item's constraints.
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

/// Whether a deletion leaves a tombstone.
package enum TombstonePolicy: CaseIterable, Hashable, Sendable {
    /// A tombstone for synchronizable items, none for local items and for tombstones.
    case automatic
    case always
    case never
}

// MARK: Properties of the requests

extension ItemQuery {
    /// The class and the names of the attributes, sorted, without values.
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

    /// Whether the changes may seal a secret with keys that a lock erases. `protection` is the
    /// class that the query names. If neither the query nor the changes name a class, the items may
    /// be of any class, so the result is the same as for a when-unlocked class.
    func needUnlock(of protection: ProtectionClass?) -> Bool {
        guard data != nil || self.protection != nil || constraints != nil else { return false }
        guard let sealing = self.protection ?? protection else { return true }
        return sealing.availability == .whileUnlocked
    }
}

extension Retrieval {
    package func effort(derives: Bool) -> RequestEffort {
        limit == nil ? .survey : derives ? .derivation : .few
    }
}

extension ItemSnapshot {
    /// Whether the secret was opened or sealed with keys that a lock erases.
    package var neededUnlock: Bool {
        protection.availability == .whileUnlocked && data != nil
    }
}
