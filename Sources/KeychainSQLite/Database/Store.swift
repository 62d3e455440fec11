// Store: an opened database with the keys for its header and for the labels of its rows.
//   (1) Every commit that changes the header increments its generation and is then recorded in the
//       anchor. The commit that marks the database as replaced doesn't change the header.
//   (2) When the database is opened, a header whose generation is lower than the one in the anchor,
//       or than the one in the freshness note, is refused, because commits are missing.
//   (3) Subscribers are notified of a commit of this process after it is recorded in the anchor.
//   (4) A miss (a search that finds nothing) may be trusted only after `requireSound()`. Every
//       commit begins with `requireSound()`, too. This check succeeds if no damage was found, or if
//       a verification of the whole database found no problem after the last damage was found. It
//       always fails while the log is damaged.
//   (5) A row of `items` from a damaged page may be returned only after `requireSoundRows()`, which
//       verifies that all rows match the header: an earlier version of the row has valid tags, too.

import FoundationEssentials
package import KeychainCrypto
package import KeychainCore
import Synchronization

package final class Store: Sendable {
    package let file: StoreFile
    package let keychainID: [UInt8]
    /// The keys of the open tier are always present; those of the guarded tier from the first
    /// unlock until ``setGuarded(_:)`` erases them.
    private let keys: Mutex<StoreTiers>
    /// The last header that was verified or written, so that an unchanged header isn't verified
    /// again.
    private let verified = Mutex<(bytes: [UInt8], header: StoreHeader)?>(nil)
    /// `nil` for a database in memory, which has no folder for the anchor.
    package let anchor: Anchor?
    /// `nil` if there are no files that another program could change.
    package let freshness: FreshnessNote?
    package let commits: CommitFeed
    let damage: PageDamage
    let queue = CommitQueue()
    /// How long a call waits for other processes. For a write, this includes the time in this
    /// process's queue.
    @TaskLocal package static var longestWait: Duration = .seconds(30)
    let verificationCount = Atomic<Int>(0)
    /// The `recordingCount` of the damage registry at the time when the whole database (`examined`)
    /// or all rows (`confirmed`) were last found to be in the state of the last commit.
    private let examined = Mutex<UInt64>(0)
    private let confirmed = Mutex<UInt64>(0)

    package var folder: StoreFolder? { file.folder }
    var connections: Connections { file.connections }

    /// - Throws: `notAvailable` if the header is altered, belongs to another keychain, or is older
    ///   than the anchor or the freshness note, or if the log is damaged;
    ///   ``KeychainFailure/superseded`` if another database has replaced this one.
    package init(
        _ file: StoreFile, keychainID: [UInt8], tiers: StoreTiers,
        noteIn place: FreshnessNote.Place = .process, tellingOf commits: CommitFeed? = nil
    ) throws(KeychainFailure) {
        self.file = file
        self.keychainID = keychainID
        keys = Mutex(tiers)
        self.commits = commits ?? CommitFeed(folder: file.folder)
        if let folder = file.folder {
            anchor = Anchor(folder: folder, authenticator: tiers.open.authenticator)
            damage = file.connections.damage
            freshness = FreshnessNote(
                ofDatabaseAt: damage.path, keychainID: keychainID, tiers.open.authenticator,
                in: place)
        } else {
            anchor = nil
            damage = PageDamage.none
            freshness = nil
        }
        // The anchor and the freshness note are read before the header, so that a commit between
        // the reads makes the header newer than they are, never older.
        let noted = anchor?.read() ?? .absent
        let last = freshness?.lastGeneration ?? 0
        let header = try self.header()
        // The log is checked after reading the header, which may have made SQLite recover the log.
        if damage.takeAdoptedLog() { freshness?.doubt() }
        if file.folder?.exists(.damagedLog) == true { damage.recordLostCommits() }
        if damage.hasDamagedLog { throw Self.damagedLog }
        guard header.keychainID == keychainID else {
            throw .damagedStore("the database and the keybag belong to different keychains")
        }
        switch noted {
        case .absent: try requireCommits(upTo: last, in: header)
        case .unreadable:
            // The anchor can't be read, or neither of its records is valid, so it doesn't reveal
            // whether commits are missing. The next commit writes a new record.
            try requireCommits(upTo: last, in: header)
        case .generation(let noted): try requireCommits(upTo: max(last, noted), in: header)
        }
        self.commits.read { [weak self] in try? self?.header().generation }
    }

    private func requireCommits(
        upTo last: UInt64, in header: StoreHeader
    ) throws(KeychainFailure) {
        guard header.generation < last else { return }
        // An unfinished rotation replaced this database, but the mark that says so was damaged, or
        // an older copy of this database was put back.
        if Epoch.isEnd(last), let folder, folder.isStaged(folder.number + 1) { throw .superseded }
        // Recording the lost commits keeps the log, whose damaged commits a recovery can still
        // read. Otherwise SQLite would delete the log when the last connection is closed.
        damage.recordLostCommits()
        guard !Epoch.isEnd(last) else {
            throw .damagedStore(
                "it is a copy from before the last rotation of the keys. To keep its items, "
                    + "restore the copy into an empty folder, or recover it here")
        }
        throw .damagedStore(
            "commits after number \(header.generation) of \(last) are missing. Its "
                + "log was damaged, or an older copy was put back")
    }

    // MARK: Superseding

    /// Records that another database replaces the one in a folder. The old database also has a mark
    /// that says so. This record is needed if that mark is damaged, or if an older copy of the old
    /// database is put back. `generation` is that of the old database's last commit, if known.
    package static func noteSuperseded(
        in folder: StoreFolder, generation: UInt64 = 0, keychainID: [UInt8],
        _ authenticator: StoreAuthenticator, place: FreshnessNote.Place
    ) {
        let anchor = Anchor(folder: folder, authenticator: authenticator)
        let note = FreshnessNote.ofDatabase(
            in: folder, keychainID: keychainID, authenticator, place: place)
        let noted = lastGeneration(
            in: folder, keychainID: keychainID, authenticator, place: place)
        let last = max(generation, noted ?? 0)
        let end = Epoch.isEnd(last) ? last : Epoch.end(of: last)
        anchor.note(generation: end)
        note.note(generation: end)
    }

    /// Whether the database in a folder is recorded as replaced.
    package static func isSuperseded(
        in folder: StoreFolder, keychainID: [UInt8], _ authenticator: StoreAuthenticator,
        place: FreshnessNote.Place
    ) -> Bool {
        lastGeneration(in: folder, keychainID: keychainID, authenticator, place: place)
            .map(Epoch.isEnd) ?? false
    }

    /// The generation of the last commit that is known from outside the database: from the anchor,
    /// or from the freshness note of the current boot. If the database was replaced, the end of an
    /// ``Epoch``. `nil` if neither can be read.
    package static func lastGeneration(
        in folder: StoreFolder, keychainID: [UInt8], _ authenticator: StoreAuthenticator,
        place: FreshnessNote.Place
    ) -> UInt64? {
        let note = FreshnessNote.ofDatabase(
            in: folder, keychainID: keychainID, authenticator, place: place)
        return [Anchor.last(in: folder, authenticator), note.lastGeneration]
            .compactMap(\.self).max()
    }

    // MARK: Keys

    package var tiers: StoreTiers { keys.withLock { $0 } }

    /// Sets the keys of the guarded tier; `nil` erases them.
    package func setGuarded(_ tier: StoreTier?) {
        keys.withLock { $0 = StoreTiers(open: $0.open, guarded: tier) }
        verified.withLock { $0 = nil }
    }

    // MARK: Header

    static let alteredHeader = KeychainFailure.damagedStore("the header was altered or is missing")

    /// The header of the last commit.
    package func header() throws(KeychainFailure) -> StoreHeader {
        try connections.run { database throws(KeychainFailure) in
            try header(in: database, tiers)
        }
    }

    func header(
        in database: DatabaseConnection, _ tiers: StoreTiers
    ) throws(KeychainFailure) -> StoreHeader {
        try withHeader(in: database, tiers) { $0 }
    }

    /// Reads the header. While `body` runs, every statement on the connection sees the same commit.
    private func withHeader<Result>(
        in database: DatabaseConnection, _ tiers: StoreTiers,
        _ body: (StoreHeader) throws(KeychainFailure) -> Result
    ) throws(KeychainFailure) -> Result {
        let cursor = try database.rows("SELECT body FROM header WHERE id = 1")
        guard try cursor.next() else { throw Self.alteredHeader }
        let known = verified.withLock { last -> StoreHeader? in
            guard let last, last.header.isGuardedOpened || tiers.guarded == nil,
                cursor.isBlob(0, last.bytes)
            else { return nil }
            return last.header
        }
        let result: Result
        if let known {
            result = try body(known)
        } else {
            guard let bytes = cursor.data(0).map({ Array($0) }),
                let header = StoreHeader(bytes, tiers)
            else { throw Self.alteredHeader }
            verified.withLock { $0 = (bytes, header) }
            result = try body(header)
        }
        // Until here the open cursor holds the read transaction.
        _ = consume cursor
        return result
    }

    /// Records the header of a commit of this process, which then need not be verified when it is
    /// read.
    func noteVerified(_ written: (bytes: [UInt8], header: StoreHeader)) {
        guard tiers.guarded != nil || !written.header.isGuardedOpened else { return }
        verified.withLock { $0 = written }
    }

    // MARK: Searching

    /// Call this before a search. If damage is known, this function closes the idle connections,
    /// because their caches may contain damaged pages. The search then reads a damaged page from
    /// the file again, so the damage is counted.
    func closeIfDamaged() {
        if !damage.isEmpty { connections.close() }
    }

    /// A row found by a search.
    package enum Found {
        case row(SealedRow)
        /// A row whose columns have the wrong types.
        case misshapen(id: Int64?)
    }

    /// The result of a visit, in addition to the rows.
    package struct Visit {
        /// Whether a damaged page was read, or a verification has found a problem. The rows may
        /// then be from an earlier commit.
        package let isDoubtful: Bool
        /// Whether every tier that may contain matches was searched. Before the first unlock, the
        /// guarded tier isn't.
        package let isComplete: Bool
    }

    /// Visits the rows that may match a query, according to their labels. `visit` returns `false`
    /// to stop.
    ///
    /// With a limit above one, the rows come in the order in which they were added. Without a
    /// limit, they come in any order. With a limit of one, the rows of the guarded tier come first,
    /// and within each tier the row that was added first, if finding it costs little. That row may
    /// be visited twice.
    package func visit(
        _ query: ItemQuery, visibleTo caller: AccessGroups, includesSecret: Bool, limit: Int?,
        _ visit: (Found, RowSearch) throws(KeychainFailure) -> Bool
    ) throws(KeychainFailure) -> Visit {
        closeIfDamaged()
        let encounterCount = damage.encounterCount
        let tiers = tiers
        try connections.run { database throws(KeychainFailure) in
            try withHeader(in: database, tiers) { header throws(KeychainFailure) in
                let indexes = tiers.indexes(for: query, header)
                var goesOn = true
                for indexes in limit == 1 ? indexes.map({ [$0] }) : [indexes] where goesOn {
                    let search = RowSearch(query, visibleTo: caller, indexes: indexes)
                    for pass in search.passes(limit: limit) where goesOn {
                        let (sql, arguments) = search.statement(
                            includesSecret: includesSecret, limit: limit, pass)
                        try Self.visit(database, sql, arguments, includesSecret: includesSecret) {
                            found throws(KeychainFailure) in
                            goesOn = try visit(found, search)
                            return goesOn
                        }
                    }
                }
            }
        }
        return Visit(
            isDoubtful: damage.encounterCount != encounterCount || damage.problem != nil,
            isComplete: tiers.guarded != nil || query.protection?.tier == .open)
    }

    static func visit(
        _ database: DatabaseConnection, _ sql: String, _ arguments: [Bytes16],
        includesSecret: Bool, _ visit: (Found) throws(KeychainFailure) -> Bool
    ) throws(KeychainFailure) {
        let cursor = try database.rows(sql, arguments)
        while try cursor.next() {
            let found: Found
            do {
                found = .row(try SealedRow(cursor, includesSecret: includesSecret))
            } catch {
                found = .misshapen(id: error.id)
            }
            guard try visit(found) else { return }
        }
    }

    /// The reason why an item that is not found may have existed.
    package enum Loss: Hashable, Sendable {
        /// An item with the labels searched for was set aside.
        case setAside(ItemReference)
        /// A recovery lost items whose labels are unknown.
        case unknown
    }

    /// The loss that may explain a search without results. This reads the rows that are set aside,
    /// of which there are usually none.
    package func loss(for search: RowSearch) throws(KeychainFailure) -> Loss? {
        try connections.run { database throws(KeychainFailure) in
            let cursor = try database.rows(
                "SELECT id, \(StoreSchema.rowColumns), reason FROM set_aside ORDER BY id")
            var isUnknown = false
            while try cursor.next() {
                guard let reason = cursor.integer(9), SetAsideReason.meansLoss(reason) else {
                    continue
                }
                if reason == SetAsideReason.lostByRecovery.rawValue { isUnknown = true }
                if search.namesLabels,
                    let row = try? SealedRow(cursor, includesSecret: false), search.includes(row)
                {
                    return .setAside(row.reference)
                }
            }
            return isUnknown ? .unknown : nil
        }
    }

    // MARK: Trust

    static let damagedLog = KeychainFailure.damagedStore(
        "its log is damaged, and commits in it may be lost")

    /// Makes sure that items that were not found don't exist.
    ///
    /// This costs one comparison if no damage was found. Otherwise the whole database is verified,
    /// unless this function has verified it since damage was last recorded.
    /// - Throws: `notAvailable` if the log is damaged, or if this or an earlier verification found
    ///   a problem; errors in reading.
    package func requireSound() throws(KeychainFailure) {
        if damage.isEmpty { return }
        if damage.hasDamagedLog { throw Self.damagedLog }
        if let problem = damage.problem { throw .damagedStore(problem) }
        try examine(since: examined) { () throws(KeychainFailure) in
            let found = try verify()
            return found.problem ?? found.setAsideProblem
        }
    }

    /// Makes sure that rows found on a damaged page are those of the last commit.
    package func requireSoundRows() throws(KeychainFailure) {
        if damage.isEmpty { return }
        try examine(since: confirmed) { () throws(KeychainFailure) in try rowProblem() }
    }

    /// Looks for a problem, unless the last search found none and no damage was recorded since.
    private func examine(
        since last: borrowing Mutex<UInt64>,
        _ problem: () throws(KeychainFailure) -> String?
    ) throws(KeychainFailure) {
        let seen = damage.recordingCount
        if last.withLock({ $0 == seen }) { return }
        if let problem = try problem() { throw .damagedStore(problem) }
        // The examination itself may have found further damaged pages. Its result takes these pages
        // into account, too.
        let now = damage.recordingCount
        last.withLock { $0 = now }
    }

    package func close() {
        commits.close()
        file.close()
    }
}

extension Store {
    /// Checkpoints the log and truncates it to zero bytes.
    /// - Throws: `notAvailable` if another connection, usually of another process, prevents it;
    ///   `readOnly` in a read-only folder; other errors of the checkpoint.
    package func emptyLog() throws(KeychainFailure) { try connections.emptyLog() }
}
