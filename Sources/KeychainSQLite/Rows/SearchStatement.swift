// SearchStatement: the text of the statement that carries out a search. It depends on how many labels
// are searched for and not on which.
//   (1) Each search is driven by one index; the other conditions only filter what it gives.
//       A unary plus in front of a column keeps SQLite from choosing it.
//   (2) The drivers, the most selective first: reference, both key attributes, the first one of a
//       key, a further attribute, the second key attribute, the first one, access group.
//   (3) With a limit of one, the row that was added first is tried first, as far as it is among the
//       first `window` entries that the index gives. Many have one service in common, and looking at
//       them all would cost more than finding one.
//   (4) Every column of a result comes out of the row itself. From the index alone SQLite would
//       give back what was searched for, whichever row a damaged entry leads to. So the index is
//       a table of its own in the statement, which gives the id and nothing else.
//   (5) Texts are kept: putting one together takes longer than running it.
//   (6) Rows are read in the order of their ids, in which they lie in the file, wherever all of them
//       are wanted: in the order of labels each would be on another page, read and verified again for
//       each row. So an index that gives ids in another order is read to its end first. The limit of
//       -1, which is none, keeps SQLite from dropping the order inside.

import Synchronization

/// What decides the text. Of labels there is the count, 0 where they are not searched for.
package struct SearchStatement: Hashable, Sendable {
    /// Which rows of a search one statement gives.
    package enum Pass: Sendable {
        /// The one that was added first of those at the beginning of an index.
        case earliest
        case all
    }

    /// The columns of labels in a row, in the order of the arguments.
    enum Column: String, CaseIterable {
        case reference = "uuid"
        case first = "k1"
        case second = "k2"
        case group = "grp"
    }

    /// What gives the rows that the other conditions filter.
    enum Driver {
        case reference, keys, term, second, first, group, other

        /// The index to use; left to SQLite it may take one that gives the order instead of the
        /// one that gives fewer rows.
        var index: String? {
            switch self {
            case .reference: "items_uuid"
            case .keys, .first: "items_key"
            case .second: "items_k2"
            case .group: "items_grp"
            case .term, .other: nil
            }
        }

        /// The columns that are searched for in the index.
        var columns: [Column] {
            switch self {
            case .reference: [.reference]
            case .keys: [.first, .second]
            case .first: [.first]
            case .second: [.second]
            case .group: [.group]
            case .term, .other: []
            }
        }
    }

    let driver: Driver
    let pass: Pass
    let hasReference: Bool
    let first: Int
    let second: Int
    let groups: Int
    let terms: [Int]
    let includesSecret: Bool
    let isOrdered: Bool
    /// Whether the driver's index gives ids in another order than their own.
    let isScattered: Bool

    /// Among how many entries of an index the one that was added first is looked for. See (3).
    static let window = 16

    // MARK: Text

    /// See (5).
    private static let kept = Mutex<[SearchStatement: String]>([:])
    /// The texts that one program needs are some dozens; a caller with many sets of access groups can
    /// make any number.
    private static let keptCount = 512

    var sql: String {
        if self == Self.secretOfKey { return Self.secretOfKeySQL }
        if let text = Self.kept.withLock({ $0[self] }) { return text }
        let text = text
        Self.kept.withLock {
            if $0.count >= Self.keptCount { $0.removeAll() }
            $0[self] = text
        }
        return text
    }

    private var text: String {
        let columns = Column.allCases.filter { count(of: $0) > 0 }
        let ofEntries = columns.filter(driver.columns.contains).map {
            condition("entry." + $0.rawValue, count(of: $0))
        }
        var ofRows = columns.filter { !driver.columns.contains($0) }.map {
            condition("+items." + $0.rawValue, count(of: $0))
        }
        for (position, count) in terms.enumerated() {
            let isOne = condition("term", count)
            ofRows.append(
                driver == .term && position == 0
                    ? "items.id IN (SELECT item FROM terms WHERE \(isOne))"
                    : "EXISTS (SELECT 1 FROM terms WHERE \(isOne) AND item = items.id)")
        }
        if pass == .earliest, let index = driver.index {
            let entries = Self.clause(ofEntries) + " LIMIT \(Self.window)"
            let earliest =
                "items.id = (SELECT min(id) FROM (SELECT entry.id AS id"
                + " FROM items AS entry INDEXED BY \(index)\(entries)))"
            return Self.select(includesSecret: includesSecret, index: nil)
                + Self.clause([earliest] + ofRows)
        }
        if isOrdered, isScattered, let index = driver.index {
            let entries =
                "(SELECT entry.id AS id FROM items AS entry INDEXED BY \(index)"
                + Self.clause(ofEntries) + " ORDER BY entry.id LIMIT -1) AS entry"
            return Self.select(includesSecret: includesSecret, entries: entries)
                + Self.clause(ofRows)
        }
        let order = driver.index == nil ? " ORDER BY items.id" : " ORDER BY entry.id"
        return Self.select(includesSecret: includesSecret, index: driver.index)
            + Self.clause(ofEntries + ofRows) + (isOrdered ? order : "")
    }

    private func count(of column: Column) -> Int {
        switch column {
        case .reference: hasReference ? 1 : 0
        case .first: first
        case .second: second
        case .group: groups
        }
    }

    /// That a column is one of some labels.
    private func condition(_ column: String, _ count: Int) -> String {
        let places = repeatElement("?", count: count).joined(separator: ",")
        return count == 1 ? column + " = ?" : column + " IN (\(places))"
    }

    private static func clause(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    /// The look-up of a secret by both keys in one group. Most programs need no other, and so no
    /// table of texts.
    private static let secretOfKey = SearchStatement(
        driver: .keys, pass: .all, hasReference: false, first: 1, second: 1, groups: 1, terms: [],
        includesSecret: true, isOrdered: false, isScattered: false)
    static let secretOfKeySQL = secretOfKey.text

    /// The beginning of a statement that gives rows; with an index, those that its entries, called
    /// `entry`, lead to. See (4).
    static func select(includesSecret: Bool, index: String?) -> String {
        select(
            includesSecret: includesSecret, entries: index.map { "items AS entry INDEXED BY \($0)" }
        )
    }

    private static func select(includesSecret: Bool, entries: String?) -> String {
        let columns = StoreSchema.itemColumns + (includesSecret ? ", items.secret" : "")
        let rows = entries.map { "\($0) CROSS JOIN items ON items.id = entry.id" } ?? "items"
        return "SELECT \(columns) FROM \(rows)"
    }
}
