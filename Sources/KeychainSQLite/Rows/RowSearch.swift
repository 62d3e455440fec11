// RowSearch: the rows that may match a query, selected by the labels of its attributes.

package import KeychainCrypto
package import KeychainCore

/// A query in the form in which the database searches: as labels, together with the attributes that
/// can be compared only after the metadata of a row is opened.
package struct RowSearch: Hashable, Sendable {
    package var reference: ItemReference?
    /// The labels of the first key attribute's value: one for each tier that is searched and each
    /// kind of item (synchronizable or local). Empty to match any value.
    package var first: [Label] = []
    package var second: [Label] = []
    package var groups: [Label] = []
    /// The labels of further values, one array for each attribute. The attributes in
    /// `ItemClass.serverParts` have one common array if the query has a value for each of them.
    package var terms: [[Label]] = []
    /// Whether the first key attribute is almost unique. That is true of the application label of a
    /// key, but not of a service, server or issuer.
    private var isFirstTelling = false
    /// Whether the class has key attributes of its own besides the first two. Items of such a class
    /// that have the same first two usually differ in the others. The view hint, the token and the
    /// sharing group don't count: every class has them, but few items set them.
    private var hasFurtherKeys = false

    /// The attributes of the query that aren't searched for by label. They are compared after the
    /// metadata is opened.
    package var residual: Attributes = [:]

    /// Creates the search for a query. `indexes` are the blind indexes of the tiers to search, of
    /// which there must be at least one.
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
            // A query for the empty value of a key attribute also matches items without the
            // attribute. They may have no entry in the index, so the metadata has to be compared.
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

    /// Whether the labels alone decide which rows match, so that a row can be selected without
    /// being opened.
    package func isDecided(by query: ItemQuery) -> Bool {
        residual.isEmpty && query.protection == nil && query.hostOrSubdomain == nil
    }

    /// Whether the search contains labels of the first or second key attribute. Only items whose
    /// class, synchronizability and tombstone flag match the query can have these labels.
    package var namesItem: Bool { !first.isEmpty || !second.isEmpty }

    /// Whether the search contains a reference or any label. Otherwise it selects all rows.
    var namesLabels: Bool {
        reference != nil
            || ![first, second, groups].allSatisfy(\.isEmpty) || !terms.isEmpty
    }

    /// Whether a row has the reference and the labels that were searched for.
    ///
    /// The row's own labels are authenticated with its metadata; those of the indexes only with
    /// their pages. The comparison therefore detects a row that a manipulated index returned in
    /// place of another.
    package func includes(_ row: SealedRow) -> Bool {
        func holds(_ wanted: [Label], _ label: Label) -> Bool {
            wanted.isEmpty || wanted.contains(label)
        }
        return (reference ?? row.reference) == row.reference && holds(first, row.labels.first)
            && holds(second, row.labels.second) && holds(groups, row.labels.group)
            && terms.allSatisfy { !Set($0).isDisjoint(with: row.labels.terms) }
    }

    // MARK: SQL

    /// The passes in which to run the search, in order. A second pass also returns the row that the
    /// first has returned.
    package func passes(limit: Int?) -> [SearchStatement.Pass] {
        limit == 1 && mayGiveSeveral ? [.earliest, .all] : [.all]
    }

    /// Whether the index that drives the search is likely to return several rows in an order other
    /// than that in which they were added.
    private var mayGiveSeveral: Bool {
        switch driver {
        case .reference, .term, .other: false
        case .first: true
        case .second: second.count > 1
        case .group: groups.count > 1
        case .keys:
            hasFurtherKeys || first.count != 1 || second.count != 1 || groups.count != 1
        }
    }

    /// The SQL text and the arguments of a statement. The rows are in the order in which they were
    /// added if `isOrdered` is set or the limit is above one. Without a limit, rows that an index
    /// would return in another order are sorted as well, because reading them is then faster.
    package func statement(
        includesSecret: Bool, limit: Int?, isOrdered: Bool = false,
        _ pass: SearchStatement.Pass = .all
    ) -> (sql: String, arguments: [Bytes16]) {
        let driver = driver
        let statement = SearchStatement(
            driver: driver, pass: pass, hasReference: reference != nil, first: first.count,
            second: second.count, groups: groups.count, terms: terms.map(\.count),
            includesSecret: includesSecret,
            // One row needs no order.
            isOrdered: isOrdered || limit.map { $0 > 1 } ?? mayGiveSeveral,
            isScattered: mayGiveSeveral)
        var arguments: [Bytes16] = []
        func add(where isDriver: Bool) {
            for column in SearchStatement.Column.allCases
            where driver.columns.contains(column) == isDriver {
                switch column {
                case .reference: if let reference { arguments.append(reference.value) }
                case .first: arguments += first
                case .second: arguments += second
                case .group: arguments += groups
                }
            }
        }
        add(where: true)
        add(where: false)
        for labels in terms { arguments += labels }
        return (statement.sql, arguments)
    }

    private var driver: SearchStatement.Driver {
        if reference != nil { return .reference }
        if !first.isEmpty && (isFirstTelling || !second.isEmpty) { return .keys }
        if !terms.isEmpty { return .term }
        if !second.isEmpty { return .second }
        if !first.isEmpty { return .first }
        return groups.isEmpty ? .other : .group
    }
}
