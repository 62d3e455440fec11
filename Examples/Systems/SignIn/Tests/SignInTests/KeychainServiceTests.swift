// KeychainServiceTests: save, read, delete and exists, with a keychain in memory.

import Foundation
import KeychainTesting
import Security
import Testing

@testable import SignIn

@Suite struct `Sign-in keychain service` {
    let test = TestKeychain()
    let keychain = silent

    @Test func `KeychainService has the members that the app's other code uses`() throws {
        let keychain = KeychainService.shared
        let save: (String, KeychainService.Key) throws -> Void = keychain.save(_:for:)
        let read: (KeychainService.Key) throws -> String? = keychain.read(for:)
        let delete: (KeychainService.Key) throws -> Void = keychain.delete(for:)
        let exists: (KeychainService.Key) throws -> Bool = keychain.exists(for:)
        try test.withSecItem { () throws in
            try save(alice, .userIdentifier)
            #expect(try read(.userIdentifier) == alice)
            #expect(try exists(.userIdentifier))
            try delete(.userIdentifier)
            #expect(try !exists(.userIdentifier))
        }
        #expect(KeychainService.shared === keychain)
        #expect(KeychainService.Key(rawValue: "userIdentifier") == .userIdentifier)
    }

    @Test func `a saved value can be read, found, replaced and deleted`() throws {
        try test.withSecItem { () throws in
            #expect(try keychain.read(for: .userIdentifier) == nil)
            #expect(try !keychain.exists(for: .userIdentifier))
            for user in [alice, "", "Žofie 🐩\n\0", String(repeating: "x", count: 100_000)] {
                try keychain.save(user, for: .userIdentifier)
                #expect(try keychain.read(for: .userIdentifier) == user)
                #expect(try keychain.exists(for: .userIdentifier))
            }
            try keychain.delete(for: .userIdentifier)
            #expect(try keychain.read(for: .userIdentifier) == nil)
            #expect(try !keychain.exists(for: .userIdentifier))
        }
    }

    @Test func `deleting an absent item succeeds`() throws {
        try test.withSecItem { () throws in
            try keychain.delete(for: .userIdentifier)
            try keychain.save(alice, for: .userIdentifier)
            try keychain.delete(for: .userIdentifier)
            try keychain.delete(for: .userIdentifier)
        }
        #expect(try test.items().isEmpty)
    }

    @Test func `the item is a generic password with the app's service and the key as account`()
        throws
    {
        try test.withSecItem { try keychain.save(alice, for: .userIdentifier) }
        let items = try test.items()
        #expect(items.count == 1)
        let item = try #require(items.first)
        #expect(item.itemClass == "genp")
        #expect(item.service == "com.steeven.mysubguard")
        #expect(item.account == "userIdentifier")
    }

    @Test func `the item is restricted to this device and not synchronized`() throws {
        try test.withSecItem { try keychain.save(alice, for: .userIdentifier) }
        let item = try #require(try test.items().first)
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
    }

    @Test func `saving over an item that can leave the device restricts the item to the device`()
        throws
    {
        try test.withSecItem { () throws in
            addItem(Data(bob.utf8))
            #expect(try test.items().first?.accessibility == .afterFirstUnlock)
            try keychain.save(alice, for: .userIdentifier)
            #expect(try keychain.read(for: .userIdentifier) == alice)
        }
        #expect(try test.items().map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
    }

    @Test func `saving over an item changes it in place`() throws {
        let start = Date(timeIntervalSinceReferenceDate: 1000)
        try test.withSecItem { () throws in
            test.now = start
            try keychain.save(alice, for: .userIdentifier)
            let reference = try persistentReference()
            test.now = start + 60
            try keychain.save(bob, for: .userIdentifier)
            #expect(try persistentReference() == reference)
        }
        let item = try #require(try test.items().first)
        #expect(item.creationDate == start)
        #expect(item.modificationDate == start + 60)
    }

    @Test func `checking whether an item exists opens no secret`() throws {
        try test.withSecItem { () throws in
            try keychain.save(alice, for: .userIdentifier)
            #expect(try keychain.exists(for: .userIdentifier))
            #expect(test.openedSecretCount == 0)
            #expect(try keychain.read(for: .userIdentifier) == alice)
            #expect(test.openedSecretCount == 1)
        }
    }

    @Test func `an item that another process deletes during a save is saved nevertheless`() throws {
        try test.withSecItem { () throws in
            // The addition reports a duplicate, but the update finds no item.
            test.inject(.failure(.duplicateItem), into: .add, times: 1)
            try keychain.save(alice, for: .userIdentifier)
            #expect(try keychain.read(for: .userIdentifier) == alice)
        }
    }

    @Test func `a save reports a duplicate if the item is repeatedly created and deleted`() {
        test.withSecItem {
            test.inject(.failure(.duplicateItem), into: .add, times: 2)
            #expect(throws: KeychainError.duplicateItem) {
                try keychain.save(alice, for: .userIdentifier)
            }
        }
    }

    @Test func `reading bytes that aren't text fails and keeps the item`() throws {
        try test.withSecItem { () throws in
            addItem(Data([0xFF, 0xFE]))
            #expect(throws: KeychainError.unexpectedStatus(errSecDecode)) {
                try keychain.read(for: .userIdentifier)
            }
            #expect(try keychain.exists(for: .userIdentifier))
        }
    }

    @Test func `saving, reading and checking a locked item report the lock and keep the item`()
        throws
    {
        try test.withSecItem { () throws in
            try keychain.save(alice, for: .userIdentifier)
            try test.setPasscode("1234")
            try test.restart()
            let locked = KeychainError.unexpectedStatus(errSecInteractionNotAllowed)
            #expect(throws: locked) { try keychain.save(bob, for: .userIdentifier) }
            #expect(throws: locked) { try keychain.read(for: .userIdentifier) }
            #expect(throws: locked) { try keychain.exists(for: .userIdentifier) }
            try test.unlock()
            #expect(try keychain.read(for: .userIdentifier) == alice)
        }
    }

    @Test func `every status reaches the caller, and the item stays unchanged`() throws {
        var reached: Set<String> = []
        try test.withSecItem { () throws in
            try keychain.save(alice, for: .userIdentifier)
            // `read`, `delete` and `exists` treat errSecItemNotFound as success. Other tests cover
            // that status.
            for status in Statuses.failures + [-99_999] where status != errSecItemNotFound {
                test.inject(.failure(.init(rawValue: status)))
                let error =
                    status == errSecDuplicateItem
                    ? KeychainError.duplicateItem : KeychainError.unexpectedStatus(status)
                #expect(throws: error) { try keychain.save(bob, for: .userIdentifier) }
                #expect(throws: error) { try keychain.read(for: .userIdentifier) }
                #expect(throws: error) { try keychain.delete(for: .userIdentifier) }
                let thrown = #expect(throws: error) {
                    try keychain.exists(for: .userIdentifier)
                }
                if let thrown { reached.insert("\(thrown)") }
                test.removeFaults()
                #expect(try keychain.read(for: .userIdentifier) == alice)
            }
        }
        #expect(reached.count == 380)
    }

    @Test func `each error has the text of the specification`() {
        let errors: [(any Error, String)] = [
            (KeychainError.duplicateItem, "Item already exists in Keychain"),
            (KeychainError.itemNotFound, "Item not found in Keychain"),
            (KeychainError.unexpectedStatus(-25308), "Keychain error: -25308"),
            (KeychainError.unexpectedStatus(errSecDiskFull), "Keychain error: -34"),
        ]
        for (error, text) in errors { #expect(error.localizedDescription == text) }
    }

    @Test func `a log line contains the operation, the key and the status, but never the value`()
        throws
    {
        let calls = Calls()
        try test.withSecItem { () throws in
            let keychain = calls.keychain
            try keychain.save(alice, for: .userIdentifier)
            try keychain.save(bob, for: .userIdentifier)
            _ = try keychain.read(for: .userIdentifier)
            _ = try keychain.exists(for: .userIdentifier)
            try keychain.delete(for: .userIdentifier)
            _ = try keychain.read(for: .userIdentifier)
            test.inject(.locked)
            #expect(throws: KeychainError.self) { try keychain.save(alice, for: .userIdentifier) }
        }
        #expect(
            calls.lines == [
                "save userIdentifier: 0", "save userIdentifier: 0", "read userIdentifier: 0",
                "look for userIdentifier: 0", "delete userIdentifier: 0",
                "read userIdentifier: -25300", "save userIdentifier: -25308",
            ])
    }

    @Test func `a program of another access group does not see the item`() throws {
        test.accessGroups = ["ABCDE12345.com.steeven.mysubguard"]
        try test.withSecItem { try keychain.save(alice, for: .userIdentifier) }
        test.accessGroups = ["ABCDE12345.com.example.other", "default"]
        try test.withSecItem { () throws in
            #expect(try keychain.read(for: .userIdentifier) == nil)
            #expect(try !keychain.exists(for: .userIdentifier))
            try keychain.delete(for: .userIdentifier)
            try keychain.save(bob, for: .userIdentifier)
        }
        test.accessGroups = ["ABCDE12345.com.steeven.mysubguard"]
        try test.withSecItem { () throws in
            #expect(try keychain.read(for: .userIdentifier) == alice)
        }
    }
}
