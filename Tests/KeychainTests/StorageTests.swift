// StorageTests: replacement, deletion, listing, separation and protection of items. Each test runs
// through the engine and through the SecItem functions, on disk and in memory.

import Foundation
import Testing

@testable import Keychain

@Suite struct StorageTests {
    @Test(arguments: Way.allCases)
    func `saving over an item keeps its reference and creation date`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("old", for: .token)
        let before = try #require(try keychain.item(.token))
        try keychain.save("new", for: .token)
        let after = try #require(try keychain.item(.token))
        #expect(try keychain.load(.token) == "new")
        #expect(after.persistentReference == before.persistentReference)
        #expect(after.creationDate == before.creationDate)
        #expect(after.modificationDate > before.modificationDate)
        #expect(try keychain.items() == [after])
    }

    @Test(arguments: Way.allCases)
    func `an item that was deleted and saved again has a new reference`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("old", for: .token)
        let before = try #require(try keychain.item(.token))
        try keychain.delete(.token)
        try keychain.save("new", for: .token)
        let after = try #require(try keychain.item(.token))
        #expect(after.persistentReference != before.persistentReference)
    }

    @Test(arguments: Way.allCases)
    func `adding an existing item reports a duplicate and keeps the item`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.add("first", for: .token)
        let error = failure { try keychain.add("second", for: .token) }
        #expect(error?.code == .duplicateItem)
        #expect(error?.operation == .save)
        #expect(error?.account == "token")
        #expect(try keychain.load(.token) == "first")
    }

    @Test(arguments: Way.allCases)
    func `load with orAdd creates a value only if the item doesn't exist`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        var count = 0
        let make = { () -> String in
            count += 1
            return "made \(count)"
        }
        #expect(try keychain.load(.token, orAdd: make) == "made 1")
        #expect(try keychain.load(.token, orAdd: make) == "made 1")
        #expect(count == 1)
    }

    @Test(arguments: Way.allCases)
    func `deleting an item returns whether the item existed`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("x", for: .token)
        #expect(try keychain.exists(.token))
        #expect(try keychain.delete(.token))
        #expect(try !keychain.exists(.token))
        #expect(try keychain.load(.token) == nil)
        #expect(try !keychain.delete(.token))
        #expect(try !keychain.delete(.account("never saved")))
    }

    @Test(arguments: Way.allCases)
    func `an item's attributes can be read`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("1234", for: .pin)
        let item = try #require(try keychain.item(.pin))
        #expect(item.account == "pin")
        #expect(item.label == "PIN")
        #expect(item.accessibility == .whenUnlocked)
        #expect(!item.isSynchronizable)
        #expect(item.accessGroup == "group.main")
        #expect(item.persistentReference.count == 20)
        #expect(item.persistentReference.prefix(4) == Data("genp".utf8))
        #expect(item.creationDate == item.modificationDate)
    }

    @Test(arguments: Way.allCases)
    func `an item is on this device only and readable after first unlock by default`(
        way: Way
    ) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("x", for: .token)
        let item = try #require(try keychain.item(.token))
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(item.label == nil)
        #expect(!item.isSynchronizable)
    }

    @Test(
        arguments: Way.allCases,
        [
            Keychain.Accessibility.whenUnlocked, .afterFirstUnlock, .whenUnlockedThisDeviceOnly,
            .afterFirstUnlockThisDeviceOnly,
        ])
    func `an item has the requested accessibility`(
        way: Way, accessibility: Keychain.Accessibility
    ) throws {
        let keychain = try TestDatabase(way).keychain(accessibility: accessibility)
        try keychain.save("x", for: .token)
        #expect(try keychain.item(.token)?.accessibility == accessibility)
        let key = KeychainKey<String>("token", accessibility: .whenUnlocked)
        try keychain.save("x", for: key)
        #expect(try keychain.item(.token)?.accessibility == .whenUnlocked)
        try keychain.save("x", for: .token)
        #expect(try keychain.item(.token)?.accessibility == accessibility)
    }

    @Test(arguments: Way.allCases)
    func `saving without a label keeps the existing label`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        try keychain.save("1", for: .pin)
        try keychain.save("2", for: KeychainKey<String>("pin"))
        #expect(try keychain.item(.pin)?.label == "PIN")
        try keychain.save("3", for: KeychainKey<String>("pin", label: "Code"))
        #expect(try keychain.item(.pin)?.label == "Code")
    }

    @Test(arguments: Way.allCases)
    func `keychains that differ in service, group or synchronizability don't affect each other`(
        way: Way
    ) throws {
        let database = try TestDatabase(way)
        let keychains = [
            database.keychain("a", group: "group.main"),
            database.keychain("b", group: "group.main"),
            database.keychain("a", group: "group.shared"),
            database.keychain("a", group: "group.main", synchronizable: true),
        ]
        for (number, keychain) in keychains.enumerated() {
            try keychain.save("\(number)", for: .token)
            try keychain.save("\(number)", for: KeychainKey("second"))
        }
        for (number, keychain) in keychains.enumerated() {
            #expect(try keychain.load(.token) == "\(number)")
            #expect(try keychain.items().count == 2)
        }
        #expect(try keychains[0].delete(.token))
        #expect(try keychains[0].removeAll() == 1)
        for (number, keychain) in keychains.enumerated().dropFirst() {
            #expect(try keychain.load(.token) == "\(number)")
            #expect(try keychain.items().count == 2)
        }
        #expect(try keychains[3].item(.token)?.isSynchronizable == true)
        #expect(try keychains[2].item(.token)?.accessGroup == "group.shared")
    }

    @Test(arguments: Way.allCases)
    func `a save without a group changes only the item of the default group`(way: Way) throws {
        let database = try TestDatabase(way)
        let own = database.keychain(group: "group.main")
        let shared = database.keychain(group: "group.shared")
        try own.save("old", for: .token)
        try shared.save("for all", for: .token)
        try database.keychain().save("private", for: .token)
        #expect(try own.load(.token) == "private")
        #expect(try shared.load(.token) == "for all")
    }

    @Test(arguments: Way.allCases)
    func `a save without a group adds an item even if another group has an item for the account`(
        way: Way
    ) async throws {
        let database = try TestDatabase(way)
        let own = database.keychain(group: "group.main")
        let shared = database.keychain(group: "group.shared")
        try await shared.save("for all", for: .token)
        for value in ["private", "newer"] {
            try await database.keychain().save(value, for: .token)
            #expect(try await own.load(.token) == value)
            #expect(try await shared.load(.token) == "for all")
        }
    }

    @Test(arguments: Way.allCases)
    func `removing all items returns their number`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        #expect(try keychain.removeAll() == 0)
        for number in 0..<5 { try keychain.save(number, for: KeychainKey("account \(number)")) }
        #expect(Set(try keychain.items().map(\.account)).count == 5)
        #expect(try keychain.removeAll() == 5)
        #expect(try keychain.items().isEmpty)
    }

    @Test(arguments: Way.allCases)
    func `a keychain without a group saves items in the default group`(way: Way) throws {
        let database = try TestDatabase(way)
        try database.keychain().save("x", for: .token)
        #expect(try database.keychain(group: "group.main").load(.token) == "x")
        #expect(try database.keychain(group: "group.shared").load(.token) == nil)
    }

    @Test(arguments: Way.allCases)
    func `a synchronizable item is not this-device-only by default`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain(synchronizable: true)
        try keychain.save("x", for: .token)
        let item = try #require(try keychain.item(.token))
        #expect(item.isSynchronizable)
        #expect(item.accessibility == .afterFirstUnlock)
    }

    @Test(arguments: Way.allCases)
    func `a synchronizable item can't be this-device-only`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain(
            accessibility: .whenUnlockedThisDeviceOnly, synchronizable: true)
        let error = failure { try keychain.save("x", for: .token) }
        #expect(error?.code == .param)
        #expect(try !keychain.exists(.token))
    }

    @Test(arguments: Way.allCases)
    func `using another program's access group is reported as a missing entitlement`(way: Way)
        throws
    {
        let keychain = try TestDatabase(way).keychain(group: "group.foreign")
        #expect(failure { try keychain.save("x", for: .token) }?.code == .missingEntitlement)
        #expect(failure { _ = try keychain.load(.token) }?.code == .missingEntitlement)
        #expect(failure { try keychain.delete(.token) }?.code == .missingEntitlement)
        #expect(failure { _ = try keychain.items() }?.code == .missingEntitlement)
        #expect(failure { try keychain.removeAll() }?.code == .missingEntitlement)
    }
}
