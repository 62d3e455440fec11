// KeychainEngine+Find: searching.
//   (1) Attributes are read from the metadata alone. A secret is opened only if the request asks
//       for it.
//   (2) A locked row that the search reaches makes the search fail; it is never skipped. Before a
//       lock is reported, the engine checks whether another process has removed the passcode.
//   (3) Neither a damaged row nor one that is bound to another machine hides an undamaged one. If
//       nothing else matches, the search fails with damage or, without a damaged row, with the
//       reason why the row can't be opened on this machine. Before the first unlock, the guarded
//       tier isn't searched. A search that includes this tier then fails as locked if it finds
//       nothing, or if it finds fewer items than its limit and the tier isn't empty.
//   (4) A row whose constraints are not satisfied makes the search fail, unless the request skips
//       such rows. If the search also reaches a locked row, it fails as locked, not because of the
//       constraints.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore
import KeychainSQLite
import Logging
import Synchronization

extension KeychainEngine {
    package func execute(
        _ request: FindItems, as caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        do throws(KeychainFailure) {
            try authorize(caller, group: request.query.accessGroup)
            if let limit = request.retrieval.limit, limit <= 0 { throw .itemNotFound }
            let found: [ItemSnapshot]
            do throws(KeychainFailure) {
                found = try search(request.query, request.retrieval, caller)
            } catch {
                guard error.status == .interactionNotAllowed, try adoptsOtherKeybag() else {
                    throw error
                }
                found = try search(request.query, request.retrieval, caller)
            }
            note(request)
            if TouchedItems.isWanted { TouchedItems.note(found.map(\.reference)) }
            return found
        } catch {
            note(request, error)
            throw error
        }
    }

    /// If another process has changed the keybag, adopts the new one and returns `true`. That
    /// process may have removed the passcode, which ends the lock.
    func adoptsOtherKeybag() throws(KeychainFailure) -> Bool {
        let generation = session.ring.withLock { $0.keybagGeneration }
        guard try store.header().keybagGeneration != generation else { return false }
        try reloadKeybag()
        return true
    }

    private func search(
        _ query: ItemQuery, _ retrieval: Retrieval, _ caller: AccessGroups
    ) throws(KeychainFailure) -> [ItemSnapshot] {
        if let item = try dataAlone(query, retrieval, caller) { return [item] }
        let proof = try presentProof(query.authorization)
        var found: [(id: Int64, item: ItemSnapshot)] = []
        var damaged = DamagedRows()
        var refused = RefusedRows(skips: retrieval.skipsConstrained)
        let limit = retrieval.limit ?? .max
        let isDataAlone = !retrieval.includesAttributes && store.knownDamage == nil
        let visit = try store.visit(
            query, visibleTo: caller, includesSecret: retrieval.includesData,
            limit: retrieval.limit
        ) { candidate, search throws(KeychainFailure) in
            if isDataAlone, case .row(let row) = candidate,
                let item = dataAlone(of: row, query, search)
            {
                found.append((row.id, item))
                return found.count + refused.count < limit
            }
            guard let opened = try open(candidate, for: search, noting: &damaged),
                opened.record.matches(query, search, opened.protection, caller: caller)
            else { return true }
            if retrieval.includesData, opened.record.secretTag != nil {
                // After a refusal, the search continues only to find a locked row.
                guard refused.first == nil else { return true }
                switch openSecret(opened, showing: proof) {
                case .opened(let data): found.append((opened.row.id, opened.item(data: data)))
                case .damaged: damaged.note(opened.row.reference)
                case .refused(let failure): refused.note(failure)
                case .failed(let failure): throw failure
                }
            } else {
                found.append((opened.row.id, opened.item()))
            }
            return found.count + refused.count < limit
        }
        if isDataAlone, visit.isDoubtful {
            // An earlier secret of the item has a valid tag, too. Only the attributes show which
            // secret is current.
            var retrieval = retrieval
            retrieval.includesAttributes = true
            return try search(query, retrieval, caller)
        }
        if let failure = refused.first { throw failure }
        if found.count < limit {
            try store.requireSound()
        } else if visit.isDoubtful {
            try store.requireSoundRows()
        }
        if !damaged.isEmpty {
            log.error(
                "damaged items were skipped",
                metadata: [
                    "count": "\(damaged.count)",
                    "first": "\(damaged.first.map(\.description) ?? "?")",
                ])
        }
        guard !found.isEmpty else {
            throw try failureForNoMatch(query, caller, damaged, isComplete: visit.isComplete)
        }
        // A list without the locked items would be incomplete.
        if found.count < limit, !visit.isComplete, try store.header().count(of: .guarded) > 0 {
            throw .lockedBeforeFirstUnlock
        }
        if retrieval.limit == nil { found.sort { $0.id < $1.id } }
        return found.map(\.item)
    }

    /// The error for a search without matches: the item doesn't exist, is damaged, was lost, can be
    /// opened on another machine only, or may be in the guarded tier, which wasn't searched.
    /// Changes and deletions don't use this and treat lost items as absent, so that a newly saved
    /// item replaces a lost one.
    private func failureForNoMatch(
        _ query: ItemQuery, _ caller: AccessGroups, _ damaged: DamagedRows, isComplete: Bool
    ) throws(KeychainFailure) -> KeychainFailure {
        // The guarded tier, which was not searched, may contain an undamaged match.
        guard isComplete else { return .lockedBeforeFirstUnlock }
        if let failure = damaged.failure { return failure }
        let search = RowSearch(query, visibleTo: caller, indexes: store.tiers.indexes)
        return switch try store.loss(for: search) {
        case .setAside(let reference): .setAsideItem(reference)
        case .unknown: .lostItems
        case nil: .itemNotFound
        }
    }

    /// Carries out a request whose answer is the secret of one item, if a single look-up is enough
    /// and doesn't have to wait for another request or process. This method may wait for a read
    /// from the disk.
    ///
    /// - Returns: `nil` if the request has to be carried out by ``execute(_:as:)``, for whatever
    ///   reason.
    package func secretAtOnce(_ request: FindItems, as caller: AccessGroups) -> ItemSnapshot? {
        let query = request.query
        let item = try? within(latest.withLock { $0 }) { () throws(KeychainFailure) in
            try authorize(caller, group: query.accessGroup)
            return request.isForOneSecret
                ? store.lookUpAtOnce(query, visibleTo: caller).flatMap { dataAlone(of: $0, query) }
                : nil
        }
        guard let item = item ?? nil else { return nil }
        note(request)
        return item
    }

    /// The secret of the one item that a query identifies, without its attributes; `nil` if a
    /// single look-up is not sufficient.
    private func dataAlone(
        _ query: ItemQuery, _ retrieval: Retrieval, _ caller: AccessGroups
    ) throws(KeychainFailure) -> ItemSnapshot? {
        guard retrieval.isOfOneSecret, let row = try store.lookUp(query, visibleTo: caller)
        else { return nil }
        return dataAlone(of: row, query)
    }

    private func dataAlone(
        of row: SealedRow, _ query: ItemQuery, _ search: RowSearch
    ) -> ItemSnapshot? {
        guard search.isDecided(by: query), search.namesItem, search.includes(row) else {
            return nil
        }
        return dataAlone(of: row, query)
    }

    /// The secret of a row that the labels identify and that has no constraints. The attributes are
    /// not opened. `nil` if they have to be.
    private func dataAlone(of row: SealedRow, _ query: ItemQuery) -> ItemSnapshot? {
        guard row.secret != nil, row.isOnOnePage, query.itemClass != .key,
            let protection = ProtectionClass(rawValue: row.protection),
            let keys = try? keys(for: protection),
            let data = try? RowSealing.openSecret(
                of: row, of: query.itemClass, constraints: [], keychainID: store.keychainID,
                keys: keys)
        else { return nil }
        openedSecrets.wrappingAdd(1, ordering: .relaxed)
        return ItemSnapshot(
            itemClass: query.itemClass, reference: row.reference, attributes: [:],
            accessGroup: "", protection: protection, isSynchronizable: false, isTombstone: false,
            hasData: true, data: data)
    }

    // MARK: Opening rows

    /// Opens a row's metadata. If the row is damaged or bound to another machine, returns `nil` and
    /// records it in `damaged`.
    /// - Throws: `interactionNotAllowed` while the row's class is locked. `notAvailable` if the row
    ///   could only have been found through a manipulated index.
    func open(
        _ candidate: Store.Found, for search: RowSearch, noting damaged: inout DamagedRows
    ) throws(KeychainFailure) -> OpenedRow? {
        guard case .row(let row) = candidate else {
            damaged.noteMisshapen()
            return nil
        }
        guard let protection = ProtectionClass(rawValue: row.protection) else {
            damaged.note(row.reference)
            return nil
        }
        let keys: ClassKeys
        do throws(KeychainFailure) {
            keys = try self.keys(for: protection)
        } catch {
            guard error.cause == .otherMachine else { throw error }
            damaged.elsewhere = error
            return nil
        }
        let opened: OpenedRow
        do {
            let record = try RowSealing.openMetadata(
                of: row, keychainID: store.keychainID, keys: keys)
            opened = OpenedRow(row: row, record: record, protection: protection, keys: keys)
        } catch {
            damaged.note(row.reference)
            return nil
        }
        guard search.includes(row) else {
            throw .misleadingIndex
        }
        return opened
    }

    /// Opens a secret with the keychain's keys. The result is the secret itself, unless an
    /// application password is required too.
    ///
    /// - Returns: `nil` if the secret is damaged.
    func openContent(_ opened: OpenedRow) -> Data? {
        openedSecrets.wrappingAdd(1, ordering: .relaxed)
        return try? RowSealing.openSecret(
            of: opened.row, record: opened.record, keychainID: store.keychainID,
            keys: opened.keys)
    }

    // MARK: Logging

    /// Logs the operation, the shape of the request (its class and the names of its attributes) and
    /// the outcome.
    func logged<R: Request, Result>(
        _ request: R, _ body: () throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        do {
            let result = try body()
            note(request)
            return result
        } catch {
            note(request, error)
            throw error
        }
    }

    /// Logs a request that was carried out or has failed.
    func note<R: Request>(_ request: R, _ failure: KeychainFailure? = nil) {
        let status = failure?.status.rawValue ?? 0
        log.debug(
            "\(R.code.name)",
            metadata: ["query": "\(request.shape ?? "")", "status": "\(status)"])
    }
}

/// The rows that a request was not authorized to open.
private struct RefusedRows {
    /// Whether such rows are skipped.
    let skips: Bool
    private(set) var first: KeychainFailure?

    /// At most one is counted, because the first makes the request fail.
    var count: Int { first == nil ? 0 : 1 }

    mutating func note(_ failure: KeychainFailure) {
        if !skips { first = first ?? failure }
    }
}

/// The damaged rows that a request encountered.
struct DamagedRows {
    private(set) var references: [ItemReference] = []
    private var misshapenCount = 0
    /// The error for a row that can be opened on another machine only.
    var elsewhere: KeychainFailure?

    var count: Int { references.count + misshapenCount }
    var isEmpty: Bool { count == 0 }
    var first: ItemReference? { references.first }

    mutating func note(_ reference: ItemReference) {
        // A search for one item may visit its first row a second time.
        if reference != references.first { references.append(reference) }
    }
    mutating func noteMisshapen() { misshapenCount += 1 }

    var failure: KeychainFailure? {
        if let first { return .damagedItem(first) }
        return misshapenCount > 0
            ? .damagedStore("a row has columns of the wrong kind") : elsewhere
    }
}
