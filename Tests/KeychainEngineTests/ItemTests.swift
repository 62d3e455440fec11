// Adding, finding, changing and deleting items, and the lock states in which items are readable.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import Testing

@Suite struct ItemTests {
    private func add(
        _ keychain: TemporaryKeychain, _ account: String, data: String? = "x",
        protection: ProtectionClass = .whenUnlocked, more: Attributes = [:]
    ) throws -> ItemSnapshot {
        try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword,
                    attributes: genericPassword(account).merging(more) { $1 },
                    protection: protection, data: data.map { Data($0.utf8) })), as: keychain.caller)
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    @Test func `an added item is found with its data`() throws {
        let keychain = try TemporaryKeychain()
        let added = try add(keychain, "a", data: "secret", more: [.label: .string("L")])
        let found = try keychain.engine.perform(
            FindItems(query("a"), Retrieval(includesData: true)), as: keychain.caller)
        #expect(found == [added])
        #expect(found.first?.data == Data("secret".utf8))
        #expect(found.first?.accessGroup == "G1")
        try keychain.reopen()
        let again = try keychain.engine.perform(
            FindItems(query("a"), Retrieval(includesData: true)), as: keychain.caller)
        #expect(again == [added])
    }

    @Test func `adding a second password with the same primary key reports a duplicate`() throws {
        let keychain = try TemporaryKeychain()
        _ = try add(keychain, "a")
        #expect(status { _ = try add(keychain, "a", data: "y") } == .duplicateItem)
        let found = try keychain.engine.perform(
            FindItems(query("a"), Retrieval(includesData: true)), as: keychain.caller)
        #expect(found.first?.data == Data("x".utf8))
    }

    @Test
    func `an updated item keeps its reference and creation date, and is found by its new label`()
        throws
    {
        let keychain = try TemporaryKeychain()
        let added = try add(keychain, "a", more: [.label: .string("L")])
        try keychain.engine.perform(
            UpdateItems(
                query("a"),
                ItemChanges(
                    attributes: [.account: .string("b"), .label: .string("M")], data: Data("y".utf8)
                )), as: keychain.caller)
        #expect(
            status {
                _ = try keychain.engine.perform(
                    FindItems(query("a"), Retrieval()), as: keychain.caller)
            }
                == .itemNotFound)
        let found = try #require(
            try keychain.engine.perform(
                FindItems(
                    ItemQuery(itemClass: .genericPassword, attributes: [.label: .string("M")]),
                    Retrieval(includesData: true)), as: keychain.caller
            ).first)
        #expect(found.reference == added.reference)
        #expect(found.attributes[.creationDate] == added.attributes[.creationDate])
        #expect(found.data == Data("y".utf8))
    }

    @Test func `a deletion deletes all matching items, and a second deletion finds nothing`() throws
    {
        let keychain = try TemporaryKeychain()
        for account in ["a", "b", "c"] { _ = try add(keychain, account) }
        let all = ItemQuery(
            itemClass: .genericPassword, attributes: [.service: .string("service")])
        #expect(
            try keychain.engine.perform(FindItems(all, Retrieval(limit: nil)), as: keychain.caller)
                .map { $0.attributes[.account] }
                == [.string("a"), .string("b"), .string("c")])
        #expect(
            try keychain.engine.perform(
                DeleteItems(all, tombstones: .automatic), as: keychain.caller) == 3)
        #expect(
            status {
                try keychain.engine.perform(
                    DeleteItems(all, tombstones: .automatic), as: keychain.caller)
            } == .itemNotFound)
    }

    /// A row with a value of the wrong type would be damaged from the start.
    @Test(
        arguments: [
            [.applicationLabel: .data(Data())], [.port: .number(1)], [.isInvisible: .data(Data())],
            [.syncViewHint: .number(1)],
        ] as [Attributes])
    func `an attribute value of the wrong type is refused`(attributes: Attributes) throws {
        let keychain = try TemporaryKeychain()
        #expect(status { _ = try add(keychain, "a", more: attributes) } == .param)
        _ = try add(keychain, "a")
        #expect(
            status {
                try keychain.engine.perform(
                    UpdateItems(query("a"), ItemChanges(attributes: attributes)),
                    as: keychain.caller)
            } == .param)
        #expect(try keychain.engine.check().itemCount == 1)
    }

    @Test func `listing, searching and changing attributes decrypt no secret`() throws {
        let keychain = try TemporaryKeychain()
        for account in 0..<50 { _ = try add(keychain, "\(account)") }
        let all = ItemQuery(itemClass: .genericPassword)
        #expect(
            try keychain.engine.perform(FindItems(all, Retrieval(limit: nil)), as: keychain.caller)
                .count == 50)
        try keychain.engine.perform(
            UpdateItems(query("7"), ItemChanges(attributes: [.label: .string("L")])),
            as: keychain.caller)
        #expect(keychain.engine.openedSecretCount == 0)
        _ = try keychain.engine.perform(
            FindItems(query("7"), Retrieval(includesData: true)), as: keychain.caller)
        #expect(keychain.engine.openedSecretCount == 1)
    }

    @Test func `an item in another group isn't found, and naming that group is refused`() throws {
        let keychain = try TemporaryKeychain()
        _ = try add(keychain, "a")
        let other = AccessGroups(["G2"])
        #expect(
            status {
                _ = try keychain.engine.perform(FindItems(query("a"), Retrieval()), as: other)
            }
                == .itemNotFound)
        var named = query("a")
        named.accessGroup = "G1"
        #expect(
            status { _ = try keychain.engine.perform(FindItems(named, Retrieval()), as: other) }
                == .missingEntitlement)
    }

    @Test(arguments: ProtectionClass.allCases)
    func `an item is readable in the lock states of its protection class`(
        protection: ProtectionClass
    ) throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        let added = try add(keychain, "a", protection: protection)
        func read() -> Status? {
            status {
                let found = try keychain.engine.perform(
                    FindItems(query("a"), Retrieval(includesData: true)), as: keychain.caller)
                #expect(found == [added])
            }
        }
        #expect(read() == nil)
        try keychain.engine.lock()
        let whileLocked: Status? =
            protection.availability == .whileUnlocked ? .interactionNotAllowed : nil
        #expect(read() == whileLocked)
        try keychain.reopen()
        let before: Status? = protection.availability == .always ? nil : .interactionNotAllowed
        #expect(keychain.engine.lockState == .beforeFirstUnlock)
        #expect(read() == before)
        #expect(status { try keychain.engine.unlock(passcode: passcode("4321")) } == .authFailed)
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(read() == nil)
        try keychain.engine.changePasscode(from: passcode("1234"), to: passcode("new"))
        try keychain.reopen()
        #expect(status { try keychain.engine.unlock(passcode: passcode("1234")) } == .authFailed)
        try keychain.engine.unlock(passcode: passcode("new"))
        #expect(read() == nil)
        let gone = try keychain.engine.removePasscode(passcode("new"))
        #expect(gone == (protection == .whenPasscodeSetThisDeviceOnly ? 1 : 0))
        #expect(read() == (gone == 1 ? .itemNotFound : nil))
    }

    @Test func `a locked item can be deleted`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        _ = try add(keychain, "a")
        try keychain.engine.lock()
        #expect(
            try keychain.engine.perform(
                DeleteItems(query("a"), tombstones: .automatic), as: keychain.caller) == 1)
    }
}
