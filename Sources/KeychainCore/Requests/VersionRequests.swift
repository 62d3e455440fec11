// VersionRequests: requests about earlier versions of items. A change or deletion can keep the
// replaced item as a version for a limited time.
//   (1) A version is not an item: requests for items neither find nor count it.
//   (2) Versions belong to a name, which is the primary key that the item had. If an item is
//       renamed, its earlier versions stay under its earlier name.
//   (3) A version keeps the protection class, constraints and access group of the item, with the
//       same requirements for access.

/// An item as it was before a change.
package struct ItemVersion: Hashable, Sendable {
    /// The number of the version, at least 1. A new version gets a higher number than all stored
    /// versions of its name. The numbers of a name can have gaps.
    package var number: UInt32
    /// The time when the version was replaced or deleted, in seconds since 2001-01-01.
    package var moment: Double
    package var change: Change
    package var item: ItemSnapshot

    /// The change that created the version. The raw value is stored in the database.
    package enum Change: UInt8, CaseIterable, Hashable, Sendable {
        case replaced = 1
        case deleted = 2
    }

    package init(number: UInt32, moment: Double, change: Change, item: ItemSnapshot) {
        self.number = number
        self.moment = moment
        self.change = change
        self.item = item
    }
}

/// How many earlier versions are kept and for how long, and which programs' changes create them.
package struct HistoryPolicy: Hashable, Sendable {
    /// The maximum number of versions of one name, 0...1000. With 0, none are kept.
    package var count: UInt32
    /// The number of days for which versions are kept, 1...36,500.
    package var days: UInt32
    /// Whether the changes of all programs create versions. If not, a change creates a version only
    /// if the program requests it, as `keychainctl` does.
    package var isForAll: Bool

    package static let standard = HistoryPolicy(count: 10, days: 30, isForAll: false)

    package init(count: UInt32, days: UInt32, isForAll: Bool) {
        self.count = count
        self.days = days
        self.isForAll = isForAll
    }

    package var isValid: Bool { count <= 1000 && (1...36_500).contains(days) }
}

/// Finds the versions of items, the most recently replaced first. Throws `itemNotFound` if there
/// are none, and `interactionNotAllowed` if one that may match is locked. Versions whose attributes
/// are damaged or bound to another machine are skipped. If secrets are opened, a damaged one throws
/// `decode`.
package struct FindVersions: Request {
    package static let code = RequestCode.findVersions
    package var query: ItemQuery
    /// `nil` for all versions.
    package var number: UInt32?
    /// Whether to open the secrets.
    package var includesData: Bool

    package init(_ query: ItemQuery, number: UInt32? = nil, includesData: Bool = false) {
        self.query = query
        self.number = number
        self.includesData = includesData
    }

    package var authorization: Authorization {
        get { query.authorization }
        set { query.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { .use }
    package var shape: String? { query.shape }
    package var effort: RequestEffort { .survey }

    package func usedUnlockedKeys(_ answer: [ItemVersion]) -> Bool {
        answer.contains { $0.item.neededUnlock }
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemVersion] {
        try executor.execute(self, as: caller)
    }
}

/// Restores an item to an earlier version, or restores a deleted item. The item's current contents
/// become a version if the history policy permits any. The answer is the item as stored, without
/// its secret.
///
/// Throws `itemNotFound` if there is no such version, `param` if the query matches several versions
/// with this number, and `duplicateItem` if another item has the name and is not to be replaced or
/// can't be opened.
package struct RestoreVersion: Request {
    package static let code = RequestCode.restoreVersion
    package var query: ItemQuery
    package var number: UInt32
    /// Whether to delete another item that has the name. The deleted item becomes a version if the
    /// history policy permits any.
    package var replaces: Bool

    package init(_ query: ItemQuery, number: UInt32, replaces: Bool = false) {
        self.query = query
        self.number = number
        self.replaces = replaces
    }

    package var authorization: Authorization {
        get { query.authorization }
        set { query.authorization = newValue }
    }
    package var purpose: AuthorizationPurpose? { .use }
    package var shape: String? { query.shape }
    package var effort: RequestEffort { .survey }

    package func usedUnlockedKeys(_ answer: ItemSnapshot) -> Bool {
        answer.protection.availability == .whileUnlocked && answer.hasData
    }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        try executor.execute(self, as: caller)
    }
}

/// Deletes versions permanently. The answer is the number of versions, at least 1. Throws
/// `itemNotFound` if there are none, and `interactionNotAllowed` if one that may match is locked.
package struct PurgeVersions: UnauthorizedRequest {
    package static let code = RequestCode.purgeVersions
    package var query: ItemQuery
    /// `nil` for all versions.
    package var number: UInt32?

    package init(_ query: ItemQuery, number: UInt32? = nil) {
        self.query = query
        self.number = number
    }

    package var shape: String? { query.shape }
    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try executor.execute(self, as: caller)
    }
}

/// Sets the history policy and deletes the versions that exceed its limits. The answer is the
/// policy in effect. Throws `param` if a value is out of range.
package struct SetHistory: GeneralRequest {
    package static let code = RequestCode.setHistory
    /// `nil` to return the policy without changing it.
    package var policy: HistoryPolicy?

    package init(_ policy: HistoryPolicy? = nil) { self.policy = policy }

    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> HistoryPolicy {
        try executor.execute(self, as: caller)
    }
}
