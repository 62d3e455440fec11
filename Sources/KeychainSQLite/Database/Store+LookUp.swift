// Store+LookUp: looks up one item by its two key attributes, which is what most requests need.
//   (1) It runs one statement, in the guarded tier, which has most of the items. If that isn't
//       sufficient, the caller uses `Store.visit`.
//   (2) It doesn't read the header of the store, from which `Store.visit` learns which tiers have
//       items. If a row is found, its tier has items.
//   (3) If several of the rows that it reads match, it returns none: `Store.visit` chooses among
//       them, so that a request for a secret alone finds the same item as a request for the secret
//       and the attributes.

package import KeychainCore
import KeychainCrypto

extension Store {
    /// The one row, with its secret, that has both key attributes and the access group of a query.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - caller: The caller, whose group is searched if the query names none.
    /// - Returns: `nil` if there is no such row in the guarded tier or more than one, if the row's
    ///   columns have the wrong types, if the keys of this tier aren't available, if the query has
    ///   fewer or further conditions or its group is not determined, or if damage is known or
    ///   found.
    /// - Throws: Errors in reading.
    package func lookUp(
        _ query: ItemQuery, visibleTo caller: AccessGroups
    ) throws(KeychainFailure) -> SealedRow? {
        guard let key = keyLabels(of: query, visibleTo: caller) else { return nil }
        let encounterCount = damage.encounterCount
        let row = try connections.run { database throws(KeychainFailure) in
            try Self.row(of: key, SearchStatement.secretOfKeySQL, in: database)
        }
        return checked(row, key, encounterCount)
    }

    /// The row of ``lookUp(_:visibleTo:)``, if it can be read without waiting for another request
    /// or process. Only the first ``SearchStatement/window`` rows with both key attributes are
    /// searched. The row must have a secret, and metadata and secret together must have fewer than
    /// ``SealedRow/byteLimitOnOnePage`` bytes, because overflow pages take longer to read.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - caller: The caller, whose group is searched if the query names none.
    /// - Returns: `nil` if no row was found, for any reason. ``lookUp(_:visibleTo:)`` may still
    ///   find one.
    package func lookUpAtOnce(_ query: ItemQuery, visibleTo caller: AccessGroups) -> SealedRow? {
        guard let key = keyLabels(of: query, visibleTo: caller) else { return nil }
        let encounterCount = damage.encounterCount
        let row = connections.runAtOnce { database throws(KeychainFailure) in
            try Self.row(of: key, SearchStatement.shortSecretOfKeySQL, in: database)
        }
        return checked(row, key, encounterCount)
    }

    private func keyLabels(of query: ItemQuery, visibleTo caller: AccessGroups) -> KeyLabels? {
        guard damage.isEmpty, let index = tiers.guarded?.index else { return nil }
        return KeyLabels(query, visibleTo: caller, index)
    }

    private static func row(
        of key: KeyLabels, _ statement: String, in database: DatabaseConnection
    ) throws(KeychainFailure) -> SealedRow? {
        let cursor = try database.rows(statement, [key.first, key.second, key.group])
        guard try cursor.next(), let row = try? SealedRow(cursor, includesSecret: true),
            (try? cursor.next()) == false
        else { return nil }
        return row
    }

    /// The row, unless it has other labels, damage is recorded, or a damaged page was read since
    /// `encounterCount` was read.
    private func checked(
        _ row: SealedRow?, _ key: KeyLabels, _ encounterCount: UInt64
    ) -> SealedRow? {
        guard let row, key.areOf(row), damage.encounterCount == encounterCount, damage.isEmpty
        else { return nil }
        return row
    }
}

/// The labels of a look-up by both key attributes.
private struct KeyLabels {
    let first: Label
    let second: Label
    let group: Label

    /// `nil` if the query doesn't determine all these labels or has further conditions. If the
    /// query has no access group, the caller's is used, if the caller can use exactly one. A query
    /// that matches both synchronizable and local items determines no label.
    init?(_ query: ItemQuery, visibleTo caller: AccessGroups, _ index: BlindIndex) {
        let group = query.accessGroup ?? (caller.names.count == 1 ? caller.names[0] : nil)
        guard let group, query.accessGroup != nil || !caller.includesAll,
            let isSynchronizable = query.isSynchronizable, query.attributes.count == 2,
            let first = query.attributes[query.itemClass.firstKey],
            let second = query.attributes[query.itemClass.secondKey],
            query.reference == nil, query.protection == nil, query.hostOrSubdomain == nil
        else { return nil }
        let space = BlindIndex.Space(
            itemClass: query.itemClass, isSynchronizable: isSynchronizable,
            isTombstone: query.isTombstone)
        self.first = index.label(of: query.itemClass.firstKey, first, in: space)
        self.second = index.label(of: query.itemClass.secondKey, second, in: space)
        self.group = index.label(ofAccessGroup: group, in: space)
    }

    /// See `RowSearch.includes`.
    func areOf(_ row: SealedRow) -> Bool {
        row.labels.first == first && row.labels.second == second && row.labels.group == group
    }
}
