// Verification: checks whether a database is in the state of its last commit. Pages of an earlier
// commit have valid tags, too. Only a check of the whole database shows that they are out of date.
//   (1) Everything is read from the files, by a connection whose page cache is empty.
//   (2) The check has several parts, each in a transaction of its own, so that the log can be
//       checkpointed in between. Each part that compares rows with the header reads both in the
//       same transaction. The structure is checked first: a commit to a broken structure could
//       overwrite rows. A commit to a sound structure doesn't invalidate the results of earlier
//       parts.
//   (3) No row is decrypted, so only the store's keys are needed. The attributes and the secret of
//       an item are not checked: tags in the item's row protect them. Before the first unlock, the
//       digest of the guarded tier isn't checked either, and the freshness note doesn't record the
//       result.
//   (4) After a part has found a problem, the next parts are still carried out as far as possible,
//       because reading is what finds damaged pages.

package import KeychainCore
import KeychainCrypto
import Synchronization

/// The findings of a verification.
package struct Verification: Sendable {
    /// A description of the first problem; `nil` if there is none.
    package fileprivate(set) var problem: String?
    /// A problem with a row that is set aside. With such a problem, the database doesn't count as
    /// verified. The problem isn't recorded as damage, because a set-aside row that isn't authentic
    /// is restored only if the caller names it.
    package fileprivate(set) var setAsideProblem: String?
    /// `false` if `visit` ended the verification.
    package fileprivate(set) var isComplete = true
}

extension Store {
    /// Verifies the database, and visits the rows in the order in which they were added. If the
    /// keybag doesn't match them, or if they can't be read, not all of them are visited.
    ///
    /// - Parameters:
    ///   - includesSecrets: Pass `true` to read the rows with their secrets.
    ///   - visit: Called for each row with the row, the number of rows before it, and the expected
    ///     total number. Return `false` to end the verification.
    /// - Returns: The findings. Damaged pages are recorded in the registry of damage.
    /// - Throws: Errors in reading, if no problem was found before.
    package func verify(
        includesSecrets: Bool = false, _ visit: (Found, Int, Int) -> Bool = { _, _, _ in true }
    ) throws(KeychainFailure) -> Verification {
        try connections.run(isNew: true) { database throws(KeychainFailure) in
            var found = Verification()
            func look(
                _ find: (DatabaseConnection) throws(KeychainFailure) -> String?
            ) throws(KeychainFailure) {
                guard found.isComplete else { return }
                do throws(KeychainFailure) {
                    try database.begin(.reading)
                    let problem = try find(database)
                    try database.commit()
                    found.problem = found.problem ?? problem
                } catch {
                    database.rollBack()
                    if found.problem == nil { throw error }
                }
            }
            try look { database throws(KeychainFailure) in
                try structureProblem(in: database)
            }
            try look { database throws(KeychainFailure) in
                try rowProblem(
                    in: database, includesSecrets: includesSecrets,
                    isComplete: &found.isComplete, visit)
            }
            try look { database throws(KeychainFailure) in try termProblem(in: database) }
            try look { database throws(KeychainFailure) in
                try setAsideProblem(in: database, &found.setAsideProblem)
            }
            return found
        }
    }

    /// A description of a problem with the rows alone; `nil` if there is none.
    func rowProblem() throws(KeychainFailure) -> String? {
        try connections.run(.reading, isNew: true) { database throws(KeychainFailure) in
            var isComplete = true
            return try rowProblem(in: database, includesSecrets: false, isComplete: &isComplete) {
                _, _, _ in true
            }
        }
    }

    // MARK: Parts

    private func structureProblem(
        in database: DatabaseConnection
    ) throws(KeychainFailure) -> String? {
        if !isVersion1, let problem = try StoreSchema.difference(from: database, damage) {
            return problem
        }
        // This checks the pages of all tables and indexes, and the list of the free pages. It also
        // checks that each row has its index entries and each index entry has its row.
        let rows = try database.rows("PRAGMA integrity_check(8)")
        var answer: String?
        while try rows.next() { answer = answer ?? rows.text(0) }
        // SQLite's messages contain names from the schema, and numbers of pages and rows, but no
        // values.
        return answer == "ok"
            ? nil : "the database's tables and indexes are inconsistent (\(answer ?? "no answer"))"
    }

    private func rowProblem(
        in database: DatabaseConnection, includesSecrets: Bool, isComplete: inout Bool,
        _ visit: (Found, Int, Int) -> Bool
    ) throws(KeychainFailure) -> String? {
        let tiers = tiers
        let header = try header(in: database, tiers)
        if let keybag = try StoreFile.body("keybag", in: database).flatMap({ try? Keybag.parse($0) }
        ),
            keybag.generation != header.keybagGeneration
        {
            return "the keybag doesn't match the database's items"
        }
        let total = Int(clamping: header.itemCount)
        var digests = TierDigests()
        var openCount: UInt64 = 0
        var position = 0
        isComplete = true
        try Self.visit(
            database,
            SearchStatement.select(includesSecret: includesSecrets, index: nil)
                + " ORDER BY items.id", [], includesSecret: includesSecrets
        ) { found in
            isComplete = visit(found, position, total)
            guard isComplete else { return false }
            position += 1
            if case .row(let row) = found {
                digests = digests + tiers.contribution(of: row)
                if tiers.tier(of: row) == .open { openCount += 1 }
            }
            return true
        }
        guard isComplete else { return nil }
        guard position == total else {
            return "the database's number of items is \(position) and should be \(total)"
        }
        guard openCount == header.count(of: .open) else {
            return "the database's number of always-readable items is \(openCount) and should be "
                + "\(header.count(of: .open))"
        }
        return header.vouches(for: digests)
            ? nil : "the database's rows don't match its header"
    }

    /// Checks that each term of each row has its entry in the index, and that there are no other
    /// entries.
    private func termProblem(in database: DatabaseConnection) throws(KeychainFailure) -> String? {
        var expected = 0
        let rows = try database.rows("SELECT id, terms FROM items WHERE length(terms) > 0")
        while try rows.next() {
            // A row with malformed terms is missing from the digests, so `rowProblem` finds it once
            // the keys of its tier are available. Entries that it has in the index count as entries
            // without an item.
            guard let id = rows.integer(0), let terms = rows.list16(1) else { continue }
            for term in terms {
                expected += 1
                let found = try database.integer(
                    "SELECT count(*) FROM terms WHERE term = ? AND item = ?",
                    [.label(term), .integer(id)])
                if found != 1 { return "the database's attribute index lacks an entry" }
            }
        }
        let actual = try database.integer("SELECT count(*) FROM terms") ?? -1
        return actual == expected
            ? nil : "the database's attribute index has entries without an item"
    }

    private func setAsideProblem(
        in database: DatabaseConnection, _ problem: inout String?
    ) throws(KeychainFailure) -> String? {
        let tiers = tiers
        let expected = try header(in: database, tiers).setAsideCount
        let count = try database.integer("SELECT count(*) FROM set_aside") ?? -1
        guard count >= 0, UInt64(count) == expected else {
            return "the database's number of rows set aside is \(count) and should be \(expected)"
        }
        guard !isVersion1, count > 0 else { return nil }
        let rows = try Self.setAsideRows(in: database, tiers.open.authenticator)
        if rows.count < count || rows.contains(where: { $0.hasTag && !$0.isAuthentic }) {
            problem = "a row that is set aside has been altered"
        }
        return nil
    }

    private var isVersion1: Bool { file.version == 1 }
}

// MARK: - Recorded results

extension Store {
    /// Verifies the database like ``verify(includesSecrets:_:)``, and records the result unless the
    /// database is in memory. After a problem was recorded, all writes of this process fail, and so
    /// do its searches that find nothing, until the keychain is opened again.
    package func verify(
        notingAt now: () -> Double, includesSecrets: Bool = false,
        _ visit: (Found, Int, Int) -> Bool = { _, _, _ in true }
    ) throws(KeychainFailure) -> Verification {
        guard let freshness else { return try verify(includesSecrets: includesSecrets, visit) }
        verificationCount.add(1, ordering: .relaxed)
        defer { verificationCount.subtract(1, ordering: .relaxed) }
        let header = try header()
        let number =
            header.isGuardedOpened ? freshness.begin(generation: header.generation, at: now()) : nil
        let found: Verification
        do {
            found = try verify(includesSecrets: includesSecrets, visit)
        } catch {
            if error.cause == .damage {
                damage.record(problem: "the database can't be read completely")
                if let number { freshness.end(number, isSound: false, at: now()) }
            }
            throw error
        }
        if let problem = found.problem { damage.record(problem: problem) }
        if let number, found.isComplete {
            let isSound = damage.isEmpty && found.setAsideProblem == nil
            freshness.end(number, isSound: isSound, at: now())
        }
        return found
    }

    /// Whether all keys needed to verify the whole database are available.
    package var canBeVerified: Bool { tiers.guarded != nil }

    package var isBeingVerified: Bool { verificationCount.load(ordering: .relaxed) > 0 }

    /// A description of damage that this process has found; `nil` if there is none.
    package var knownDamage: String? {
        if damage.isEmpty { return nil }
        return damage.problem
            ?? damage.damagedPages.first.map { "page \($0) is damaged" }
            ?? "the database's log is damaged"
    }

    package var damagedPages: [UInt32] { damage.damagedPages }
}
