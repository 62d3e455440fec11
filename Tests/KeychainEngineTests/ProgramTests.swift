// ProgramTests: which items a caller without entitlements changes or deletes when the request
// identifies no particular items, for example when it names only a class.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct ProgramTests {
    private let notes = AccessGroups.withoutEntitlements(executable: "/usr/bin/notes")
    private let mail = AccessGroups.withoutEntitlements(executable: "/opt/mail")
    private let entitled = AccessGroups(["default"])
    private let passwords = ItemQuery(itemClass: .genericPassword)

    private func engine() throws -> KeychainEngine {
        try KeychainEngine.open(try MemoryPlace(), options: .testing)
    }

    private func password(
        _ account: String, protection: ProtectionClass = .afterFirstUnlock
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword, attributes: genericPassword(account),
            protection: protection, data: Data("x".utf8))
    }

    private func accounts(_ engine: KeychainEngine) throws -> Set<AttributeValue> {
        let found = try? engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, isSynchronizable: nil), Retrieval(limit: nil)
            ), as: entitled)
        return Set((found ?? []).compactMap { $0.attributes[.account] })
    }

    // Paths as the kernel shows them in /proc/PID/exe.
    @Test(arguments: [
        ("/usr/bin/notes", "notes"), ("/opt/notes (deleted)", "notes"), ("/a/b c", "b c"),
        ("/" + String(repeating: "n", count: 255), String(repeating: "n", count: 255)),
        ("/" + String(repeating: "n", count: 256), ""), ("/", ""), ("", ""), (nil, ""),
    ])
    func `a program's name is the file name of its executable`(path: String?, name: String) {
        let caller = AccessGroups.withoutEntitlements(executable: path)
        #expect(caller.program == name)
        #expect(caller.names == ["default"])
    }

    /// Queries that name an item class and at most one of these: a group, a protection class, or
    /// whether items are synchronizable.
    private static let wide: [ItemQuery] = [
        ItemQuery(itemClass: .genericPassword),
        ItemQuery(itemClass: .genericPassword, accessGroup: "default"),
        ItemQuery(itemClass: .genericPassword, protection: .afterFirstUnlock),
        ItemQuery(itemClass: .genericPassword, isSynchronizable: nil),
    ]

    @Test
    func `deleting by class, group, protection or synchronizability spares other programs' items`()
        throws
    {
        for query in Self.wide {
            let engine = try engine()
            _ = try engine.perform(AddItem(password("n")), as: notes)
            _ = try engine.perform(AddItem(password("m")), as: mail)
            #expect(try engine.perform(DeleteItems(query, tombstones: .automatic), as: mail) == 1)
            #expect(try accounts(engine) == [.string("n")])
        }
    }

    @Test func `deleting by attribute or reference deletes other programs' items too`() throws {
        let engine = try engine()
        let item = try engine.perform(AddItem(password("n")), as: notes)
        _ = try engine.perform(AddItem(password("o")), as: notes)
        let byReference = ItemQuery(itemClass: .genericPassword, reference: item.reference)
        #expect(try engine.perform(DeleteItems(byReference, tombstones: .automatic), as: mail) == 1)
        let byService = ItemQuery(
            itemClass: .genericPassword, attributes: [.service: .string("service")])
        #expect(try engine.perform(DeleteItems(byService, tombstones: .automatic), as: mail) == 1)
    }

    @Test func `items added in any way belong to the program that added them`() throws {
        let engine = try engine()
        _ = try engine.perform(AddItems([password("a"), password("b")]), as: mail)
        try engine.perform(PutItem(password("c"), orChange: passwords, ItemChanges()), as: mail)
        _ = try engine.perform(AddItem(password("n")), as: notes)
        // A put that changes an existing item doesn't change the item's owner.
        try engine.perform(
            PutItem(
                password("n"),
                orChange: ItemQuery(itemClass: .genericPassword, attributes: genericPassword("n")),
                ItemChanges(data: Data("y".utf8))), as: mail)
        #expect(try engine.perform(DeleteItems(passwords, tombstones: .automatic), as: mail) == 3)
        #expect(try accounts(engine) == [.string("n")])
    }

    @Test func `a program whose name is unknown deletes nothing by class`() throws {
        let unknown = AccessGroups.withoutEntitlements(executable: nil)
        let engine = try engine()
        for caller in [unknown, notes, entitled] {
            _ = try engine.perform(AddItem(password(caller.program ?? "entitled")), as: caller)
        }
        #expect(
            status {
                try engine.perform(DeleteItems(passwords, tombstones: .automatic), as: unknown)
            }
                == .itemNotFound)
        #expect(try accounts(engine).count == 3)
        #expect(
            try engine.perform(DeleteItems(passwords, tombstones: .automatic), as: entitled) == 3)
    }

    @Test func `without entitlements, a locked item of unknown owner prevents deleting by class`()
        throws
    {
        let engine = try engine()
        _ = try engine.perform(AddItem(password("n", protection: .whenUnlocked)), as: notes)
        _ = try engine.perform(AddItem(password("m")), as: mail)
        try engine.setPasscode(passcode("passcode"))
        try engine.lock()
        #expect(
            status { try engine.perform(DeleteItems(passwords, tombstones: .automatic), as: mail) }
                == .interactionNotAllowed)
        #expect(
            status { try engine.perform(UpdateItems(passwords, ItemChanges()), as: mail) }
                == .interactionNotAllowed)
        try engine.unlock(passcode: passcode("passcode"))
        #expect(try accounts(engine).count == 2)
        try engine.lock()
        // The lock doesn't prevent a program with entitlements from deleting the items.
        #expect(
            try engine.perform(DeleteItems(passwords, tombstones: .automatic), as: entitled) == 2)
    }

    @Test func `the name of an item's program can't be queried and is never returned`() throws {
        let engine = try engine()
        let item = try engine.perform(AddItem(password("n")), as: notes)
        let found = try engine.perform(
            FindItems(passwords, Retrieval(includesData: true)), as: mail)
        #expect(found == [item])
        #expect(Attribute(name: "prog") == nil)
        #expect(!"\(item)".contains("notes"))
    }

    @Test
    func `a program deletes an identity by class only if it added both certificate and key`()
        throws
    {
        let hash = AttributeValue.data(Data(repeating: 1, count: 20))
        func certificate(_ serial: UInt8) -> NewItem {
            NewItem(
                itemClass: .certificate,
                attributes: [
                    .certificateType: .number(1), .issuer: .data(Data("issuer".utf8)),
                    .serialNumber: .data(Data([serial])), .publicKeyHash: hash,
                ], data: Data([serial]))
        }
        let key = NewItem(
            itemClass: .key,
            attributes: [
                .applicationLabel: hash, .keyClass: .number(1), .isPrivate: .number(1),
                .type: .number(73), .keySizeInBits: .number(256),
            ], data: Data("key".utf8))
        let query = IdentityQuery(
            certificate: ItemQuery(itemClass: .certificate), key: ItemQuery(itemClass: .key))
        let changes = IdentityChanges(certificate: ItemChanges(), key: ItemChanges())
        let engine = try engine()
        _ = try engine.perform(AddItems([certificate(1), key]), as: notes)
        _ = try engine.perform(AddItem(certificate(2)), as: mail)
        #expect(
            status { try engine.perform(UpdateIdentities(query, changes), as: mail) }
                == .itemNotFound)
        #expect(
            status { try engine.perform(DeleteIdentities(query, tombstones: .automatic), as: mail) }
                == .itemNotFound)
        #expect(try engine.perform(UpdateIdentities(query, changes), as: notes) == 1)
        #expect(try engine.perform(DeleteIdentities(query, tombstones: .automatic), as: notes) == 1)
        // The key was not deleted with the identity of `notes`, because the certificate of `mail`
        // has the same key. So there is still one identity.
        #expect(
            try engine.perform(DeleteIdentities(query, tombstones: .automatic), as: entitled) == 1)
        #expect(try engine.check().itemCount == 0)
    }
}
