// KeychainEngine+Versions: keeps, finds, restores and deletes earlier versions of items.
//   (1) A version is visible to callers that may see its access group, and opens under the
//       conditions that the item had when the version was replaced.
//   (2) Versions are searched linearly: there are few, and they are searched only at a user's
//       request.
//   (3) A version that is older than the policy allows may still be stored. Only a request to
//       delete versions finds it.
//   (4) A restored version keeps its secret byte for byte. Its attributes are sealed again with the
//       current date, so that a later merge treats it as the newer version.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite
import Logging

extension KeychainEngine {
    /// Keeps versions of the items that the transaction changes from now on, if the request or the
    /// user's policy requires it.
    func keepVersions(
        isRequested: Bool, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) {
        try transaction.keepVersions(isRequested: isRequested, at: options.now())
    }

    package func execute(
        _ request: FindVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemVersion] {
        try logged(request) { () throws(KeychainFailure) in
            try authorize(caller, group: request.query.accessGroup)
            let proof = try presentProof(request.authorization)
            var search = VersionSearch(
                self, request.query, request.number, caller, try store.historyPolicy())
            try store.forEachVersion(includesSecret: request.includesData) {
                version throws(KeychainFailure) in
                try search.visit(version)
            }
            try store.requireCurrent()
            var found: [ItemVersion] = []
            for (version, opened) in try search.finish() {
                var data: Data?
                if request.includesData, opened.record.secretTag != nil {
                    switch openSecret(opened, showing: proof) {
                    case .opened(let secret): data = secret
                    case .damaged: throw .damagedItem(opened.row.reference)
                    case .refused(let failure), .failed(let failure): throw failure
                    }
                }
                found.append(
                    ItemVersion(
                        number: version.number, moment: version.moment, change: version.change,
                        item: opened.item(data: data)))
            }
            guard !found.isEmpty else { throw .itemNotFound }
            TouchedItems.note(found.map(\.item.reference))
            return found
        }
    }

    package func execute(
        _ request: PurgeVersions, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try logged(request) { () throws(KeychainFailure) in
            try authorizeWrite(caller, group: request.query.accessGroup)
            return try write { transaction throws(KeychainFailure) in
                // With `nil` as the policy, the search also finds versions that are too old.
                var search = VersionSearch(self, request.query, request.number, caller, nil)
                try transaction.forEachVersion(includesSecret: false) {
                    version throws(KeychainFailure) in
                    try search.visit(version)
                }
                let going = try search.finish().map(\.version) + search.damaged
                for version in going { try transaction.delete(version) }
                guard !going.isEmpty else { throw .itemNotFound }
                return going.count
            }
        }
    }

    package func execute(
        _ request: SetHistory, as caller: AccessGroups
    ) throws(KeychainFailure) -> HistoryPolicy {
        try logged(request) { () throws(KeychainFailure) in
            guard let policy = request.policy else {
                let policy = try store.historyPolicy()
                try store.requireCurrent()
                return policy
            }
            guard policy.isValid else {
                throw .param(
                    "Versions can be kept for 1 to 36500 days, and at most 1000 versions per item.")
            }
            return try write { transaction throws(KeychainFailure) in
                try transaction.setHistory(policy, at: options.now())
                return policy
            }
        }
    }

    // MARK: Restoring

    package func execute(
        _ request: RestoreVersion, as caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot {
        try logged(request) { () throws(KeychainFailure) in
            try authorizeWrite(caller, group: request.query.accessGroup)
            return try write { transaction throws(KeychainFailure) in
                try transaction.requireGuardedTier()
                try keepVersions(isRequested: true, in: &transaction)
                var search = VersionSearch(
                    self, request.query, request.number, caller, try store.historyPolicy())
                try transaction.forEachVersion(includesSecret: true) {
                    version throws(KeychainFailure) in
                    try search.visit(version)
                }
                let found = try search.finish()
                guard let (version, opened) = found.first else { throw .itemNotFound }
                guard found.count == 1 else {
                    throw .param("Several items have a version with this number. Specify one item.")
                }
                return try restore(
                    version, opened, caller, request.replaces, proof(request.authorization),
                    in: &transaction)
            }
        }
    }

    private func restore(
        _ version: StoredVersion, _ opened: OpenedRow, _ caller: AccessGroups, _ replaces: Bool,
        _ proof: Proof, in transaction: inout StoreTransaction
    ) throws(KeychainFailure) -> ItemSnapshot {
        var record = opened.record
        try authorizeWrite(caller, group: record.accessGroup)
        try checkStorable(record)
        let row = version.row
        let present = try transaction.row(withReference: row.reference)
        let occupant = try occupant(
            of: record, row.labels, in: row.tier, besides: present?.id, &transaction)
        if let occupant {
            guard replaces, case .opened(let other) = occupant else { throw .duplicateItem }
            try delete(other, .automatic, in: &transaction)
        }
        let deleted = try removeTombstones(
            under: record, butNot: present?.id, in: &transaction)
        var current: OpenedRow?
        if let present {
            switch open(present) {
            case .opened(let opened): current = opened
            case .locked:
                _ = try keys(for: ProtectionClass(rawValue: present.protection) ?? .whenUnlocked)
            case .damaged:
                try transaction.setAside(present, reason: .replaced, at: options.now())
            }
        }
        record.attributes[.modificationDate] = .date(
            nextModification(of: current?.record ?? record))
        record.makeLater(than: deleted)
        let sealed = SealedRow(
            id: current?.row.id ?? 0, RowBinding(row, keychainID: store.keychainID), record,
            keys: opened.keys, secret: row.secret)
        if let current {
            try authorizeWrite(caller, group: current.record.accessGroup)
            try requireOpening(of: current, proof, in: transaction)
            try transaction.replace(current.row, with: sealed, replacesSecret: true)
            if current.record.isSynchronizable, !sealed.labels.haveKey(of: current.row.labels) {
                try leaveTombstone(for: current, in: &transaction)
            }
        } else {
            try transaction.insert(sealed)
        }
        return OpenedRow(
            row: sealed, record: record, protection: opened.protection, keys: opened.keys
        )
        .item()
    }

    /// Checks that the request could open the secret that it is about to replace.
    ///
    /// - Throws: `authenticationNeeded`, `authFailed` or `dataNotAvailable` if it could not;
    ///   `decode` if the password can't be checked because the secret is damaged.
    private func requireOpening(
        of current: OpenedRow, _ proof: Proof, in transaction: StoreTransaction
    ) throws(KeychainFailure) {
        if let failure = refusal(of: current, proof) { throw failure }
        guard current.record.constraints.requiresApplicationPassword,
            current.record.secretTag != nil, !current.record.isOfSecureEnclave
        else { return }
        // Only opening the secret shows whether the password is right.
        let whole = OpenedRow(
            row: try transaction.withSecret(current.row), record: current.record,
            protection: current.protection, keys: current.keys)
        switch openSecret(whole, showing: proof) {
        case .opened: return
        case .damaged: throw .damagedItem(current.row.reference)
        case .refused(let failure), .failed(let failure): throw failure
        }
    }

    // MARK: Checking

    /// The items that have damaged versions; `nil` for a version whose item is unknown. Locked
    /// versions are not examined.
    func damagedVersions() throws(KeychainFailure) -> [ItemReference?] {
        var damaged: [ItemReference?] = []
        try store.forEachVersion(includesSecret: true) { version throws(KeychainFailure) in
            guard let version else { return damaged.append(nil) }
            switch open(version.row) {
            case .locked: break
            case .damaged: damaged.append(version.row.reference)
            case .opened(let opened):
                let isWhole = opened.record.secretTag == nil || openContent(opened) != nil
                if !isWhole { damaged.append(version.row.reference) }
            }
        }
        return damaged
    }
}

/// A search among the versions.
private struct VersionSearch {
    private let engine: KeychainEngine
    private let query: ItemQuery
    private let number: UInt32?
    private let caller: AccessGroups
    private let search: RowSearch
    private let isConfined: Bool
    /// Versions that were replaced before this time are not found.
    private let horizon: Double
    private var found: [(version: StoredVersion, opened: OpenedRow)] = []
    /// Damaged versions that the query selects by labels alone.
    private(set) var damaged: [StoredVersion] = []
    /// The reason why a version could not be examined.
    private var lock: KeychainFailure?

    /// With `nil` as the policy, the search also finds versions that are older than the keychain's
    /// policy allows.
    init(
        _ engine: KeychainEngine, _ query: ItemQuery, _ number: UInt32?, _ caller: AccessGroups,
        _ policy: HistoryPolicy?
    ) {
        self.engine = engine
        self.query = query
        self.number = number
        self.caller = caller
        search = RowSearch(query, visibleTo: caller, indexes: engine.store.tiers.indexes)
        isConfined = caller.isConfined(by: query)
        horizon = policy?.horizon(at: engine.options.now()) ?? -.infinity
    }

    mutating func visit(_ version: StoredVersion?) throws(KeychainFailure) {
        guard let version, version.moment >= horizon, version.number == number ?? version.number
        else { return }
        let row = version.row
        if row.tier == .guarded, !engine.store.canBeVerified {
            lock = .lockedBeforeFirstUnlock
            return
        }
        guard search.includes(row) else { return }
        do throws(KeychainFailure) {
            if let protection = ProtectionClass(rawValue: row.protection) {
                _ = try engine.keys(for: protection)
            }
        } catch {
            // A version that opens on another machine only is not visible on this one.
            if error.cause != .otherMachine { lock = error }
            return
        }
        guard case .opened(let opened) = engine.open(row) else {
            engine.log.error(
                "a damaged earlier version was skipped",
                metadata: ["item": "\(row.reference)"])
            if search.isDecided(by: query), !isConfined { damaged.append(version) }
            return
        }
        guard opened.record.matches(query, search, opened.protection, caller: caller),
            !isConfined || caller.hasAdded(opened.record)
        else { return }
        found.append((version, opened))
    }

    /// - Throws: `interactionNotAllowed` if a version could not be examined because it is locked.
    func finish() throws(KeychainFailure) -> [(version: StoredVersion, opened: OpenedRow)] {
        if let lock { throw lock }
        return found
    }
}
