// StoreTransaction: the changes that can be part of a commit.
//   (1) Each change keeps rows, terms, and the header's count and digest consistent.
//   (2) Nothing is visible to other connections before the transaction ends. If the transaction
//       fails, none of its changes remain, unless the failure says that the outcome is unknown.
//   (3) `row(under:)` and `row(withReference:)` return only a row that has the labels or the
//       reference in its own columns. An index entry that leads to another row is damage.
//       The callers of `rows(_:includesSecret:)` have to compare a row's columns themselves.

import FoundationEssentials
import KeychainCrypto
package import KeychainCore

package struct StoreTransaction {
    let database: DatabaseConnection
    private let probe: WriteProbe?
    package private(set) var tiers: StoreTiers
    package private(set) var header: StoreHeader
    private var isChanged = false
    /// The items whose rows were added, replaced or deleted.
    package private(set) var touched: [ItemReference] = []
    /// Those among them whose changes have to be sent if there is a circle.
    private(set) var outbound: [ItemReference] = []
    /// Whether changes from now on don't have to be sent: they come from another machine of the
    /// circle, concern only this machine, or move rows to another database.
    package var isKeptFromOutbox = false
    /// `nil` if no versions of replaced or deleted rows are kept.
    var keeping: VersionKeeping?

    init(
        _ database: DatabaseConnection, header: StoreHeader, _ tiers: StoreTiers,
        _ probe: WriteProbe?
    ) {
        self.database = database
        self.probe = probe
        self.header = header
        self.tiers = tiers
    }

    /// Adopts the keys of the guarded tier if they have become available since the transaction
    /// began.
    package mutating func take(_ now: StoreTiers) throws(KeychainFailure) {
        guard tiers.guarded == nil, now.guarded != nil else { return }
        guard header.openGuarded(now) else { throw Store.alteredHeader }
        tiers = now
    }

    /// - Throws: `interactionNotAllowed` before the first unlock, because the existing items are
    ///   not known.
    package func requireGuardedTier() throws(KeychainFailure) {
        if tiers.guarded == nil { throw .lockedBeforeFirstUnlock }
    }

    // MARK: Reading

    /// The search for a query. ``StoreTiers/indexes(for:_:)`` chooses the tiers that it covers.
    package func search(_ query: ItemQuery, visibleTo caller: AccessGroups) -> RowSearch {
        RowSearch(query, visibleTo: caller, indexes: tiers.indexes(for: query, header))
    }

    /// All rows that the search selects, in the order in which they were added.
    package func rows(
        _ search: RowSearch, includesSecret: Bool
    ) throws(KeychainFailure) -> [Store.Found] {
        let (sql, arguments) = search.statement(
            includesSecret: includesSecret, limit: nil, isOrdered: true)
        var found: [Store.Found] = []
        try Store.visit(database, sql, arguments, includesSecret: includesSecret) { row in
            found.append(row)
            return true
        }
        return found
    }

    /// The row whose primary key has the given labels.
    package func row(under labels: RowLabels) throws(KeychainFailure) -> SealedRow? {
        try row(Self.rowOfKeySQL, [labels.first, labels.second, labels.rest]) {
            [$0.labels.first, $0.labels.second, $0.labels.rest]
        }
    }

    private static let rowOfKeySQL =
        SearchStatement.select(includesSecret: false, index: "items_key")
        + " WHERE entry.k1 = ? AND entry.k2 = ? AND entry.k3 = ?"

    /// The row with the given reference.
    package func row(withReference reference: ItemReference) throws(KeychainFailure) -> SealedRow? {
        try row(Self.rowOfReferenceSQL, [reference.value]) { [$0.reference.value] }
    }

    private static let rowOfReferenceSQL =
        SearchStatement.select(includesSecret: false, index: "items_uuid") + " WHERE entry.uuid = ?"

    /// The one row that a unique index leads to. Its own columns must equal the values looked for.
    private func row(
        _ sql: String, _ wanted: [Bytes16], _ own: (SealedRow) -> [Bytes16]
    ) throws(KeychainFailure) -> SealedRow? {
        var found: SealedRow?
        try Store.visit(database, sql, wanted, includesSecret: false) {
            candidate throws(KeychainFailure) in
            guard case .row(let row) = candidate else {
                throw .damagedStore("a row has columns of the wrong kind")
            }
            guard own(row) == wanted else { throw .misleadingIndex }
            found = row
            return false
        }
        return found
    }

    /// All rows of a protection class, without those whose columns have the wrong types. This
    /// examines each row of `items`.
    package func rows(of protection: ProtectionClass) throws(KeychainFailure) -> [SealedRow] {
        var rows: [SealedRow] = []
        try Store.visit(
            database,
            SearchStatement.select(includesSecret: false, index: nil)
                + " WHERE +items.protection = \(protection.rawValue)", [], includesSecret: false
        ) { found in
            if case .row(let row) = found { rows.append(row) }
            return true
        }
        return rows
    }

    // MARK: Changing

    /// Adds a row whose primary key is free. With `keepingID`, the row keeps its `id` if that `id`
    /// is positive and free.
    package mutating func insert(
        _ row: SealedRow, keepingID: Bool = false
    ) throws(KeychainFailure) {
        let id = keepingID ? try freeID(row.id) : .null
        try execute(
            "INSERT INTO items(id, \(StoreSchema.rowColumns), secret) "
                + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [id] + row.columnValues)
        try insertTerms(of: row, id: database.lastInsertedRowID)
        try count(row)
        noteTouched(row)
    }

    /// Replaces `old` by `row`, with the id and reference of `old`. Without `replacesSecret`, the
    /// stored secret stays and `row.secret` is ignored.
    package mutating func replace(
        _ old: SealedRow, with row: SealedRow, replacesSecret: Bool
    ) throws(KeychainFailure) {
        try keepVersion(old, .replaced)
        // If the UPDATE statement names a column, SQLite writes a page of each index on that
        // column, even if the value stays the same.
        var columns = "meta = ?"
        var values: [StatementValue] = [.blob(row.metadata)]
        func set(_ column: String, _ value: StatementValue) {
            columns += ", \(column) = ?"
            values.append(value)
        }
        let (labels, oldLabels) = (row.labels, old.labels)
        if row.protection != old.protection { set("protection", .integer(Int64(row.protection))) }
        if labels.group != oldLabels.group { set("grp", .label(labels.group)) }
        if labels.first != oldLabels.first { set("k1", .label(labels.first)) }
        if labels.second != oldLabels.second { set("k2", .label(labels.second)) }
        if labels.rest != oldLabels.rest { set("k3", .label(labels.rest)) }
        if labels.terms != oldLabels.terms { set("terms", row.termValue) }
        if replacesSecret { set("secret", row.secretValue) }
        try execute("UPDATE items SET \(columns) WHERE id = ?", values + [.integer(old.id)])
        if labels.terms != oldLabels.terms {
            try deleteTerms(oldLabels.terms, id: old.id)
            try insertTerms(of: row, id: old.id)
        }
        try uncount(old)
        try count(row)
        noteTouched(row)
    }

    /// Deletes a row. If `isOfItem` is `false`, no version is kept.
    package mutating func delete(
        _ row: SealedRow, isOfItem: Bool = true
    ) throws(KeychainFailure) {
        if isOfItem { try keepVersion(row, .deleted) }
        try execute("DELETE FROM items WHERE id = ?", [.integer(row.id)])
        guard database.changedRowCount == 1 else { throw .misleadingIndex }
        try deleteTerms(row.labels.terms, id: row.id)
        try uncount(row)
        noteTouched(row)
    }

    private mutating func noteTouched(_ row: SealedRow) {
        touched.append(row.reference)
        if !isKeptFromOutbox { outbound.append(row.reference) }
        isChanged = true
    }

    private mutating func count(_ row: SealedRow) throws(KeychainFailure) {
        let contribution = row.contribution(try tiers.keys(of: row.tier).authenticator)
        try header.change(row.tier) { count, digest in
            count += 1
            digest = digest + contribution
        }
    }

    private mutating func uncount(_ row: SealedRow) throws(KeychainFailure) {
        let contribution = row.contribution(try tiers.keys(of: row.tier).authenticator)
        try header.change(row.tier) { count, digest in
            count -= min(count, 1)
            digest = digest - contribution
        }
    }

    /// Moves a damaged row with all its bytes, but not its id, to `set_aside`. `moment` is the
    /// current time, in seconds since 2001-01-01.
    package mutating func setAside(
        _ row: SealedRow, reason: SetAsideReason, at moment: Double
    ) throws(KeychainFailure) {
        try addSetAside(try withSecret(row), reason: reason.rawValue, at: moment)
        try delete(row, isOfItem: false)
        // `delete` removes only the index entries for the terms in the row, which may be damaged. A
        // remaining entry would lead to no row, or to the next row with this id. This statement
        // scans the whole index, once for each damaged row.
        try execute("DELETE FROM terms WHERE item = ?", [.integer(row.id)])
        // The row's contribution and tier can't be determined from its damaged bytes.
        try recountRows()
    }

    /// The row as it is in the database, with its secret.
    package func withSecret(_ row: SealedRow) throws(KeychainFailure) -> SealedRow {
        var whole: SealedRow?
        try Store.visit(
            database,
            SearchStatement.select(includesSecret: true, index: nil)
                + " WHERE items.id = \(row.id)", [], includesSecret: true
        ) { found in
            if case .row(let row) = found { whole = row }
            return false
        }
        guard let whole else { throw .misleadingIndex }
        return whole
    }

    /// Adds a row to those set aside, with a reason and a moment. If `isVouchedFor` is `false`, it
    /// is stored without a tag, because nothing authenticates the reason and the moment.
    package mutating func addSetAside(
        _ row: SealedRow, reason: Int64, at moment: Double, isVouchedFor: Bool = true
    ) throws(KeychainFailure) {
        let tag =
            isVouchedFor
            ? row.asideTag(reason: reason, at: moment, tiers.open.authenticator) : []
        try execute(
            "INSERT INTO set_aside(at, reason, tag, \(StoreSchema.rowColumns), secret) "
                + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [.real(moment), .integer(reason), .blob(Data(tag))] + row.columnValues)
        header.setAsideCount += 1
        isChanged = true
    }

    private mutating func recountRows() throws(KeychainFailure) {
        var digests = TierDigests()
        var counts: [Tier: UInt64] = [:]
        try Store.visit(
            database, SearchStatement.select(includesSecret: false, index: nil), [],
            includesSecret: false
        ) { found in
            // A malformed row is counted in the guarded tier, which has most of the rows.
            guard case .row(let row) = found else {
                counts[.guarded, default: 0] += 1
                return true
            }
            digests = digests + tiers.contribution(of: row)
            counts[row.tier, default: 0] += 1
            return true
        }
        for tier in Tier.allCases where header.digest(of: tier) != nil {
            try header.change(tier) { count, digest in
                (count, digest) = (counts[tier] ?? 0, digests[tier])
            }
        }
    }

    package mutating func setKeybag(_ bytes: [UInt8], generation: UInt64) throws(KeychainFailure) {
        try execute("UPDATE keybag SET body = ? WHERE id = 1", [.blob(Data(bytes))])
        header.keybagGeneration = generation
        isChanged = true
    }

    /// Makes ``finish()`` write a new header, even if no row has changed.
    package mutating func noteChange() { isChanged = true }

    /// Records that an application gets a Secure Enclave blob protected by the key of a class.
    package mutating func noteBlob(of protection: ProtectionClass) throws(KeychainFailure) {
        let classes = try StoreSchema.blobClasses(in: database)
        guard !classes.contains(protection) else { return }
        try StoreSchema.setBlobClasses(classes.union([protection]), in: database)
        isChanged = true
    }

    /// Marks the database as replaced by `successor`. The commit contains nothing else.
    package func supersede(by successor: String) throws(KeychainFailure) {
        try StoreSchema.supersede(database, by: successor)
    }

    // MARK: Set-aside rows

    package mutating func removeSetAside(_ row: SetAsideRow) throws(KeychainFailure) {
        try execute("DELETE FROM set_aside WHERE id = ?", [.integer(row.row.id)])
        header.setAsideCount -= min(header.setAsideCount, 1)
        isChanged = true
    }

    // MARK: Sharing

    /// Carries out a queued write in this transaction, which other writes share, unless the write
    /// uses the keys of another keybag. If the write fails, it has no effect, and its `failure` is
    /// set.
    ///
    /// - Throws: An error that ends the whole transaction.
    mutating func attempt(_ write: QueuedWrite) throws(KeychainFailure) {
        guard header.keybagGeneration == write.keybagGeneration else { return }
        keeping = nil
        isKeptFromOutbox = false
        let before = self
        try execute("SAVEPOINT shared")
        do {
            try write.take()?(&self)
        } catch {
            // After some failures, such as a full disk, SQLite itself rolls back the whole
            // transaction.
            guard database.isInsideTransaction else { throw error }
            write.failure = error
            self = before
            try execute("ROLLBACK TO shared")
        }
        try execute("RELEASE shared")
    }

    // MARK: Ending

    /// Writes the header if a change was noted.
    /// - Returns: The new header and its bytes; `nil` if it stays the same.
    mutating func finish() throws(KeychainFailure) -> (bytes: [UInt8], header: StoreHeader)? {
        guard isChanged else { return nil }
        try fillOutbox()
        header.generation &+= 1
        header.renewMask()
        let bytes = header.seal(with: tiers)
        try execute("UPDATE header SET body = ? WHERE id = 1", [.blob(Data(bytes))])
        return (bytes, header)
    }

    /// The id, if it is valid and no row has it; otherwise NULL, which makes SQLite assign a new
    /// one.
    private func freeID(_ id: Int64) throws(KeychainFailure) -> StatementValue {
        let taken = try database.integer("SELECT id FROM items WHERE id = ?", [.integer(id)])
        return id > 0 && taken == nil ? .integer(id) : .null
    }

    private func insertTerms(of row: SealedRow, id: Int64) throws(KeychainFailure) {
        for term in row.labels.terms {
            // Two attributes can't have the same label, but the index may still contain old entries
            // of a restored row.
            try execute(
                "INSERT OR IGNORE INTO terms(term, item) VALUES (?, ?)",
                [.label(term), .integer(id)])
        }
    }

    private func deleteTerms(_ terms: [Label], id: Int64) throws(KeychainFailure) {
        for term in terms {
            try execute(
                "DELETE FROM terms WHERE term = ? AND item = ?", [.label(term), .integer(id)])
        }
    }

    /// Informs a test that an addition found an existing item and becomes an update.
    package func noteExistingItem() throws(KeychainFailure) {
        try probe?.reach(.foundExisting)
    }

    func execute(
        _ sql: String, _ values: [StatementValue] = []
    ) throws(KeychainFailure) {
        try database.run(sql, values)
        try probe?.reach(.tookStep)
    }
}

/// A row that was set aside.
package struct SetAsideRow: Sendable {
    package let row: SealedRow
    /// The time at which it was set aside, in seconds since 2001-01-01.
    package let moment: Double
    /// `nil` if this version doesn't know the reason.
    package var reason: SetAsideReason? { SetAsideReason(rawValue: number) }
    package var reasonText: String { reason?.text ?? "reason \(number), of a later version" }
    package let number: Int64
    /// Whether its tag is valid: a process with the keychain's keys recorded that it was set aside
    /// at this moment and for this reason.
    package let isAuthentic: Bool
    /// Whether it has a tag. A row without one is not authenticated, which is not damage.
    let hasTag: Bool

    /// Reads the columns of a row with its secret, then `at`, `reason` and `tag`.
    init?(_ cursor: borrowing RowCursor, _ authenticator: StoreAuthenticator) {
        guard let sealed = try? SealedRow(cursor, includesSecret: true),
            let moment = cursor.real(10), let reason = cursor.integer(11)
        else { return nil }
        row = sealed
        self.moment = moment
        number = reason
        let found = cursor.data(12).map { Array($0) }
        hasTag = found != []
        isAuthentic = found == sealed.asideTag(reason: reason, at: moment, authenticator)
    }

    /// Reads the columns of a row with its secret, then `at` and `reason`, from a database of
    /// version 1, which has no tags and stores reasons as texts.
    init?(version1 cursor: borrowing RowCursor) {
        guard let sealed = try? SealedRow(cursor, includesSecret: true),
            let moment = cursor.real(10), let reason = cursor.text(11)
        else { return nil }
        row = sealed
        self.moment = moment
        number = SetAsideReason.number(ofVersion1: reason)
        hasTag = false
        isAuthentic = false
    }
}
