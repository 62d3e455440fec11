// The item that a search with a limit of one returns if several items match.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Testing

@Suite struct OrderTests {
    /// Adds items of one service.
    /// - Returns: Their references, in the order of addition.
    private func fill(_ keychain: TemporaryKeychain, _ count: Int) throws -> [ItemReference] {
        try (0..<count).map { number in
            try add(
                keychain, .genericPassword,
                [
                    .service: .string("s"), .account: .string("a\(number)"),
                    .comment: .string("c\(number)"),
                ])
        }
    }

    private func add(
        _ keychain: TemporaryKeychain, _ itemClass: ItemClass, _ attributes: Attributes
    ) throws -> ItemReference {
        try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: itemClass, attributes: attributes, protection: .whenUnlocked,
                    data: Data("x".utf8))), as: keychain.caller
        ).reference
    }

    private func first(
        _ keychain: TemporaryKeychain, _ attributes: Attributes,
        of itemClass: ItemClass = .genericPassword, includesData: Bool = true
    ) throws -> ItemReference? {
        try keychain.engine.perform(
            FindItems(
                ItemQuery(itemClass: itemClass, attributes: attributes),
                Retrieval(includesData: includesData)), as: keychain.caller
        ).first?.reference
    }

    /// The index is in the order of keyed labels, which differs between keychains. If searches
    /// returned items in that order, the probability that all eight runs pass would be below
    /// 1 in 1,000,000.
    @Test(arguments: 1...8)
    func `if several items of a service match, the item added first is returned`(run: Int) throws {
        let keychain = try TemporaryKeychain()
        let added = try fill(keychain, 6)
        for includesData in [true, false] {
            #expect(
                try first(keychain, [.service: .string("s")], includesData: includesData)
                    == added[0])
        }
        try keychain.engine.perform(
            DeleteItems(
                ItemQuery(itemClass: .genericPassword, reference: added[0]),
                tombstones: .never), as: keychain.caller)
        #expect(try first(keychain, [.service: .string("s")]) == added[1])
    }

    @Test(arguments: 1...4)
    func `if several items of a server and account match, the item added first is returned`(
        run: Int
    ) throws {
        let keychain = try TemporaryKeychain()
        let key: Attributes = [.server: .string("h"), .account: .string("a")]
        let added = try (1...6).map { number in
            try add(
                keychain, .internetPassword,
                key.merging([.port: .number(Int64(number))]) { $1 })
        }
        #expect(try first(keychain, key, of: .internetPassword) == added[0])
    }

    /// The items differ in an attribute of the primary key that the search doesn't name. Some have
    /// data that doesn't fit on one page, and some are in another group.
    @Test(arguments: [ItemClass.genericPassword, .internetPassword], 1...4)
    func `a search for data alone returns the same item as a search with attributes`(
        itemClass: ItemClass, run: Int
    ) throws {
        let keychain = try TemporaryKeychain()
        let key: Attributes = [
            itemClass.firstKey: .string("s"), itemClass.secondKey: .string("a"),
        ]
        for number in 0..<12 {
            try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: itemClass,
                        attributes: key.merging([.syncViewHint: .string("\(number)")]) { $1 },
                        accessGroup: number % 3 == 0 ? "G2" : "G1",
                        data: Data(count: number % 2 == 0 ? 10_000 : 10))),
                as: keychain.caller)
        }
        for group in ["G1", "G2", nil] {
            let query = ItemQuery(
                itemClass: itemClass, attributes: key, accessGroup: group, isSynchronizable: false)
            let found = try [true, false].map { includesAttributes in
                try keychain.engine.perform(
                    FindItems(
                        query,
                        Retrieval(includesData: true, includesAttributes: includesAttributes)),
                    as: keychain.caller
                ).map(\.reference)
            }
            #expect(found[0].count == 1)
            #expect(found[0] == found[1])
        }
    }

    @Test func `an item among many is found by an attribute that isn't indexed`() throws {
        let keychain = try TemporaryKeychain()
        let added = try fill(keychain, 150)
        for number in [0, 15, 16, 17, 149] {
            #expect(
                try first(
                    keychain, [.service: .string("s"), .comment: .string("c\(number)")])
                    == added[number])
        }
        #expect(
            status {
                _ = try first(keychain, [.service: .string("s"), .comment: .string("none")])
            } == .itemNotFound)
    }
}
