// StoreTransaction: the changes that one commit can hold.
//   (1) Each keeps rows, terms, header count and header digest in step.
//   (2) Nothing is visible to others before the transaction ends, and nothing stays if it fails.
//   (3) A row that is given under labels or a reference has them in its own columns. An index entry
//       that leads to another row is damage.

import FoundationEssentials
import GRDB
import KeychainCrypto
package import KeychainModel

package struct StoreTransaction {
    private let database: Database
    private let authenticator: StoreAuthenticator
    private let probe: WriteProbe?
    package private(set) var header: StoreHeader
    private var isChanged = false

    init(
        _ database: Database, header: StoreHeader, _ authenticator: StoreAuthenticator,
        _ probe: WriteProbe?
    ) {
        self.database = database
        self.probe = probe
        self.header = header
        self.authenticator = authenticator
    }

    // MARK: Reading

    /// All rows that labels select, in the order of addition.
    package func rows(
        _ search: RowSearch, includesSecret: Bool
    ) throws(KeychainFailure) -> [Store.Found] {
        let (sql, arguments) = search.statement(
            includesSecret: includesSecret, limit: nil, isOrdered: true)
        var found: [Store.Found] = []
        try run {
            try Store.visit(
                database, sql, arguments, includesSecret: includesSecret
            ) { row in
                found.append(row)
                return true
            }
        }
        return found
    }

    /// The row under a primary key.
    package func row(under labels: RowLabels) throws(KeychainFailure) -> SealedRow? {
        try row(
            from: "items_key", where: "entry.k1 = ? AND entry.k2 = ? AND entry.k3 = ?",
            [labels.first, labels.second, labels.rest]
        ) { [$0.labels.first, $0.labels.second, $0.labels.rest] }
    }

    /// The row of a reference.
    package func row(withReference reference: ItemReference) throws(KeychainFailure) -> SealedRow? {
        try row(from: "items_uuid", where: "entry.uuid = ?", [reference.value]) {
            [$0.reference.value]
        }
    }

    /// The one row that a unique index leads to; its own columns must be what was looked for.
    private func row(
        from index: String, where condition: String, _ wanted: [Bytes16],
        _ own: (SealedRow) -> [Bytes16]
    ) throws(KeychainFailure) -> SealedRow? {
        var found: SealedRow?
        try run {
            try Store.visit(
                database,
                RowSearch.select(includesSecret: false, index: index) + " WHERE " + condition,
                wanted, includesSecret: false
            ) { candidate throws(KeychainFailure) in
                guard case .row(let row) = candidate else {
                    throw .damagedStore("a row has columns of the wrong kind")
                }
                guard own(row) == wanted else { throw .misleadingIndex }
                found = row
                return false
            }
        }
        return found
    }

    /// All rows of a protection class. Each row of the database is looked at.
    package func rows(of protection: ProtectionClass) throws(KeychainFailure) -> [SealedRow] {
        var rows: [SealedRow] = []
        try run {
            try Store.visit(
                database,
                RowSearch.select(includesSecret: false, index: nil)
                    + " WHERE +items.protection = \(protection.rawValue)", [],
                includesSecret: false
            ) { found in
                if case .row(let row) = found { rows.append(row) }
                return true
            }
        }
        return rows
    }

    // MARK: Changing

    /// Adds a row, whose primary key is free; with `keepingID` under its own `id`, where that is
    /// free too.
    package mutating func insert(
        _ row: SealedRow, keepingID: Bool = false
    ) throws(KeychainFailure) {
        try run {
            let id = keepingID ? try freeID(row.id) : nil
            try execute(
                "INSERT INTO items(id, \(StoreSchema.rowColumns), secret) "
                    + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [id] + row.columnValues)
            try insertTerms(of: row, id: database.lastInsertedRowID)
        }
        header.itemCount += 1
        header.digest = header.digest + row.contribution(authenticator)
        isChanged = true
    }

    /// Puts a row in the place of `old`, whose id and reference it takes over. Without
    /// `replacesSecret` the stored secret stays and `row.secret` isn't looked at.
    package mutating func replace(
        _ old: SealedRow, with row: SealedRow, replacesSecret: Bool
    ) throws(KeychainFailure) {
        try run {
            // A column that is named costs a page of each index over it, changed or not.
            var columns = "meta = ?"
            var values: [(any DatabaseValueConvertible)?] = [row.metadata]
            func set(_ column: String, _ value: (any DatabaseValueConvertible)?) {
                columns += ", \(column) = ?"
                values.append(value)
            }
            if row.protection != old.protection { set("protection", Int64(row.protection)) }
            if row.labels.group != old.labels.group { set("grp", Data(row.labels.group.bytes)) }
            if row.labels.first != old.labels.first { set("k1", Data(row.labels.first.bytes)) }
            if row.labels.second != old.labels.second { set("k2", Data(row.labels.second.bytes)) }
            if row.labels.rest != old.labels.rest { set("k3", Data(row.labels.rest.bytes)) }
            if row.labels.terms != old.labels.terms { set("terms", row.termBytes) }
            if replacesSecret { set("secret", row.secret) }
            try execute("UPDATE items SET \(columns) WHERE id = ?", values + [old.id])
            if old.labels.terms != row.labels.terms {
                try deleteTerms(old.labels.terms, id: old.id)
                try insertTerms(of: row, id: old.id)
            }
        }
        header.digest =
            header.digest - old.contribution(authenticator) + row.contribution(authenticator)
        isChanged = true
    }

    package mutating func delete(_ row: SealedRow) throws(KeychainFailure) {
        try run {
            try execute("DELETE FROM items WHERE id = ?", [row.id])
            guard database.changesCount == 1 else { throw KeychainFailure.misleadingIndex }
            try deleteTerms(row.labels.terms, id: row.id)
        }
        header.itemCount -= min(header.itemCount, 1)
        header.digest = header.digest - row.contribution(authenticator)
        isChanged = true
    }

    /// Moves a damaged row out of the way, with all its bytes. `moment` is now, in seconds since
    /// 2001-01-01.
    package mutating func setAside(
        _ row: SealedRow, reason: SetAsideReason, at moment: Double
    ) throws(KeychainFailure) {
        try run {
            try execute(
                "INSERT INTO set_aside(at, reason, \(StoreSchema.rowColumns), secret) "
                    + "SELECT ?, ?, \(StoreSchema.rowColumns), secret FROM items WHERE id = ?",
                [moment, reason.rawValue, row.id])
        }
        try delete(row)
        // What the row itself says of its terms may be what is damaged. An entry that stayed would
        // lead to nothing, or to the next row with the id. Every entry is looked at, once a damage.
        try run { try execute("DELETE FROM terms WHERE item = ?", [row.id]) }
        header.setAsideCount += 1
        // What the row contributed can't be told from its damaged bytes.
        try recomputeDigest()
    }

    /// Keeps a row that was found elsewhere among those that are set aside, with the reason and the
    /// moment that stood there.
    package mutating func addSetAside(
        _ row: SealedRow, reason: String, at moment: Double
    ) throws(KeychainFailure) {
        try run {
            try execute(
                "INSERT INTO set_aside(at, reason, \(StoreSchema.rowColumns), secret) "
                    + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [moment, reason] + row.columnValues)
        }
        header.setAsideCount += 1
        isChanged = true
    }

    private mutating func recomputeDigest() throws(KeychainFailure) {
        var digest = StoreDigest.zero
        try run {
            try Store.visit(
                database, RowSearch.select(includesSecret: false, index: nil), [],
                includesSecret: false
            ) { found in
                if case .row(let row) = found { digest = digest + row.contribution(authenticator) }
                return true
            }
        }
        header.digest = digest
    }

    package mutating func setKeybag(_ bytes: [UInt8], generation: UInt64) throws(KeychainFailure) {
        try run { try execute("UPDATE keybag SET body = ? WHERE id = 1", [Data(bytes)]) }
        header.keybagGeneration = generation
        isChanged = true
    }

    // MARK: Set-aside rows

    package mutating func removeSetAside(_ row: SetAsideRow) throws(KeychainFailure) {
        try run { try execute("DELETE FROM set_aside WHERE id = ?", [row.row.id]) }
        header.setAsideCount -= min(header.setAsideCount, 1)
        isChanged = true
    }

    // MARK: Sharing

    /// Carries out a write behind others. When it fails, it has changed nothing, and it knows why.
    ///
    /// - Throws: What has ended the transaction as a whole.
    mutating func attempt(_ write: QueuedWrite) throws {
        guard header.keybagGeneration == write.keybagGeneration else { return }
        let before = self
        try execute("SAVEPOINT shared", [])
        do {
            try write.take()?(&self)
        } catch {
            // SQLite itself rolls everything back after some failures, such as a full disk.
            guard database.isInsideTransaction else { throw error }
            write.failure = error
            self = before
            try execute("ROLLBACK TO shared", [])
        }
        try execute("RELEASE shared", [])
    }

    // MARK: Ending

    /// Writes the header if anything changed.
    /// - Returns: The new generation, or nil.
    mutating func finish() throws -> UInt64? {
        guard isChanged else { return nil }
        header.generation &+= 1
        header.renewMask()
        try execute(
            "UPDATE header SET body = ? WHERE id = 1",
            [Data(header.encoded(with: authenticator))])
        return header.generation
    }

    /// The id, if it is one and no row has it; else nil, which makes a new one.
    private func freeID(_ id: Int64) throws -> Int64? {
        let taken = try Int64.fetchOne(
            database, sql: "SELECT id FROM items WHERE id = ?", arguments: [id])
        return id > 0 && taken == nil ? id : nil
    }

    private func insertTerms(of row: SealedRow, id: Int64) throws {
        for term in row.labels.terms {
            // Two attributes can't share a label, but a row may be put back over what is left of it.
            try execute(
                "INSERT OR IGNORE INTO terms(term, item) VALUES (?, ?)", [Data(term.bytes), id])
        }
    }

    private func deleteTerms(_ terms: [Label], id: Int64) throws {
        for term in terms {
            try execute("DELETE FROM terms WHERE term = ? AND item = ?", [Data(term.bytes), id])
        }
    }

    /// Tells a test that an addition found its item there and becomes a change of it.
    package func noteExistingItem() throws(KeychainFailure) {
        try probe?.reach(.foundExisting)
    }

    private func execute(_ sql: String, _ values: [(any DatabaseValueConvertible)?]) throws {
        try database.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
        try probe?.reach(.tookStep)
    }

    private func run<Result>(_ body: () throws -> Result) throws(KeychainFailure) -> Result {
        do {
            return try body()
        } catch {
            throw StoreFailure.failure(from: error, systemError: database.systemError)
        }
    }
}

/// A damaged row that was moved out of the way.
package struct SetAsideRow: Sendable {
    package let row: SealedRow
    /// Seconds since 2001-01-01.
    package let moment: Double
    package let reason: String

    /// Reads the columns of a row with its secret, then at and reason.
    init?(_ cursor: borrowing RowCursor) {
        guard let sealed = try? SealedRow(cursor, includesSecret: true),
            let moment = cursor.real(10), let reason = cursor.text(11)
        else { return nil }
        row = sealed
        self.moment = moment
        self.reason = reason
    }
}
