// RowSearch: which rows a query is about, as one SQL statement over the labels.
//   (1) Each search is driven by one index; the other conditions only filter what it gives.
//       A unary plus in front of a column keeps SQLite from choosing it.
//   (2) The drivers, the most selective first: reference, both key attributes, the first one of a
//       key, a further attribute, the second key attribute, the first one, access group.
//   (3) Every column of a result comes out of the row itself. From the index alone SQLite would
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

    /// The text of the search's statement.
    package func sql(includesSecret: Bool, limit: Int?) -> String {
        statement(includesSecret: includesSecret, limit: limit).sql
    }

    /// Columns, conditions and arguments. `isOrdered`: in the order of addition, as it is with a
    /// limit above one.
    func statement(
        includesSecret: Bool, limit: Int?, isOrdered: Bool = false
    ) -> (sql: String, arguments: [Bytes16]) {
        if !isOrdered, let statement = keyStatement(includesSecret: includesSecret, limit: limit) {
            return statement
        }
        var arguments: [Bytes16] = []
        var conditions: [String] = []
        var driver = chooseDriver()
        let index = driver.index

        func condition(_ column: String, _ labels: [Label], isDriver: Bool) {
            guard !labels.isEmpty else { return }
            let name = isDriver ? "entry." + column : "+items." + column
            conditions.append(name + Self.placeholders(labels.count))
            arguments += labels
        }
        condition("uuid", reference.map { [$0.value] } ?? [], isDriver: driver == .reference)
        condition("k1", first, isDriver: driver == .keys || driver == .first)
        condition("k2", second, isDriver: driver == .keys || driver == .second)
        for labels in terms {
            if driver == .term {
                conditions.append(
                    "items.id IN "
                        + "(SELECT item FROM terms WHERE term\(Self.placeholders(labels.count)))")
                driver = .other
            } else {
                conditions.append(
                    "EXISTS (SELECT 1 FROM terms WHERE term\(Self.placeholders(labels.count)) "
                        + "AND item = items.id)")
            }
            arguments += labels
        }
        condition("grp", groups, isDriver: driver == .group)

        var sql = Self.select(includesSecret: includesSecret, index: index)
        if !conditions.isEmpty { sql += " WHERE " + conditions.joined(separator: " AND ") }
        // One row needs no order; all rows are put in order by the caller, more cheaply.
        if isOrdered || limit ?? 1 > 1 {
            sql += index == nil ? " ORDER BY items.id" : " ORDER BY entry.id"
        }
        return (sql, arguments)
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
    /// `entry`, lead to. See (3).
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

    private static func placeholders(_ count: Int) -> String {
        count == 1
            ? " = ?" : " IN (" + repeatElement("?", count: count).joined(separator: ",") + ")"
    }
}
