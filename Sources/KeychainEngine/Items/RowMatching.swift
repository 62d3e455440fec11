// RowMatching: a sealed row to an item of an answer, if it is one.

import FoundationEssentials
import KeychainCrypto
import KeychainCore
import KeychainSQLite

/// A row whose metadata were opened, so their tag was checked.
struct OpenedRow {
    let row: SealedRow
    let record: ItemRecord
    let protection: ProtectionClass
    let keys: ClassKeys

    func item(data: Data? = nil) -> ItemSnapshot {
        ItemSnapshot(
            itemClass: record.itemClass, reference: row.reference, attributes: record.attributes,
            accessGroup: record.accessGroup, protection: protection,
            constraints: record.constraints, isSynchronizable: record.isSynchronizable,
            isTombstone: record.isTombstone, hasData: record.secretTag != nil, data: data)
    }
}

extension AccessGroups {
    /// Whether a change or deletion by these queries is of what the caller's own program added, and
    /// of nothing else: it has no entitlements, and they name classes alone.
    ///
    /// Programs without entitlements share a group. One that empties a class when it first runs, as
    /// programs for iOS do, would otherwise delete the secrets of every other.
    func isConfined(by queries: ItemQuery...) -> Bool {
        program != nil && queries.allSatisfy(\.isOfClassAlone)
    }

    /// Whether an item was added by the caller's own program. One without a mark was added by none.
    func hasAdded(_ record: ItemRecord) -> Bool { record.program == program }
}

extension ItemRecord {
    /// Whether the record is one that the query means and the caller may see.
    ///
    /// The labels have decided most of it already. Class, flags and group are looked at again
    /// in the authenticated metadata, as Apple's implementation does.
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
