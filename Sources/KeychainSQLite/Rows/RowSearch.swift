// RowSearch: which rows a query is about, as one SQL statement over the labels.
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

package import KeychainCrypto
package import KeychainCore

/// The part of a query that is decided by labels.
package struct RowSearch: Hashable, Sendable {
    package var reference: ItemReference?
    /// One label a tier and space (synchronizable or not), or empty: any.
    package var first: [Label] = []
    package var second: [Label] = []
    package var groups: [Label] = []
    /// For each further attribute, or all parts of a server, the labels of the value.
    package var terms: [[Label]] = []
    /// Whether the first key attribute tells one item from nearly all others, as the application
    /// label of a key does, and a service, server or issuer doesn't.
    private var isFirstTelling = false
    /// Whether items that have both key attributes in common can differ in others of the key.
    private var hasFurtherKeys = false

    /// Attributes that labels can't decide; they are compared after the metadata are opened.
    package var residual: Attributes = [:]

    /// `indexes` are those of the tiers that are searched, one at least.
    package init(_ query: ItemQuery, visibleTo caller: AccessGroups, indexes: [BlindIndex]) {
        reference = query.reference
        residual = query.attributes
        let flags = query.isSynchronizable.map { [$0] } ?? [false, true]
        let spaces = indexes.flatMap { index in
            flags.map {
                (
                    index,
                    BlindIndex.Space(
                        itemClass: query.itemClass, isSynchronizable: $0,
                        isTombstone: query.isTombstone)
                )
            }
        }
        func labels(_ attribute: Attribute) -> [Label] {
            guard let value = residual.removeValue(forKey: attribute) else { return [] }
            return spaces.map { index, space in index.label(of: attribute, value, in: space) }
        }
        isFirstTelling = query.itemClass == .key
        hasFurtherKeys = query.itemClass.ownKeys.count > 2
        first = labels(query.itemClass.firstKey)
        second = labels(query.itemClass.secondKey)
        if query.itemClass == .internetPassword,
            ItemClass.serverParts.allSatisfy({ residual[$0] != nil })
        {
            terms.append(spaces.map { index, space in index.serverLabel(residual, in: space) })
            for part in ItemClass.serverParts { residual[part] = nil }
        }
        for attribute in residual.isEmpty ? [] : query.itemClass.searchTerms {
            let isEmpty = residual[attribute]?.isEqual(to: .empty(of: attribute.kind)) == true
            // The empty value of a key attribute equals an absent one. Where that has no entry, it
            // has to be looked for in the metadata.
            if isEmpty, query.itemClass.otherKeys.contains(attribute) { continue }
            let found = labels(attribute)
            if !found.isEmpty { terms.append(found) }
        }
        if let group = query.accessGroup {
            groups = spaces.map { index, space in index.label(ofAccessGroup: group, in: space) }
        } else if !caller.includesAll {
            groups = spaces.flatMap { index, space in
                caller.names.map { index.label(ofAccessGroup: $0, in: space) }
            }
        }
    }

    /// Whether the labels decide everything, so that a row need not be opened to be chosen.
    package func isDecided(by query: ItemQuery) -> Bool {
        residual.isEmpty && query.protection == nil && query.hostOrSubdomain == nil
    }

    /// Whether it names labels that are those of items of one class, with the query's flags.
    package var namesItem: Bool { !first.isEmpty || !second.isEmpty }

    /// Whether the search names any label. One that doesn't selects all rows.
    var namesLabels: Bool {
        reference != nil
            || ![first, second, groups].allSatisfy(\.isEmpty) || !terms.isEmpty
    }

    /// Whether a row stands under the labels that were searched for.
    ///
    /// Its own labels are authenticated with its metadata; those of the indexes are not. A row
    /// that an altered index gives in another's place is told by this.
    package func includes(_ row: SealedRow) -> Bool {
        func holds(_ wanted: [Label], _ label: Label) -> Bool {
            wanted.isEmpty || wanted.contains(label)
        }
        return (reference ?? row.reference) == row.reference && holds(first, row.labels.first)
            && holds(second, row.labels.second) && holds(groups, row.labels.group)
            && terms.allSatisfy { !Set($0).isDisjoint(with: row.labels.terms) }
    }

    // MARK: SQL

    /// Among how many entries of an index the one that was added first is looked for. See (3).
    static let window = 16

    /// Which rows of a search one statement gives.
    package enum Pass {
        /// The one that was added first of those at the beginning of an index.
        case earliest
        case all
    }

    /// The statements that give a search's rows, in turn. The row of the first comes again.
    package func passes(limit: Int?) -> [Pass] {
        limit == 1 && mayGiveSeveral ? [.earliest, .all] : [.all]
    }

    /// Whether an index gives several rows, in another order than that of addition.
    private var mayGiveSeveral: Bool {
        switch chooseDriver() {
        case .reference, .term, .other: false
        case .first: true
        case .second: second.count > 1
        case .group: groups.count > 1
        case .keys:
            hasFurtherKeys || first.count != 1 || second.count != 1 || groups.count != 1
        }
    }

    /// Columns, conditions and arguments. `isOrdered`: in the order of addition, as it is with a
    /// limit above one.
    func statement(
        includesSecret: Bool, limit: Int?, isOrdered: Bool = false, _ pass: Pass = .all
    ) -> (sql: String, arguments: [Bytes16]) {
        if !isOrdered, pass == .all,
            let statement = keyStatement(includesSecret: includesSecret, limit: limit)
        {
            return statement
        }
        var ofEntries = Conditions()
        var ofRows = Conditions()
        let driver = chooseDriver()
        func add(_ column: String, _ labels: [Label], isDriver: Bool) {
            guard !labels.isEmpty else { return }
            if isDriver {
                ofEntries.add("entry." + column, labels)
            } else {
                ofRows.add("+items." + column, labels)
            }
        }
        add("uuid", reference.map { [$0.value] } ?? [], isDriver: driver == .reference)
        add("k1", first, isDriver: driver == .keys || driver == .first)
        add("k2", second, isDriver: driver == .keys || driver == .second)
        add("grp", groups, isDriver: driver == .group)
        for (position, labels) in terms.enumerated() {
            if driver == .term, position == 0 {
                ofRows.add("items.id IN (SELECT item FROM terms WHERE term", labels, ")")
            } else {
                ofRows.add(
                    "EXISTS (SELECT 1 FROM terms WHERE term", labels, " AND item = items.id)")
            }
        }

        var sql: String
        if let index = driver.index, pass == .earliest {
            sql = Self.select(includesSecret: includesSecret, index: nil)
            sql += " WHERE items.id = (SELECT min(id) FROM (SELECT entry.id AS id"
            sql += " FROM items AS entry INDEXED BY \(index)\(ofEntries.clause)"
            sql += " LIMIT \(Self.window)))"
            for text in ofRows.texts { sql += " AND " + text }
        } else {
            sql = Self.select(includesSecret: includesSecret, index: driver.index)
            sql += Conditions(texts: ofEntries.texts + ofRows.texts).clause
        }
        // One row needs no order; all rows are put in order by the caller, more cheaply.
        if isOrdered || limit ?? 1 > 1 {
            sql += driver.index == nil ? " ORDER BY items.id" : " ORDER BY entry.id"
        }
        return (sql, ofEntries.arguments + ofRows.arguments)
    }

    private struct Conditions {
        var texts: [String] = []
        var arguments: [Bytes16] = []

        /// That `start` is one of some labels.
        mutating func add(_ start: String, _ labels: [Label], _ end: String = "") {
            let places = repeatElement("?", count: labels.count).joined(separator: ",")
            texts.append(start + (labels.count == 1 ? " = ?" : " IN (\(places))") + end)
            arguments += labels
        }

        var clause: String {
            texts.isEmpty ? "" : " WHERE " + texts.joined(separator: " AND ")
        }
    }

    /// The statement of a look-up by both keys in one group: most requests are one, and putting
    /// its text together takes longer than running it.
    private func keyStatement(
        includesSecret: Bool, limit: Int?
    ) -> (sql: String, arguments: [Bytes16])? {
        guard reference == nil, terms.isEmpty, first.count == 1, second.count == 1,
            groups.count == 1, limit ?? 1 <= 1
        else { return nil }
        return (
            includesSecret ? Self.keySecretSQL : Self.keySQL, [first[0], second[0], groups[0]]
        )
    }

    private static let keySQL = keySQL(includesSecret: false)
    static let keySecretSQL = keySQL(includesSecret: true)

    private static func keySQL(includesSecret: Bool) -> String {
        select(includesSecret: includesSecret, index: "items_key")
            + " WHERE entry.k1 = ? AND entry.k2 = ? AND +items.grp = ?"
    }

    /// The beginning of a statement that gives rows; with an index, those that its entries, called
    /// `entry`, lead to. See (4).
    static func select(includesSecret: Bool, index: String?) -> String {
        let columns = StoreSchema.itemColumns + (includesSecret ? ", items.secret" : "")
        let rows =
            index.map { "items AS entry INDEXED BY \($0) CROSS JOIN items ON items.id = entry.id" }
            ?? "items"
        return "SELECT \(columns) FROM \(rows)"
    }

    private enum Driver {
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
    }

    private func chooseDriver() -> Driver {
        if reference != nil { return .reference }
        if !first.isEmpty && (isFirstTelling || !second.isEmpty) { return .keys }
        if !terms.isEmpty { return .term }
        if !second.isEmpty { return .second }
        if !first.isEmpty { return .first }
        return groups.isEmpty ? .other : .group
    }
}
