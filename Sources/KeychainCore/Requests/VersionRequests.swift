// VersionRequests: earlier versions of items: what a change or a deletion replaced, kept for a time.
//   (1) A version is no item: no other request finds, counts or changes it.
//   (2) Versions belong to a name, the primary key that the item had. An item that was renamed has its
//       earlier versions under its earlier name.
//   (3) A version keeps the protection class, the constraints and the access group that the item had, and
//       asks for what they ask for.

/// An item as it was before a change.
package struct ItemVersion: Hashable, Sendable {
    /// 1 and up, rising with each version of a name. Numbers of one name may have gaps.
    package var number: UInt32
    /// When it was replaced, in seconds since 2001-01-01.
    package var moment: Double
    package var change: Change
    package var item: ItemSnapshot

    /// What became of it. The raw value stands in the database.
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

/// How long earlier versions are kept, and of whose changes.
package struct HistoryPolicy: Hashable, Sendable {
    /// The most versions of one name, 0...1000. 0: none is kept.
    package var count: UInt32
    /// For how many days, 1...36,500.
    package var days: UInt32
    /// Whether every program's changes leave versions. Otherwise those alone that ask for it, as
    /// `keychainctl` does.
    package var isForAll: Bool

    package static let standard = HistoryPolicy(count: 10, days: 30, isForAll: false)

    package init(count: UInt32, days: UInt32, isForAll: Bool) {
        self.count = count
        self.days = days
        self.isForAll = isForAll
    }

    package var isValid: Bool { count <= 1000 && (1...36_500).contains(days) }
}

/// Finds the versions of items, those that were replaced last first. `itemNotFound` is thrown when there
/// are none; `interactionNotAllowed` where one is locked.
package struct FindVersions: Request {
    package static let code = RequestCode.findVersions
    package var query: ItemQuery
    /// nil: all.
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

/// Makes an item again what it was, or brings a deleted one back. What it was until then becomes a
/// version. The answer is the item as stored, without its secret.
///
/// `itemNotFound` is thrown where there is no such version, `param` where the query means versions of
/// several names, `duplicateItem` where another item has the name.
package struct RestoreVersion: Request {
    package static let code = RequestCode.restoreVersion
    package var query: ItemQuery
    package var number: UInt32
    /// Whether another item that has the name is deleted. It becomes a version.
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

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        try executor.execute(self, as: caller)
    }
}

/// Deletes versions for good. The answer is how many, 1 and up.
package struct PurgeVersions: UnauthorizedRequest {
    package static let code = RequestCode.purgeVersions
    package var query: ItemQuery
    /// nil: all.
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

/// Sets what is kept from now on; versions that are too many or too old by it are deleted. The answer is
/// what holds. `param` is thrown for values out of their ranges.
package struct SetHistory: GeneralRequest {
    package static let code = RequestCode.setHistory
    /// nil: nothing is changed.
    package var policy: HistoryPolicy?

    package init(_ policy: HistoryPolicy? = nil) { self.policy = policy }

    package var effort: RequestEffort { .survey }

    package func execute<Executor: RequestExecutor>(
        on executor: Executor, as caller: AccessGroups
    ) throws(KeychainFailure) -> HistoryPolicy {
        try executor.execute(self, as: caller)
    }
}
