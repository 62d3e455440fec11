// The answers of a keychain whose recovery could not bring everything back.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import Testing

@Suite struct LossTests {
    /// A closed keychain with items for the accounts "a" and "b". One byte of the database is
    /// changed, at an offset from the first occurrence of the magic bytes `magic`.
    private func damagedKeychain(
        _ magic: String, _ offset: Int
    ) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        for account in ["a", "b"] {
            _ = try keychain.engine.perform(AddItem(item(account)), as: keychain.caller)
        }
        keychain.engine.close()
        try change(keychain, behind: magic, at: offset)
        return keychain
    }

    private func item(_ account: String) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: genericPassword(account).merging([
                .label: .string("label " + account), .generic: .data(Data(account.utf8)),
            ]) { $1 }, protection: .afterFirstUnlock, data: Data(("secret " + account).utf8))
    }

    private func change(
        _ keychain: TemporaryKeychain, behind magic: String, at offset: Int
    ) throws {
        // `forge` renews the tags of the pages, because the engine writes no page that it read with
        // a wrong tag.
        try forge(keychain) { bytes in
            let found = try #require(Data(bytes).firstRange(of: Data(magic.utf8)))
            bytes[found.lowerBound + offset] ^= 0x5A
        }
    }

    private func recover(_ keychain: TemporaryKeychain) throws -> RecoveryReport {
        let report = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
        try keychain.reopen()
        return report
    }

    /// The status of a look-up, or `nil` if it found something.
    private func find(_ attributes: Attributes, in keychain: TemporaryKeychain) -> Status? {
        status {
            _ = try keychain.engine.perform(
                FindItems(
                    ItemQuery(itemClass: .genericPassword, attributes: attributes), Retrieval()),
                as: keychain.caller)
        }
    }

    @Test func `if the name of a lost item is known, searches for other names aren't affected`()
        throws
    {
        // Only the secret is damaged. The attributes can still be authenticated, and so can the
        // row's labels in the blind index, which are computed from the attributes.
        let keychain = try damagedKeychain("KCS2", 60)
        let report = try recover(keychain)
        #expect(report.isVerified && !report.isComplete && !report.hasUnknownLoss)
        #expect(report.damagedItems.count == 1)
        let statuses = ["a", "b"].map { find(genericPassword($0), in: keychain) }
        #expect(Set(statuses) == [nil, .decode])
        #expect(find(genericPassword("c"), in: keychain) == .itemNotFound)
        #expect(find([.label: .string("label c")], in: keychain) == .itemNotFound)
    }

    @Test(arguments: [("KCM2", 40), ("KCHD", 60)])
    func `while it is unknown which items were lost, a search that finds nothing reports damage`(
        _ magic: String, _ offset: Int
    ) throws {
        let keychain = try damagedKeychain(magic, offset)
        let report = try recover(keychain)
        #expect(report.hasUnknownLoss && !report.isComplete)
        let engine = keychain.engine
        for attributes: Attributes in [genericPassword("c"), [.label: .string("c")]] {
            #expect(find(attributes, in: keychain) == .decode)
        }
        // Existing items are found, and writes work.
        #expect(["a", "b"].filter { find(genericPassword($0), in: keychain) == nil }.count >= 1)
        _ = try engine.perform(AddItem(item("c")), as: keychain.caller)
        #expect(find(genericPassword("c"), in: keychain) == nil)
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("d"))
        #expect(
            status {
                _ = try engine.perform(
                    UpdateItems(query, ItemChanges(data: Data())), as: keychain.caller)
            } == .itemNotFound)
        #expect(
            status {
                try engine.perform(DeleteItems(query, tombstones: .never), as: keychain.caller)
            }
                == .itemNotFound)
        try engine.perform(
            PutItem(item("d"), orChange: query, ItemChanges(data: Data())), as: keychain.caller)
        #expect(find(genericPassword("d"), in: keychain) == nil)
        #expect(find(genericPassword("e"), in: keychain) == .decode)

        // Another recovery doesn't forget the loss.
        keychain.engine.close()
        #expect(try recover(keychain).hasUnknownLoss)
        #expect(find(genericPassword("e"), in: keychain) == .decode)
        let rows = try keychain.engine.setAsideRows()
        #expect(rows.count { $0.reason == .lostByRecovery } == 1)

        #expect(status { try keychain.engine.dismissSetAside([.random()]) } == .itemNotFound)
        #expect(find(genericPassword("e"), in: keychain) == .decode)
        #expect(try keychain.engine.dismissSetAside().count == rows.count)
        #expect(find(genericPassword("e"), in: keychain) == .itemNotFound)
        #expect(try keychain.engine.setAsideRows().isEmpty)
        #expect(try keychain.engine.status().setAsideCount == 0)
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `before the first unlock, a search that finds nothing reports the lock, not a loss`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        for (account, protection) in [("a", ProtectionClass.always), ("b", .afterFirstUnlock)] {
            var item = item(account)
            item.protection = protection
            _ = try keychain.engine.perform(AddItem(item), as: keychain.caller)
        }
        keychain.engine.close()
        let bytes = try [UInt8](Data(contentsOf: URL(filePath: keychain.path(.database))))
        let place = try placeOfMetadata(of: "a", in: keychain, bytes)
        try forge(keychain) { $0[place + 40] ^= 0x5A }
        try keychain.reopen()
        // The guarded tier is locked and may contain any of these items.
        for account in ["a", "b", "c"] {
            #expect(find(genericPassword(account), in: keychain) == .interactionNotAllowed)
        }
        keychain.engine.close()
        try change(keychain, behind: "KCHD", at: 60)
        let report = try KeychainEngine.recover(
            directory: keychain.directory, passcode: passcode("1234"), options: .testing)
        #expect(report.hasUnknownLoss && report.damagedItems.count == 1)
        try keychain.reopen()
        let caller = keychain.caller
        for account in ["a", "b", "c"] {
            #expect(find(genericPassword(account), in: keychain) == .interactionNotAllowed)
            let query = ItemQuery(
                itemClass: .genericPassword, attributes: genericPassword(account))
            let changes = ItemChanges(data: Data())
            #expect(
                status { _ = try keychain.engine.perform(UpdateItems(query, changes), as: caller) }
                    == .interactionNotAllowed)
        }
        try keychain.engine.unlock(passcode: passcode("1234"))
        #expect(find(genericPassword("a"), in: keychain) == .decode)
        #expect(find(genericPassword("b"), in: keychain) == nil)
        #expect(find(genericPassword("c"), in: keychain) == .decode)
    }

    @Test func `a recovery of an undamaged keychain reports no loss`() throws {
        let keychain = try TemporaryKeychain()
        _ = try keychain.engine.perform(AddItem(item("a")), as: keychain.caller)
        keychain.engine.close()
        let report = try recover(keychain)
        #expect(report.isComplete && !report.hasUnknownLoss)
        #expect(find(genericPassword("b"), in: keychain) == .itemNotFound)
    }

    // MARK: Look-ups of lost items

    /// A keychain whose damaged item was set aside by a check.
    private func checkedKeychain() throws -> TemporaryKeychain {
        let keychain = try damagedKeychain("KCS2", 60)
        try keychain.reopen()
        #expect(try keychain.engine.check(settingAside: true).setAsideCount == 1)
        return keychain
    }

    @Test func `a look-up of a set-aside row reports damage, whichever attribute the query names`()
        throws
    {
        let keychain = try checkedKeychain()
        let reference = try #require(try keychain.engine.setAsideRows().first).row.reference
        let lost = find(genericPassword("a"), in: keychain) == .decode ? "a" : "b"
        try keychain.engine.perform(
            DeleteItems(
                ItemQuery(
                    itemClass: .genericPassword,
                    attributes: genericPassword(lost == "a" ? "b" : "a")), tombstones: .never),
            as: keychain.caller)
        let queries: [Attributes] = [
            [.service: .string("service")], [.account: .string(lost)],
            [.label: .string("label " + lost)], [.generic: .data(Data(lost.utf8))], [:],
        ]
        for attributes in queries {
            #expect(find(attributes, in: keychain) == .decode, "\(attributes.keys)")
        }
        let failure = #expect(throws: KeychainFailure.self) {
            try keychain.engine.perform(
                FindItems(
                    ItemQuery(itemClass: .genericPassword, reference: reference), Retrieval()),
                as: keychain.caller)
        }
        #expect(failure?.item == reference)
        // Other names, another class, and another group aren't affected.
        for attributes: Attributes in [
            [.service: .string("other")], [.account: .string("c")], [.label: .string("c")],
            [.generic: .data(Data("c".utf8))],
        ] {
            #expect(find(attributes, in: keychain) == .itemNotFound, "\(attributes.keys)")
        }
        #expect(
            status {
                _ = try keychain.engine.perform(
                    FindItems(ItemQuery(itemClass: .internetPassword), Retrieval()),
                    as: keychain.caller)
            } == .itemNotFound)
        #expect(
            status {
                _ = try keychain.engine.perform(
                    FindItems(ItemQuery(itemClass: .genericPassword), Retrieval()),
                    as: AccessGroups(["G9"]))
            } == .itemNotFound)
        // A search in all groups without any attribute isn't affected either.
        #expect(
            status {
                _ = try keychain.engine.perform(
                    FindItems(ItemQuery(itemClass: .genericPassword), Retrieval()),
                    as: AccessGroups([AccessGroups.wildcard]))
            } == .itemNotFound)
    }

    @Test func `a damaged item that was deleted or replaced no longer affects look-ups`() throws {
        let keychain = try damagedKeychain("KCM2", 40)
        try keychain.reopen()
        let lost = ["a", "b"].filter { find(genericPassword($0), in: keychain) == .decode }
        let account = try #require(lost.first)
        let query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
        _ = try keychain.engine.perform(AddItem(item(account)), as: keychain.caller)
        #expect(
            try keychain.engine.setAsideRows().map(\.reason) == [.replaced])
        try keychain.engine.perform(DeleteItems(query, tombstones: .never), as: keychain.caller)
        #expect(find(genericPassword(account), in: keychain) == .itemNotFound)
        #expect(find([.label: .string("label " + account)], in: keychain) == .itemNotFound)

        let other = try damagedKeychain("KCM2", 40)
        try other.reopen()
        try other.engine.perform(DeleteItems(query, tombstones: .never), as: other.caller)
        #expect(
            try other.engine.setAsideRows().map(\.reason) == [.deleted])
        #expect(find(genericPassword(account), in: other) == .itemNotFound)
    }

    // MARK: Results of a check

    @Test func `a check that is canceled ends and changes nothing`() throws {
        let keychain = try damagedKeychain("KCS2", 60)
        try keychain.reopen()
        var callCount = 0
        let outcome = status {
            _ = try keychain.engine.check(settingAside: true) { progress in
                #expect(progress == RequestProgress(done: 0, total: 2))
                callCount += 1
                return false
            }
        }
        #expect(outcome == .userCanceled && callCount == 1)
        #expect(try keychain.engine.setAsideRows().isEmpty)
        #expect(try keychain.engine.check().itemCount == 2)
    }

    @Test func `a check reports that the copy of the keybag differed`() throws {
        let keychain = try TemporaryKeychain()
        let copy = URL(filePath: keychain.path(.keybag))
        let whole = try Data(contentsOf: copy)
        #expect(try keychain.engine.check().notices.isEmpty)
        keychain.engine.close()
        var bytes = whole
        bytes[20] ^= 1
        try bytes.write(to: copy)
        try keychain.reopen()
        let report = try keychain.engine.check()
        #expect(report.notices.count == 1)
        #expect(report.isSound)
        #expect(try Data(contentsOf: copy) == whole)
        try keychain.reopen()
        #expect(try keychain.engine.check().notices.isEmpty)
    }
}
