// ProtectionTests: tests how `KeychainService` stores items. `KeychainServiceProtocol` doesn't
// specify this.

import DeviceIdentity
import Foundation
import KeychainTesting
import Security
import Testing

/// The persistent reference of the only item.
private func persistentReference() throws -> Data {
    let search: [String: Any] = [
        kSecClass as String: kSecClassGenericPassword,
        kSecReturnPersistentRef as String: true,
        kSecMatchLimit as String: kSecMatchLimitOne,
        kSecUseDataProtectionKeychain as String: true,
    ]
    var result: CFTypeRef?
    #expect(SecItemCopyMatching(search as CFDictionary, &result) == errSecSuccess)
    return try #require(result as? Data)
}

@Suite struct `Items of KeychainService` {
    static let key = "com.poopypals.nickname"

    @Test func `items are AfterFirstUnlockThisDeviceOnly and not synchronized`() throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let service = KeychainService()
            try service.saveString("Ada", for: Self.key)
            // Replacing the value changes none of the attributes that are checked below.
            try service.saveString("Bob", for: Self.key)
            let items = try keychain.items()
            #expect(items.count == 1)
            let item = try #require(items.first)
            #expect(item.itemClass == "genp")
            // A command-line program on Linux has no bundle identifier.
            #expect(item.service == Bundle.main.bundleIdentifier ?? "com.poopypals")
            #expect(item.account == Self.key)
            #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
            #expect(!item.isSynchronizable)
        }
    }

    @Test func `a service neither finds nor deletes the items of a service with another name`()
        throws
    {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let one = KeychainService(service: "com.poopypals.one")
            let two = KeychainService(service: "com.poopypals.two")
            try one.saveString("Ada", for: Self.key)
            #expect(try !two.exists(for: Self.key))
            try two.delete(for: Self.key)
            #expect(try one.loadString(for: Self.key) == "Ada")
            #expect(try keychain.items().map(\.service) == ["com.poopypals.one"])
        }
    }

    @Test func `saving over an item updates it in place`() throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let service = KeychainService()
            let beginning = Date(timeIntervalSinceReferenceDate: 700_000_000)
            keychain.now = beginning
            try service.saveString("Ada", for: Self.key)
            let reference = try persistentReference()
            keychain.now = beginning + 60
            try service.saveString("Bob", for: Self.key)
            let item = try #require(try keychain.items().first)
            #expect(item.creationDate == beginning)
            #expect(item.modificationDate == beginning + 60)
            #expect(try persistentReference() == reference)
            #expect(try service.loadString(for: Self.key) == "Bob")
        }
    }

    @Test func `saving over an item gives it the protection that new items get`() throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let earlier: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: "com.poopypals",
                kSecAttrAccount as String: Self.key,
                kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
                kSecValueData as String: Data("Ada".utf8),
            ]
            #expect(SecItemAdd(earlier as CFDictionary, nil) == errSecSuccess)
            let service = KeychainService(service: "com.poopypals")
            #expect(try service.loadString(for: Self.key) == "Ada")
            try service.saveString("Bob", for: Self.key)
            #expect(
                try keychain.items().map(\.accessibility) == [.afterFirstUnlockThisDeviceOnly])
        }
    }

    @Test func `a save succeeds even if the item is deleted between the addition and the update`()
        throws
    {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            // Simulate this case: the addition reports a duplicate, but the update finds no item.
            keychain.inject(
                .failure(.init(rawValue: errSecDuplicateItem)), into: .add, times: 1)
            try KeychainService().saveString("Ada", for: Self.key)
            #expect(try KeychainService().loadString(for: Self.key) == "Ada")
        }
    }

    @Test func `if a save can't update an item, the save throws and the item is unchanged`() throws
    {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let service = KeychainService()
            try service.saveString("Ada", for: Self.key)
            keychain.inject(.failure(.init(rawValue: errSecIO)), into: .update, times: 1)
            #expect(throws: KeychainError.saveFailed(status: errSecIO)) {
                try service.saveString("Bob", for: Self.key)
            }
            #expect(try service.loadString(for: Self.key) == "Ada")
        }
    }

    @Test(arguments: [
        TestKeychain.Fault.stop(.afterStep(0)), .stop(.beforeCommit), .stop(.afterCommit),
    ])
    func `an interrupted save leaves either the old value or the new value`(
        fault: TestKeychain.Fault
    ) throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let service = KeychainService()
            try service.saveString("Ada", for: Self.key)
            keychain.inject(fault, times: 1)
            #expect(throws: KeychainError.self) { try service.saveString("Bob", for: Self.key) }
            try keychain.restart()
            let isDone = fault == .stop(.afterCommit)
            #expect(try service.loadString(for: Self.key) == (isDone ? "Bob" : "Ada"))
        }
    }

    @Test func `checking whether an item exists opens no secret`() throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let service = KeychainService()
            try service.saveString("Ada", for: Self.key)
            #expect(try service.exists(for: Self.key))
            #expect(keychain.openedSecretCount == 0)
            #expect(try service.loadString(for: Self.key) == "Ada")
            #expect(keychain.openedSecretCount == 1)
        }
    }

    @Test func `a synchronizable item with the same key is a different item`() throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let synchronized: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword,
                kSecAttrService as String: "com.poopypals",
                kSecAttrAccount as String: Self.key,
                kSecAttrSynchronizable as String: true,
                kSecValueData as String: Data("from another device".utf8),
            ]
            #expect(SecItemAdd(synchronized as CFDictionary, nil) == errSecSuccess)
            let service = KeychainService(service: "com.poopypals")
            #expect(try service.load(for: Self.key) == nil)
            try service.delete(for: Self.key)
            #expect(try keychain.items().count == 1)
        }
    }
}
