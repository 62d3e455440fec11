// KeychainFailureTests: the items of the keychain manager, and keychains that fail.

import Foundation
import KeychainTesting
import Security
import Testing

@testable import TVRemote

@Suite(.cleanKeychain) struct `Keychain manager, items and failures` {
    let manager = KeychainManager()
    var keychain: TestKeychain { .current }

    private func save(_ value: String) throws {
        try manager.save(value, service: testService, account: "tv")
    }

    private func load() throws -> String? {
        try manager.load(String.self, service: testService, account: "tv")
    }

    private func delete() throws {
        try manager.delete(service: testService, account: "tv")
    }

    // MARK: Items

    @Test func `items are AfterFirstUnlockThisDeviceOnly and not synchronized`() throws {
        try save("one")
        let item = try #require(try keychain.items().first)
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
        #expect(item.accessGroup == "default")
    }

    @Test func `saving again updates the item in place and resets the item's accessibility`() throws
    {
        keychain.now = Date(timeIntervalSince1970: 1000)
        #expect(
            addItem([
                kSecAttrAccount as String: "tv", kSecValueData as String: Data(#""old""#.utf8),
                kSecAttrAccessible as String: kSecAttrAccessibleWhenUnlocked,
                kSecAttrLabel as String: "the label",
            ]) == errSecSuccess)
        keychain.now = Date(timeIntervalSince1970: 2000)
        try save("new")
        let item = try #require(try keychain.items().first)
        #expect(try keychain.items().count == 1)
        #expect(item.creationDate == Date(timeIntervalSince1970: 1000))
        #expect(item.modificationDate == Date(timeIntervalSince1970: 2000))
        #expect(item.label == "the label")
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(try load() == "new")
    }

    @Test func `a synchronized item with the same service and account is left alone`() throws {
        #expect(
            addItem([
                kSecAttrAccount as String: "tv", kSecAttrSynchronizable as String: true,
                kSecValueData as String: Data(#""other""#.utf8),
            ]) == errSecSuccess)
        #expect(try load() == nil)
        try save("own")
        try delete()
        #expect(try keychain.items().map(\.isSynchronizable) == [true])
    }

    @Test func `loading an item without data fails and keeps the item`() throws {
        #expect(addItem([kSecAttrAccount as String: "tv"]) == errSecSuccess)
        #expect(status { _ = try load() } == errSecDecode)
        #expect(try keychain.items().count == 1)
    }

    // MARK: Races

    @Test func `an item that vanishes between add and update is added`() throws {
        keychain.inject(.failure(.init(rawValue: -25299)), into: .add, times: 1)
        try save("one")
        #expect(try load() == "one")
    }

    @Test func `an item that can neither be added nor updated is reported as a duplicate`() throws {
        keychain.inject(.failure(.init(rawValue: -25299)), into: .add, times: 2)
        #expect(status { try save("one") } == errSecDuplicateItem)
        #expect(try keychain.items().isEmpty)
    }

    // MARK: Failures

    /// The statuses of a keychain that is locked, unavailable or damaged, that denies access, or
    /// whose disk is full or fails.
    static let statuses: [Int32] = [-25308, -25293, -25291, -25295, -26275, -34018, -34, -36]

    @Test(arguments: statuses)
    func `every failure reaches the caller, and the stored value is kept`(_ code: Int32) throws {
        try save("one")
        keychain.inject(.failure(.init(rawValue: code)), into: .add, times: 1)
        #expect(status { try save("two") } == code)
        keychain.inject(.failure(.init(rawValue: code)), into: .update, times: 1)
        #expect(status { try save("two") } == code)
        keychain.inject(.failure(.init(rawValue: code)), into: .search, times: 1)
        #expect(status { _ = try load() } == code)
        keychain.inject(.failure(.init(rawValue: code)), into: .delete, times: 1)
        #expect(status { try delete() } == code)
        #expect(try load() == "one")
    }

    @Test func `before the first unlock loading and saving fail, and the value is kept`() throws {
        try save("one")
        try keychain.setPasscode("1234")
        try keychain.restart()
        #expect(status { _ = try load() } == errSecInteractionNotAllowed)
        #expect(status { try save("two") } == errSecInteractionNotAllowed)
        try keychain.unlock()
        #expect(try load() == "one")
    }

    @Test func `a widget on a locked screen loads the value`() throws {
        try save("one")
        try keychain.lock()
        #expect(try keychain.lockState == .locked)
        #expect(try load() == "one")
    }

    @Test func `a program without any access group is denied in every operation`() throws {
        try save("one")
        keychain.accessGroups = []
        keychain.withSecItem {
            #expect(status { try save("two") } == errSecMissingEntitlement)
            #expect(status { _ = try load() } == errSecMissingEntitlement)
            #expect(status { try delete() } == errSecMissingEntitlement)
        }
        keychain.accessGroups = ["default"]
        #expect(try load() == "one")
    }

    @Test func `a program with another access group finds nothing`() throws {
        try save("one")
        keychain.accessGroups = ["ABCDE12345.other"]
        try keychain.withSecItem {
            #expect(try load() == nil)
            try delete()
        }
        keychain.accessGroups = ["default"]
        #expect(try load() == "one")
    }

    @Test func `a new item is in the program's first group, and all groups are searched`() throws {
        keychain.accessGroups = ["first", "second"]
        try keychain.withSecItem { try save("one") }
        #expect(try keychain.items().map(\.accessGroup) == ["first"])
        keychain.accessGroups = ["second", "first"]
        try keychain.withSecItem {
            #expect(try load() == "one")
            try delete()
        }
        #expect(try keychain.items().isEmpty)
        keychain.accessGroups = ["default"]
    }

    @Test func `an error's text has the status and the system's text, or says what failed`() {
        let status = KeychainError.unexpectedStatus(-25308)
        #expect(status.localizedDescription.hasPrefix("The keychain answered -25308: "))
        #expect(
            status.localizedDescription.hasSuffix(
                SecCopyErrorMessageString(-25308, nil) as String? ?? "?"))
        #expect(KeychainError.encodingFailed.localizedDescription == "The value can't be encoded.")
    }
}
