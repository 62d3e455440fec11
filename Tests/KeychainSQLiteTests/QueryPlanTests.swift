import CKeychainSQLite
import Foundation
import KeychainCrypto
import KeychainCore
import KeychainSQLite
import Testing

/// A kind of look-up, and the index that it must use.
struct Lookup: CustomTestStringConvertible, Sendable {
    let name: String
    let index: String
    let query: ItemQuery

    var testDescription: String { name }

    static let all: [Lookup] = [
        Lookup(
            name: "service and account", index: "items_key",
            query: ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .account: .string("a")])),
        Lookup(
            name: "service, account and both kinds of synchronizable", index: "items_key",
            query: ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .account: .string("a")], isSynchronizable: nil)
        ),
        Lookup(
            name: "service", index: "items_key",
            query: ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("s")])),
        Lookup(
            name: "account", index: "items_k2",
            query: ItemQuery(itemClass: .genericPassword, attributes: [.account: .string("a")])),
        Lookup(
            name: "label", index: "terms",
            query: ItemQuery(itemClass: .genericPassword, attributes: [.label: .string("l")])),
        Lookup(
            name: "service and label", index: "terms",
            query: ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .label: .string("l")])),
        Lookup(
            name: "generic", index: "terms",
            query: ItemQuery(
                itemClass: .genericPassword, attributes: [.generic: .data(Data([1]))])),
        Lookup(
            name: "server, account and protocol", index: "items_key",
            query: ItemQuery(
                itemClass: .internetPassword,
                attributes: [
                    .server: .string("s"), .account: .string("a"), .protocolType: .string("htps"),
                ])),
        Lookup(
            name: "port", index: "terms",
            query: ItemQuery(itemClass: .internetPassword, attributes: [.port: .number(80)])),
        Lookup(
            name: "issuer and serial number", index: "items_key",
            query: ItemQuery(
                itemClass: .certificate,
                attributes: [.issuer: .data(Data([1])), .serialNumber: .data(Data([2]))])),
        Lookup(
            name: "issuer", index: "items_key",
            query: ItemQuery(itemClass: .certificate, attributes: [.issuer: .data(Data([1]))])),
        Lookup(
            name: "serial number", index: "items_k2",
            query: ItemQuery(
                itemClass: .certificate, attributes: [.serialNumber: .data(Data([2]))])),
        Lookup(
            name: "public key hash", index: "terms",
            query: ItemQuery(
                itemClass: .certificate, attributes: [.publicKeyHash: .data(Data([3]))])),
        Lookup(
            name: "subject key identifier", index: "terms",
            query: ItemQuery(
                itemClass: .certificate, attributes: [.subjectKeyID: .data(Data([4]))])),
        Lookup(
            name: "subject", index: "terms",
            query: ItemQuery(itemClass: .certificate, attributes: [.subject: .data(Data([5]))])),
        Lookup(
            name: "label of a certificate", index: "terms",
            query: ItemQuery(itemClass: .certificate, attributes: [.label: .string("l")])),
        Lookup(
            name: "application label", index: "items_key",
            query: ItemQuery(itemClass: .key, attributes: [.applicationLabel: .data(Data([1]))])),
        Lookup(
            name: "application label and isPrivate", index: "items_key",
            query: ItemQuery(
                itemClass: .key,
                attributes: [.applicationLabel: .data(Data([1])), .isPrivate: .number(1)],
                isSynchronizable: nil)),
        Lookup(
            name: "application label and label", index: "items_key",
            query: ItemQuery(
                itemClass: .key,
                attributes: [.applicationLabel: .data(Data([1])), .label: .string("l")])),
        Lookup(
            name: "application tag", index: "items_k2",
            query: ItemQuery(itemClass: .key, attributes: [.applicationTag: .string("t")])),
        Lookup(
            name: "label of a key", index: "terms",
            query: ItemQuery(itemClass: .key, attributes: [.label: .string("l")])),
        Lookup(
            name: "key class", index: "items_grp",
            query: ItemQuery(itemClass: .key, attributes: [.keyClass: .number(1)])),
        Lookup(
            name: "persistent reference", index: "items_uuid",
            query: ItemQuery(
                itemClass: .genericPassword, isSynchronizable: nil,
                reference: ItemReference(Bytes16(high: 1, low: 2)))),
        Lookup(
            name: "all items of a class", index: "items_grp",
            query: ItemQuery(itemClass: .genericPassword)),
    ]
}

@Suite struct QueryPlanTests {
    @Test(arguments: Lookup.all)
    func `every look-up uses an index and scans no table`(lookup: Lookup) throws {
        let index = BlindIndex(key: .random(byteCount: 32))
        let other = BlindIndex(key: .random(byteCount: 32))
        for includesSecret in [false, true] {
            for (limit, indexes) in [(1, [index]), (5, [index]), (nil, [index, other])] {
                let search = RowSearch(
                    lookup.query, visibleTo: AccessGroups(["g1", "g2"]), indexes: indexes)
                for pass in search.passes(limit: limit) {
                    let (sql, _) = search.statement(
                        includesSecret: includesSecret, limit: limit, pass)
                    let plan = try plan(of: sql)
                    #expect(
                        plan.contains { $0.contains(lookup.index) }, "\(lookup.name): \(plan)")
                    #expect(!plan.contains { $0.hasPrefix("SCAN i") }, "\(lookup.name): \(plan)")
                    #expect(!plan.contains { $0.hasPrefix("SCAN t") }, "\(lookup.name): \(plan)")
                }
            }
        }
    }

    /// If the search read rows in the order of an index over labels, each row would be on a
    /// different page.
    @Test func `a search by service sorts ids, and then reads rows in the order of their ids`()
        throws
    {
        let search = RowSearch(
            ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("s")]),
            visibleTo: AccessGroups(["g"]), indexes: [BlindIndex(key: .random(byteCount: 32))])
        let (sql, _) = search.statement(includesSecret: false, limit: nil)
        let plan = try plan(of: sql)
        let sort = try #require(plan.firstIndex { $0.hasPrefix("USE TEMP B-TREE FOR ORDER BY") })
        #expect(plan[..<sort].allSatisfy { !$0.contains("SEARCH items") })
        #expect(plan.last?.hasPrefix("SEARCH items USING INTEGER PRIMARY KEY") ?? false)
    }

    /// The steps of SQLite's query plan for a statement, on an empty database with the
    /// store's schema.
    private func plan(of sql: String) throws -> [String] {
        // SAFETY: handles are checked, used on this thread only, and closed on return.
        var connection: OpaquePointer?
        try #require(unsafe sqlite3_open(":memory:", &connection) == SQLITE_OK)
        defer { unsafe sqlite3_close(connection) }
        try #require(
            unsafe sqlite3_exec(connection, Store.schemaSQL, nil, nil, nil) == SQLITE_OK)
        var statement: OpaquePointer?
        try #require(
            unsafe sqlite3_prepare_v2(
                connection, "EXPLAIN QUERY PLAN " + sql, -1, &statement, nil) == SQLITE_OK)
        defer { unsafe sqlite3_finalize(statement) }
        var steps: [String] = []
        while unsafe sqlite3_step(statement) == SQLITE_ROW {
            if let text = unsafe sqlite3_column_text(statement, 3) {
                steps.append(unsafe String(cString: text))
            }
        }
        try #require(!steps.isEmpty)
        return steps
    }
}
