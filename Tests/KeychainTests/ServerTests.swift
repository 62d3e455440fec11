// Internet passwords. A keychain for a server has the same operations and guarantees as a keychain
// for a service. The tests run through the engine and through the SecItem functions.

import Foundation
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainCore
import KeychainTesting
#endif

@Suite struct ServerTests {
    fileprivate static let full = Keychain.Server(
        "example.com", protocol: .https, port: 443, path: "/login", securityDomain: "staff",
        authenticationType: .httpBasic)

    /// Six servers that each differ from `full` in one attribute, and a server with only a host.
    private static let others: [Keychain.Server] = {
        var others = Array(repeating: full, count: 6)
        others[0].host = "www.example.com"
        others[1].protocol = .http
        others[2].port = 8443
        others[3].path = nil
        others[4].securityDomain = "guests"
        others[5].authenticationType = .httpDigest
        return others + [Keychain.Server("example.com")]
    }()

    private func keychain(
        _ server: Keychain.Server, in test: TestDatabase, synchronizable: Bool = false
    ) -> Keychain {
        Keychain(server: server, synchronizable: synchronizable, in: test.database)
    }

    @Test(arguments: Way.allCases)
    func `a password is saved, loaded, listed, changed and deleted`(way: Way) throws {
        let test = try TestDatabase(way)
        let keychain = keychain(Self.full, in: test)
        let alice = KeychainKey<String>("alice", label: "example.com (alice)")
        #expect(try keychain.load(alice) == nil)
        try keychain.add("1", for: alice)
        #expect(failure { try keychain.add("2", for: alice) }?.code == .duplicateItem)
        let before = try #require(try keychain.item(alice))
        #expect(before.label == "example.com (alice)")
        #expect(before.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(before.persistentReference.prefix(4) == Data("inet".utf8))
        try keychain.save("2", for: alice)
        #expect(try keychain.load(alice) == "2")
        #expect(try keychain.update(alice) { $0? += "3" } != nil)
        #expect(try keychain.load(alice) == "23")
        let exchange = try keychain.compareExchange(expected: "23", desired: "4", for: alice)
        #expect(exchange.exchanged)
        let after = try #require(try keychain.item(alice))
        #expect(after.persistentReference == before.persistentReference)
        #expect(after.creationDate == before.creationDate)
        try keychain.save("bob's", for: KeychainKey("bob"))
        #expect(try keychain.items().map(\.account).sorted() == ["alice", "bob"])
        #expect(try keychain.delete(alice))
        #expect(try !keychain.delete(alice))
        #expect(try keychain.load(alice, orAdd: { "made" }) == "made")
        #expect(try keychain.removeAll() == 2)
        #expect(try !keychain.exists(alice))
    }

    @Test(arguments: Way.allCases)
    func `keychains for servers that differ in one attribute share no passwords`(way: Way) throws {
        let test = try TestDatabase(way)
        let keychains = ([Self.full] + Self.others).map { keychain($0, in: test) }
        for (number, keychain) in keychains.enumerated() {
            try keychain.add("\(number)", for: KeychainKey("alice"))
        }
        for (number, keychain) in keychains.enumerated() {
            #expect(try keychain.load(KeychainKey<String>("alice")) == "\(number)")
            #expect(try keychain.items().count == 1)
        }
        #expect(try keychains[0].removeAll() == 1)
        for (number, keychain) in keychains.enumerated().dropFirst() {
            try keychain.save("new \(number)", for: KeychainKey("alice"))
            #expect(try keychain.load(KeychainKey<String>("alice")) == "new \(number)")
        }
        #expect(try keychains[7].items().count == 1)
    }

    @Test(arguments: Way.allCases)
    func `an absent port, path or security domain equals port 0 or empty text`(way: Way) throws {
        let test = try TestDatabase(way)
        try keychain(Keychain.Server("example.com"), in: test)
            .save("x", for: KeychainKey("alice"))
        let empty = Keychain.Server("example.com", port: 0, path: "", securityDomain: "")
        #expect(try keychain(empty, in: test).load(KeychainKey<String>("alice")) == "x")
    }

    @Test(arguments: Way.allCases)
    func `a server and a service with the same name are separate, as are local and synced items`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let local = keychain(Keychain.Server("example.com"), in: test)
        let synchronizable = keychain(
            Keychain.Server("example.com"), in: test, synchronizable: true)
        let service = test.keychain("example.com")
        for (value, keychain) in [("l", local), ("s", synchronizable), ("g", service)] {
            try keychain.save(value, for: KeychainKey("alice"))
        }
        #expect(try local.load(KeychainKey<String>("alice")) == "l")
        #expect(try synchronizable.load(KeychainKey<String>("alice")) == "s")
        #expect(try service.load(KeychainKey<String>("alice")) == "g")
        #expect(try synchronizable.item(.account("alice"))?.accessibility == .afterFirstUnlock)
    }

    @Test(arguments: Way.allCases)
    func `a locked password isn't found for a server with different attributes`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let key = KeychainKey<String>("alice", accessibility: .whenUnlocked)
        try keychain(Self.full, in: test).save("x", for: key)
        let bare = keychain(Keychain.Server("example.com"), in: test)
        #expect(try bare.load(key) == nil)
        try test.lock()
        let others = [Keychain.Server("www.example.com"), Self.full]
        #expect(
            failure { _ = try keychain(others[1], in: test).load(key) }?.code
                == .interactionNotAllowed)
        #expect(try bare.load(key) == nil)
        #expect(try !bare.exists(key))
        #expect(try keychain(others[0], in: test).load(key) == nil)
        #expect(try bare.load(KeychainKey<String>("bob")) == nil)
        try test.unlock()
        #expect(try bare.load(key) == nil)
        #expect(try keychain(others[1], in: test).load(key) == "x")
    }

    @Test(arguments: Way.allCases)
    func `an error has the server and the account, but its description omits the server`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let keychain = keychain(Self.full, in: test)
        try keychain.save(Data([0xFF]), for: KeychainKey("alice"))
        let error = failure { _ = try keychain.load(KeychainKey<String>("alice")) }
        #expect(error?.code == .dataConversionFailed)
        #expect(error?.operation == .load)
        #expect(error?.service == "example.com")
        #expect(error?.account == "alice")
        #expect(error.map { "\($0)".contains("example.com") } == false)
    }

    @Test(arguments: Way.allCases)
    func `observers of a password see that a migration moves the password to another server`(
        way: Way
    ) async throws {
        let test = try TestDatabase(way)
        let old = keychain(Self.full, in: test)
        let key = KeychainKey<String>("alice")
        try await old.save("x", for: key)
        var states = old.changes(of: key).makeAsyncIterator()
        #expect(await states.next()?.value == "x")
        let new = keychain(Self.others[2], in: test)
        #expect(try await new.migrateAll(from: old).isComplete)
        #expect(try await new.load(key) == "x")
        #expect(try await !old.exists(key))
        let after = await states.next()
        #expect(after?.value == nil && after?.error == nil)
    }
}

#if !canImport(Darwin)

extension ServerTests {
    @Test(arguments: [Way.typedInMemory, .secItemInMemory])
    func `the engine and the SecItem functions store the same item for a password`(
        way: Way
    ) throws {
        let test = TestKeychain()
        let database = way == .typedInMemory ? test.database : test.secItemDatabase
        try Keychain(server: Self.full, in: database).save("x", for: KeychainKey("alice"))
        let found = try test.engine.perform(
            FindItems(ItemQuery(itemClass: .internetPassword), Retrieval(limit: nil)),
            as: AccessGroups(["default"]))
        let item = try #require(found.first)
        #expect(found.count == 1)
        #expect(item.attributes[.server] == .string("example.com"))
        #expect(item.attributes[.protocolType] == .string("htps"))
        #expect(item.attributes[.port] == .number(443))
        #expect(item.attributes[.path] == .string("/login"))
        #expect(item.attributes[.securityDomain] == .string("staff"))
        #expect(item.attributes[.authenticationType] == .string("http"))
        #expect(item.attributes[.account] == .string("alice"))
        #expect(item.attributes[.service] == nil)
    }

    @Test func `an item without the optional attributes of a server is found`() throws {
        let test = TestKeychain()
        let engine = try test.engine
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .internetPassword,
                    attributes: [.server: .string("example.com"), .account: .string("alice")],
                    data: Data("x".utf8))), as: AccessGroups(["default"]))
        for database in [test.database, test.secItemDatabase] {
            let keychain = Keychain(server: Keychain.Server("example.com"), in: database)
            #expect(try keychain.load(KeychainKey<String>("alice")) == "x")
        }
    }
}

#endif
