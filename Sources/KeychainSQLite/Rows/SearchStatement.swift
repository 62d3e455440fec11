// SearchStatement: the SQL text of a search. It depends on which labels are searched for and how
// many, and not on their values.
//   (1) Each search is driven by one index, unless it has no labels; the other conditions only
//       filter its results. A unary plus before a column prevents SQLite from using that column's
//       index.
//   (2) The drivers, the most selective first: reference; both key attributes (for cryptographic
//       keys, the first one suffices); a further attribute; the second key attribute; the first key
//       attribute; access group.
//   (3) With a limit of one, and an index that may return several rows, the first pass takes only
//       the first `window` entries of the index and tries the row among them that was added first.
//       Many items may have the same service, and examining all of them would cost more than
//       finding one.
//   (4) Every column of a result is read from the row itself. If SQLite read it from the index, it
//       would return the value searched for, whichever row a damaged entry leads to. The index is
//       therefore a separate table in the statement and provides only the id.
//   (5) SQL texts are cached, because composing one takes longer than running it.
//   (6) If all rows are requested, they are read in the order of their ids, which is their order in
//       the file. In the order of labels each row would be on another page, which would be read and
//       verified for that row alone. If the index returns the ids in another order, they are sorted
//       first. LIMIT -1 means no limit; it prevents SQLite from dropping the inner ORDER BY.

import Synchronization

/// The properties that determine the text. For labels, this is their number; 0 if the search has
/// none.
package struct SearchStatement: Hashable, Sendable {
    /// The rows of a search that one statement returns.
    package enum Pass: Sendable {
        /// The row that was added first among the first entries of an index.
        case earliest
        case all
    }

    /// The columns of a row that a search compares. The arguments are in this order, first those of
    /// the driver's columns, then the others.
    enum Column: String, CaseIterable {
        case reference = "uuid"
        case first = "k1"
        case second = "k2"
        case group = "grp"
    }

    /// The index that provides the rows; the other conditions filter them. `other` reads all rows.
    enum Driver {
        case reference, keys, term, second, first, group, other

        /// The index of `items` to use. SQLite's own choice might be an index that provides the
        /// order instead of the one that provides fewer rows.
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
    /// Whether the driver's index is likely to return ids in an order other than ascending.
    let isScattered: Bool

    /// How many of an index's first entries are compared to find the row that was added first. See
    /// (3).
    static let window = 16

    // MARK: Text

    /// The cache, see (5).
    private static let kept = Mutex<[SearchStatement: String]>([:])
    /// A program needs a few dozen texts. A caller with many sets of access groups can cause any
    /// number.
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
            return Self.select(Self.columns(includesSecret: includesSecret), entries: entries)
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

    /// The condition that a column equals one of `count` labels.
    private func condition(_ column: String, _ count: Int) -> String {
        let places = repeatElement("?", count: count).joined(separator: ",")
        return count == 1 ? column + " = ?" : column + " IN (\(places))"
    }

    private static func clause(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    /// The look-up of a secret by both key attributes in one group. Most programs need no other
    /// statement, so its text is a constant and not in the cache.
    private static let secretOfKey = SearchStatement(
        driver: .keys, pass: .all, hasReference: false, first: 1, second: 1, groups: 1, terms: [],
        includesSecret: true, isOrdered: false, isScattered: false)
    static let secretOfKeySQL = secretOfKey.text
    /// The same look-up among the first `window` entries. Of rows that may have overflow pages, and
    /// of rows without a secret, it returns neither the metadata nor the secret.
    static let shortSecretOfKeySQL: String = {
        let isShort =
            "length(items.meta) + length(items.secret) < \(SealedRow.byteLimitOnOnePage)"
        let shortened = columns(includesSecret: true).split(separator: ", ").map { column in
            let mayBeLong = ["items.meta", "items.secret"].contains(column)
            return mayBeLong ? "iif(\(isShort), \(column), NULL)" : String(column)
        }
        return select(
            shortened.joined(separator: ", "),
            entries: "(SELECT entry.id AS id FROM items AS entry INDEXED BY items_key"
                + " WHERE entry.k1 = ? AND entry.k2 = ? LIMIT \(window)) AS entry")
            + " WHERE +items.grp = ?"
    }()

    /// The beginning of a statement that returns rows. With an index, it returns the rows to which
    /// the index's entries lead; an entry is named `entry`. See (4).
    static func select(includesSecret: Bool, index: String?) -> String {
        select(
            columns(includesSecret: includesSecret),
            entries: index.map { "items AS entry INDEXED BY \($0)" })
    }

    private static func columns(includesSecret: Bool) -> String {
        StoreSchema.itemColumns + (includesSecret ? ", items.secret" : "")
    }

    private static func select(_ columns: String, entries: String?) -> String {
        let rows = entries.map { "\($0) CROSS JOIN items ON items.id = entry.id" } ?? "items"
        return "SELECT \(columns) FROM \(rows)"
    }
}
