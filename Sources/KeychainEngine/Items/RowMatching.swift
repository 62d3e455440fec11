// RowMatching: opens sealed rows and decides whether they match a query.

import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite

/// A row whose metadata was opened, which means that its tag was checked.
struct OpenedRow {
    let row: SealedRow
    let record: ItemRecord
    let protection: ProtectionClass
    let keys: ClassKeys

    /// The modification date in seconds since 2001-01-01; 0 if there is none.
    var modified: Double {
        if case .date(let seconds) = record.attributes[.modificationDate] { seconds } else { 0 }
    }

    func item(data: Data? = nil) -> ItemSnapshot {
        ItemSnapshot(
            itemClass: record.itemClass, reference: row.reference, attributes: record.attributes,
            accessGroup: record.accessGroup, protection: protection,
            constraints: record.constraints, isSynchronizable: record.isSynchronizable,
            isTombstone: record.isTombstone, hasData: record.secretTag != nil, data: data)
    }
}

/// The outcome of opening a row's metadata.
enum OpeningOfRow {
    case opened(OpenedRow)
    /// The keys of the row's class are not available: it is locked, or bound to another machine.
    case locked
    case damaged
}

extension KeychainEngine {
    func open(_ row: SealedRow) -> OpeningOfRow {
        guard let protection = ProtectionClass(rawValue: row.protection) else { return .damaged }
        guard let keys = try? keys(for: protection) else { return .locked }
        guard
            let record = try? RowSealing.openMetadata(
                of: row, keychainID: store.keychainID, keys: keys)
        else { return .damaged }
        return .opened(OpenedRow(row: row, record: record, protection: protection, keys: keys))
    }
}

extension ItemQuery {
    /// A query for the one item that has the same primary key as `item`, if there is one.
    init(
        primaryKeyOf item: NewItem, in group: String,
        _ authorization: Authorization = Authorization()
    ) {
        let itemClass = item.itemClass
        var key: Attributes = [:]
        for name in itemClass.primaryKey {
            key[name] = item.attributes[name] ?? .empty(of: name.kind)
        }
        self.init(
            itemClass: itemClass, attributes: key, accessGroup: group,
            isSynchronizable: item.isSynchronizable, isTombstone: item.isTombstone,
            authorization: authorization)
    }
}

extension AccessGroups {
    /// Whether a request with these queries applies only to items that the caller's program added
    /// itself. This is so if the program has no entitlements and the queries identify no particular
    /// items.
    ///
    /// Programs without entitlements share a group. A program that empties a class when it first
    /// runs, as programs for iOS do, would otherwise delete the secrets of all other programs in
    /// the group.
    func isConfined(by queries: ItemQuery...) -> Bool {
        program != nil && queries.allSatisfy(\.isOfClassAlone)
    }

    /// Whether the caller's program added an item. Only items of programs without entitlements name
    /// their program. If the name of the caller's program is unknown, the answer is `false`.
    func hasAdded(_ record: ItemRecord) -> Bool { record.program == program }
}

extension ItemRecord {
    /// Whether the record satisfies the query and is visible to the caller.
    ///
    /// The labels have decided most of this already. Class, flags and group are checked again in
    /// the authenticated metadata, as in Apple's implementation.
    func matches(
        _ query: ItemQuery, _ search: RowSearch, _ protection: ProtectionClass,
        caller: AccessGroups
    ) -> Bool {
        guard itemClass == query.itemClass, isTombstone == query.isTombstone,
            caller.contains(accessGroup)
        else { return false }
        if let wanted = query.isSynchronizable, wanted != isSynchronizable { return false }
        if let wanted = query.accessGroup, wanted != accessGroup { return false }
        if let wanted = query.protection, wanted != protection { return false }
        for (attribute, wanted) in search.residual {
            let isKey = itemClass.otherKeys.contains(attribute)
            guard let value = attributes[attribute] ?? (isKey ? .empty(of: attribute.kind) : nil),
                value.isEqual(to: wanted)
            else { return false }
        }
        if let host = query.hostOrSubdomain {
            guard case .string(let server) = attributes[.server],
                server == host || server.hasSuffix("." + host)
            else { return false }
        }
        return true
    }
}
