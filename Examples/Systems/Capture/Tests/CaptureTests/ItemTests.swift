// ItemTests: tests which items a key identifies, which items the app can see, and races between
// processes.

import CryptoKit
import Foundation
import KeychainTesting
import Security
import Testing

@testable import Capture

@Suite(.freshKeychain) struct `Items` {
    private let service = KeychainService()

    @Test func `items have the service and accounts of the app`() throws {
        #expect(KeychainService.service == "app.rial.keychain")
        #expect(
            KeychainService.Account.all == [
                "rial.attestation.keyId", "rial.device.id", "rial.device.state",
                "rial.encryption.key",
            ])
        try service.save(Data([1]), forKey: KeychainService.Account.deviceId)
        let item = try #require(try testKeychain.items().first)
        #expect(item.itemClass == "genp")
        #expect(item.service == "app.rial.keychain")
        #expect(item.account == "rial.device.id")
    }

    @Test func `adding a duplicate fails and keeps the stored value`() throws {
        try service.add(Data("one".utf8), forKey: anyKey)
        #expect(throws: KeychainError.duplicateItem) {
            try service.add(Data("two".utf8), forKey: anyKey)
        }
        #expect(try service.load(forKey: anyKey) == Data("one".utf8))
    }

    @Test func `an item that is deleted while it is being overwritten is added again`() throws {
        // The addition reports a duplicate, and the update finds no item.
        try testKeychain.inject(
            .failure(.init(rawValue: errSecDuplicateItem)), into: .add, times: 1)
        try service.save(Data("new".utf8), forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == Data("new".utf8))
    }

    @Test func `a save reports a duplicate if the item is repeatedly created and deleted`() throws {
        try testKeychain.inject(
            .failure(.init(rawValue: errSecDuplicateItem)), into: .add, times: 2)
        #expect(throws: KeychainError.duplicateItem) {
            try service.save(Data("new".utf8), forKey: anyKey)
        }
        #expect(try service.load(forKey: anyKey) == nil)
    }

    @Test func `any text is a valid key, and different keys have different items`() throws {
        let keys =
            ["", " ", "RIAL.TEST", "ключ", "a\0b", "a", String(repeating: "k", count: 10_000)]
            + KeychainService.Account.all
        for key in keys { try service.save(Data(key.utf8), forKey: key) }
        for key in keys { #expect(try service.load(forKey: key) == Data(key.utf8)) }
        #expect(try testKeychain.items().count == 11)
        try service.delete(forKey: "a")
        #expect(try service.load(forKey: "a") == nil)
        #expect(try service.load(forKey: "a\0b") == Data("a\0b".utf8))
    }

    @Test func `items of other services are neither loaded nor deleted`() throws {
        let theirs: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: "org.example.other",
            kSecAttrAccount as String: anyKey,
            kSecValueData as String: Data("theirs".utf8),
        ]
        #expect(SecItemAdd(theirs as CFDictionary, nil) == errSecSuccess)
        #expect(try service.load(forKey: anyKey) == nil)
        try service.save(Data("ours".utf8), forKey: anyKey)
        try service.delete(forKey: anyKey)
        let left = try #require(
            try storedAttributes(forKey: anyKey, service: "org.example.other"))
        #expect(left[kSecAttrAccount as String] as? String == anyKey)
    }

    @Test func `another program of the same user can neither load nor delete the items`() throws {
        let device = try testKeychain
        device.accessGroups = ["ABCDE12345.app.rial"]
        try device.withSecItem { try service.save(Data("ours".utf8), forKey: anyKey) }
        device.accessGroups = ["ABCDE12345.org.example.other"]
        try device.withSecItem { () throws -> Void in
            #expect(try service.load(forKey: anyKey) == nil)
            try service.delete(forKey: anyKey)
        }
        device.accessGroups = ["ABCDE12345.app.rial"]
        try device.withSecItem { () throws -> Void in
            #expect(try service.load(forKey: anyKey) == Data("ours".utf8))
        }
    }

    @Test func `loading an item without data throws invalidData`() throws {
        let empty = service.query(forKey: anyKey)
        #expect(SecItemAdd(empty as CFDictionary, nil) == errSecSuccess)
        #expect(throws: KeychainError.invalidData) { try service.load(forKey: anyKey) }
    }

    @Test func `all tasks that race to make a key get the same key`() async throws {
        let service = service
        let keys = try await withThrowingTaskGroup(of: SymmetricKey.self) { group in
            for _ in 0..<16 {
                group.addTask { try service.loadOrMakeSymmetricKey(forKey: anyKey) }
            }
            return try await group.reduce(into: [SymmetricKey]()) { $0.append($1) }
        }
        #expect(keys.count == 16)
        let stored = try #require(try service.loadSymmetricKey(forKey: anyKey))
        #expect(keys.allSatisfy { $0 == stored })
    }

    @Test func `a key that another process made first is used`() throws {
        // The first search finds nothing, and the addition finds the key of another process.
        let first = CryptoService.generateKey()
        try service.saveSymmetricKey(first, forKey: anyKey)
        try testKeychain.inject(
            .failure(.init(rawValue: errSecItemNotFound)), into: .search, times: 1)
        #expect(try service.loadOrMakeSymmetricKey(forKey: anyKey) == first)
    }

    @Test func `making a key fails if another process's key is deleted before it can be read`()
        throws
    {
        try testKeychain.inject(
            .failure(.init(rawValue: errSecDuplicateItem)), into: .add, times: 1)
        #expect(throws: KeychainError.itemNotFound) {
            try service.loadOrMakeSymmetricKey(forKey: anyKey)
        }
    }
}
