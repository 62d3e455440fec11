// The contents of a backup, and the results of restoring it.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct BackupTests {
    private let fixture = BackupFixture()

    // MARK: Restored items

    /// Case 356 in Documentation/Cases.md.
    @Test func `deleted items are restored unchanged, with their references`() throws {
        let keychain = try fixture.keychain()
        try fixture.add("a", to: keychain)
        try fixture.add("b", "β", .always, group: "G2", to: keychain)
        try fixture.add("c", "c", .afterFirstUnlock, isSynchronizable: true, to: keychain)
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .internetPassword,
                    attributes: [
                        .server: .string("example.com"), .port: .number(443),
                        .comment: .data(Data([0, 255])),
                    ], data: Data([0, 1, 2]))), as: fixture.everything)
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .certificate,
                    attributes: [.issuer: .data(Data([1])), .serialNumber: .data(Data([2]))],
                    data: Data("certificate".utf8))), as: fixture.everything)
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .key, attributes: [.applicationLabel: .data(Data([3]))])),
            as: fixture.everything)
        func all() -> [ItemSnapshot] {
            ItemClass.allCases.flatMap { itemClass in
                (try? keychain.engine.perform(
                    FindItems(
                        ItemQuery(itemClass: itemClass, isSynchronizable: nil),
                        Retrieval(limit: nil, includesData: true)), as: fixture.everything)) ?? []
            }.sorted { $0.reference.description < $1.reference.description }
        }
        let before = all()
        #expect(before.count == 6)
        let backup = try TestBackup()
        #expect(try backup.make(keychain.engine).itemCount == 6)
        for itemClass in ItemClass.allCases {
            _ = try keychain.engine.perform(
                DeleteItems(
                    ItemQuery(itemClass: itemClass, isSynchronizable: nil), tombstones: .automatic),
                as: fixture.everything)
        }
        #expect(all().isEmpty)
        fixture.clock.advance()
        let restoration = try keychain.engine.restore(backup.source, .merge)
        #expect(restoration.added.count == 6)
        #expect(all() == before)
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `items are restored into another keychain unchanged`() throws {
        let keychain = try fixture.keychain()
        let reference = try fixture.add("a", to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        let other = try fixture.keychain("elsewhere")
        fixture.clock.advance()
        _ = try other.engine.restore(backup.source, .merge)
        #expect(try fixture.items(other) == fixture.items(keychain))
        #expect(try fixture.items(other).map(\.reference) == [reference])
    }

    // MARK: Merging

    @Test func `merging keeps later states, restores deleted items and deletes no item`() throws {
        let keychain = try fixture.keychain()
        for account in ["later", "earlier", "gone", "same"] {
            try fixture.add(account, to: keychain)
        }
        let references = try fixture.items(keychain).map(\.reference)
        let backup = try TestBackup()
        try fixture.change("earlier", "of the backup", in: keychain)
        try backup.make(keychain.engine)
        try fixture.change("later", "of now", in: keychain)
        try fixture.delete("gone", in: keychain)
        try fixture.add("new", to: keychain)
        let before = try fixture.secrets(keychain)

        let plan = try keychain.engine.restore(backup.source, .merge, isTrial: true)
        #expect(try fixture.secrets(keychain) == before)
        let done = try keychain.engine.restore(backup.source, .merge)
        for restoration in [plan, done] {
            #expect(fixture.accounts(restoration.added) == ["gone"])
            #expect(restoration.updated.isEmpty && restoration.deleted.isEmpty)
            #expect(restoration.keptCount == 3)
        }
        #expect(
            try fixture.secrets(keychain) == [
                "later": "of now", "earlier": "of the backup", "gone": "secret", "same": "secret",
                "new": "secret",
            ])
        #expect(Set(try fixture.items(keychain).map(\.reference)).isSuperset(of: references))
        // Restoring again changes nothing.
        #expect(try keychain.engine.restore(backup.source, .merge).isWithoutChange)
    }

    @Test func `merging updates an item to a later state and keeps its reference`() throws {
        let (one, other) = (try fixture.keychain(), try fixture.keychain())
        let reference = try fixture.add("a", "earlier", to: one)
        try fixture.add("a", "first", to: other)
        try fixture.change("a", "later", in: other)
        let backup = try TestBackup()
        try backup.make(other.engine)
        let restoration = try one.engine.restore(backup.source, .merge)
        #expect(fixture.accounts(restoration.updated) == ["a"])
        #expect(try fixture.secrets(one) == ["a": "later"])
        #expect(try fixture.items(one).map(\.reference) == [reference])
    }

    @Test func `a renamed item is recognized by its reference`() throws {
        let keychain = try fixture.keychain()
        let reference = try fixture.add("before", to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        fixture.clock.advance()
        _ = try keychain.engine.perform(
            UpdateItems(
                fixture.query("before"), ItemChanges(attributes: [.account: .string("after")])),
            as: fixture.everything)
        #expect(try keychain.engine.restore(backup.source, .merge).isWithoutChange)
        #expect(try fixture.secrets(keychain) == ["after": "secret"])
        // A backup that was made after the renaming restores the new name.
        try backup.make(keychain.engine)
        let other = try fixture.keychain()
        let first = try TestBackup()
        let lines = try backup.lines
        try first.write(
            lines.map {
                $0.replacingOccurrences(of: "\"after\"", with: "\"before\"")
                    .replacingOccurrences(of: "1001", with: "1000")
            })
        _ = try other.engine.restore(first.source, .merge)
        #expect(try fixture.secrets(other) == ["before": "secret"])
        _ = try other.engine.restore(backup.source, .merge)
        #expect(try fixture.secrets(other) == ["after": "secret"])
        #expect(try fixture.items(other).map(\.reference) == [reference])
    }

    // MARK: Replacing

    /// Case 362 in Documentation/Cases.md.
    @Test func `replacing deletes items added since the backup, except synchronizable ones`() throws
    {
        let keychain = try fixture.keychain()
        try fixture.add("kept", "of the backup", to: keychain)
        try fixture.add("gone", to: keychain)
        try fixture.add("unchanged", to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        try fixture.change("kept", "of now", in: keychain)
        try fixture.delete("gone", in: keychain)
        try fixture.add("new", to: keychain)
        try fixture.add("synchronizable", isSynchronizable: true, to: keychain)
        let plan = try keychain.engine.restore(backup.source, .replace, isTrial: true)
        #expect(try fixture.secrets(keychain).count == 4)
        let done = try keychain.engine.restore(backup.source, .replace)
        for restoration in [plan, done] {
            #expect(fixture.accounts(restoration.added) == ["gone"])
            #expect(fixture.accounts(restoration.updated) == ["kept"])
            #expect(fixture.accounts(restoration.deleted) == ["new"])
            #expect(restoration.keptCount == 1)
        }
        #expect(
            try fixture.secrets(keychain) == [
                "kept": "of the backup", "gone": "secret", "unchanged": "secret",
                "synchronizable": "secret",
            ])
        #expect(try keychain.engine.check().isSound)
    }

    @Test
    func `a local item is reported as deleted even if the backup has a synchronizable namesake`()
        throws
    {
        let (one, other) = (try fixture.keychain(), try fixture.keychain())
        try fixture.add("a", "local", to: one)
        try fixture.add("a", "synchronizable", isSynchronizable: true, to: other)
        let backup = try TestBackup()
        try backup.make(other.engine)
        let restoration = try one.engine.restore(backup.source, .replace)
        #expect(fixture.accounts(restoration.added) == ["a"])
        #expect(fixture.accounts(restoration.deleted) == ["a"])
        #expect(restoration.updated.isEmpty && restoration.keptCount == 0)
        #expect(try fixture.secrets(one) == ["a": "synchronizable"])
    }

    // MARK: Items that are left out

    @Test func `this-device-only items are restored only on the same machine`() throws {
        for chip in [nil, SoftwareChip()] {
            let keychain = try fixture.keychain(chip: chip)
            try fixture.add("device", "here only", .afterFirstUnlockThisDeviceOnly, to: keychain)
            try fixture.add("any", to: keychain)
            let backup = try TestBackup()
            let summary = try backup.make(keychain.engine)
            #expect(summary.itemCount == 2 && summary.deviceItemCount == 1)
            // The lines that the recipient's key opens don't contain the secret.
            let text = try backup.lines.joined()
            #expect(!text.contains(Data("here only".utf8).base64EncodedString()))

            let same = try fixture.keychain(chip: chip)
            #expect(try same.engine.restore(backup.source, .merge).added.count == 2)
            #expect(try fixture.secrets(same) == ["device": "here only", "any": "secret"])
            #expect(try fixture.items(same) == fixture.items(keychain))

            let other = try fixture.keychain("elsewhere", chip: chip.map { _ in SoftwareChip() })
            let restoration = try other.engine.restore(backup.source, .merge)
            #expect(fixture.accounts(restoration.summary.leftOut) == ["device"])
            #expect(restoration.summary.leftOut.map(\.omission) == [.otherMachine])
            #expect(try fixture.secrets(other) == ["any": "secret"])
        }
    }

    @Test func `replacing keeps items that only another machine can read`() throws {
        let keychain = try fixture.keychain()
        let reference = try fixture.add(
            "device", "x", .whenUnlockedThisDeviceOnly, to: keychain)
        try fixture.add("any", to: keychain)
        let whole = try TestBackup()
        try whole.make(keychain.engine)
        keychain.engine.close()
        let engine = try KeychainEngine.open(
            directory: keychain.directory, options: fixture.options("elsewhere"))
        defer { engine.close() }
        let backup = try TestBackup()
        let summary = try backup.make(engine)
        #expect(summary.itemCount == 1)
        #expect(summary.leftOut.map(\.reference) == [reference])
        #expect(summary.leftOut.map(\.omission) == [.otherMachine])
        let restoration = try engine.restore(whole.source, .replace)
        #expect(restoration.deleted.isEmpty && restoration.keptCount == 1)
        #expect(fixture.accounts(restoration.summary.leftOut) == ["device"])
        engine.close()
        // On the original machine, both items can be read.
        try keychain.reopen()
        #expect(try fixture.secrets(keychain) == ["device": "x", "any": "secret"])
    }

    @Test func `without a machine identity, a backup leaves out this-device-only items`() throws {
        let keychain = try fixture.keychain(nil)
        try fixture.add("device", "x", .whenUnlockedThisDeviceOnly, to: keychain)
        let backup = try TestBackup()
        let summary = try backup.make(keychain.engine)
        #expect(summary.itemCount == 0)
        #expect(summary.leftOut.map(\.omission) == [.unidentifiedMachine])
        #expect(fixture.accounts(summary.leftOut) == ["device"])
    }

    /// Cases 359 and 361 in Documentation/Cases.md.
    @Test func `a backup leaves out and lists items bound to a passcode, hardware or one system`()
        throws
    {
        let keychain = try fixture.keychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try fixture.add("passcode", "x", .whenPasscodeSetThisDeviceOnly, to: keychain)
        try fixture.add("lockdown", "x", group: "lockdown-identities", to: keychain)
        for (account, attribute, value) in [
            ("token", Attribute.tokenID, AttributeValue.string("a token")),
            ("system", .systemBound, .number(1)),
        ] {
            var attributes = genericPassword(account)
            attributes[attribute] = value
            _ = try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: attributes, data: Data([1]))),
                as: fixture.everything)
        }
        try fixture.add("other", to: keychain)
        let backup = try TestBackup()
        let summary = try backup.make(keychain.engine)
        #expect(summary.itemCount == 1)
        let read = try KeychainEngine.readBackup(backup.source, on: .unidentified)
        for summary in [summary, read] {
            #expect(
                Set(summary.leftOut.map(\.omission)) == [.passcodeBound, .hardware, .systemBound])
            #expect(
                fixture.accounts(summary.leftOut) == ["passcode", "lockdown", "token", "system"])
        }
    }

    @Test func `an item protected by an application password is restored only to its own keychain`()
        throws
    {
        let keychain = try fixture.keychain()
        try fixture.add(
            "guarded", "hidden", .whenUnlocked, constraints: .applicationPassword, password: "open",
            to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        try fixture.delete("guarded", in: keychain)
        _ = try keychain.engine.restore(backup.source, .merge)
        #expect(try fixture.items(keychain, password: "open").map(\.data) == [Data("hidden".utf8)])
        let other = try fixture.keychain()
        let restoration = try other.engine.restore(backup.source, .merge)
        #expect(restoration.added.isEmpty)
        #expect(restoration.summary.leftOut.map(\.omission) == [.applicationPassword])
    }

    @Test func `an item that requires the passcode is restored only after a passcode is set`()
        throws
    {
        let keychain = try fixture.keychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try fixture.add("present", "x", constraints: .userPresence, to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        let other = try fixture.keychain()
        #expect(
            try other.engine.restore(backup.source, .merge).summary.leftOut.map(\.omission)
                == [.passcodeNeeded])
        try other.engine.setPasscode(passcode("1"))
        #expect(
            try fixture.accounts(other.engine.restore(backup.source, .merge).added) == ["present"])
    }

    @Test func `a locked keychain can't be backed up or restored to`() throws {
        let keychain = try fixture.keychain()
        try fixture.add("a", to: keychain)
        let backup = try TestBackup()
        try backup.make(keychain.engine)
        try keychain.engine.setPasscode(passcode("1234"))
        try keychain.engine.lock()
        let second = try TestBackup()
        #expect(status { try second.make(keychain.engine) } == .interactionNotAllowed)
        // The failed attempt left a file that isn't a valid backup.
        #expect(
            status { _ = try KeychainEngine.readBackup(second.source, on: .unidentified) }
                == .decode)
        for mode in [BackupRestoreMode.merge, .replace] {
            #expect(
                status { _ = try keychain.engine.restore(backup.source, mode) }
                    == .interactionNotAllowed)
        }
    }
}
