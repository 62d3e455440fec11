// An attacker without keys puts back pages and files that the keychain itself wrote earlier. The
// tests show what the verification once per boot finds, and when the verification is repeated.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct FreshnessTests {
    /// A closed keychain with the items `a` and `b`, and the bytes of its database file from before
    /// `b` was added and `a` was changed.
    private func changedKeychain() throws -> (RememberedKeychain, before: [UInt8]) {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        keychain.close()
        let before = try keychain.bytes()
        try keychain.open()
        try keychain.add("b")
        try keychain.engine.perform(
            UpdateItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a")),
                ItemChanges(data: Data("new".utf8))), as: keychain.caller)
        keychain.close()
        return (keychain, before)
    }

    private func expectFound(in keychain: RememberedKeychain) throws {
        #expect(keychain.state.standing == .failed)
        #expect(keychain.state.problem?.isEmpty == false)
        #expect(try keychain.engine.status().verification == keychain.state)
        for attempt in ["find", "add"] {
            let failure = #expect(throws: KeychainFailure.self) {
                if attempt == "add" { try keychain.add("c") }
                _ = try keychain.find("missing")
            }
            #expect(failure?.cause == .damage, "\(attempt)")
        }
        #expect(try !keychain.engine.check().isSound)
    }

    // MARK: Detection

    @Test(arguments: RootPage.indexes + [.items], [1, 2] as [UInt64])
    func `an old page that was put back is found at the next opening`(page: RootPage, boot: UInt64)
        throws
    {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack([page], of: before)
        keychain.boot = boot
        try keychain.open()
        try expectFound(in: keychain)
        // Each process finds the old page again.
        try keychain.reopen()
        try expectFound(in: keychain)
    }

    @Test func `items that a search finds are still returned after a failed verification`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack([.itemsGroup], of: before)
        try keychain.open()
        #expect(keychain.state.standing == .failed)
        #expect(try keychain.find("b") == Data("b".utf8))
    }

    @Test func `an item whose old row was put back isn't returned`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack(RootPage.indexes + [.items], of: before)
        try keychain.open()
        let failure = #expect(throws: KeychainFailure.self) { _ = try keychain.find("a") }
        #expect(failure?.cause == .damage)
    }

    @Test func `old rows and all old indexes, put back at the same time, are detected`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack(RootPage.indexes + [.items], of: before)
        try keychain.open()
        try expectFound(in: keychain)
        #expect(keychain.state.problem == "the database's number of items is 1 and should be 2")
    }

    @Test func `an old page of the table of set-aside rows is detected`() throws {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        try keychain.engine.store.emptyLog()
        let before = try keychain.bytes()
        try keychain.setAsideFirst()
        keychain.close()
        try keychain.putBack([.setAside], of: before)
        try keychain.open()
        try expectFound(in: keychain)
    }

    @Test func `a check detects an old page that a search doesn't detect`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack([.itemsKey], of: before)
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state.standing == .changed)
        #expect(status { _ = try keychain.find("b") } == .itemNotFound)
        #expect(try !keychain.engine.check().isSound)
        try expectFound(in: keychain)
    }

    @Test func `a verification doesn't stay valid if an old page is put back between two commits`()
        throws
    {
        let (keychain, before) = try changedKeychain()
        try keychain.open()
        #expect(keychain.state.isVerified)
        try keychain.putBack([.itemsK2], of: before)
        // The addition writes to the write-ahead log, and closing the keychain writes to the
        // database file.
        try keychain.add("c")
        #expect(keychain.state.standing == .changed)
        try keychain.reopen()
        try expectFound(in: keychain)
    }

    @Test(arguments: [false, true])
    func `an old copy of the whole folder is refused until the next boot`(
        withLog: Bool
    ) throws {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        if !withLog { keychain.close() }
        let files: [StoreFolder.File] = withLog ? [.database, .writeAheadLog] : [.database]
        let before = try files.map { try keychain.bytes($0) }
        let anchor = try keychain.bytes(.anchor)
        if !withLog { try keychain.open() }
        try keychain.add("b")
        keychain.close()
        for (file, bytes) in zip(files, before) {
            if file == .writeAheadLog {
                try #require(
                    FileManager.default.createFile(
                        atPath: keychain.path(file), contents: nil,
                        attributes: [.posixPermissions: 0o600]))
            }
            try keychain.write(bytes, to: keychain.path(file))
        }
        let failure = #expect(throws: KeychainFailure.self) { try keychain.open() }
        #expect(failure?.reason.contains("commits after number 2 of 3 are missing") == true)
        // With the old anchor, only the freshness note shows that commits are missing.
        try keychain.write(anchor, to: keychain.path(.anchor))
        #expect(throws: KeychainFailure.self) { try keychain.open() }
        keychain.boot = 2
        try keychain.open()
        #expect(keychain.state.isVerified)
        #expect(try keychain.find("a") == Data("a".utf8))
        #expect(status { _ = try keychain.find("b") } == .itemNotFound)
    }

    /// The old database gets the name that a rotation would give to a new database: the keychain
    /// opens the database with the highest number.
    @Test func `an old copy of the database in a file with a higher number is refused`() throws {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        keychain.close()
        let before = try keychain.bytes()
        let anchor = try keychain.bytes(.anchor)
        try keychain.open()
        try keychain.add("b")
        keychain.close()
        let last = try keychain.bytes()
        try #require(
            FileManager.default.createFile(
                atPath: keychain.directory + "/keychain-1.db", contents: Data(before),
                attributes: [.posixPermissions: 0o600]))
        try keychain.write(anchor, to: keychain.path(.anchor))
        let failure = #expect(throws: KeychainFailure.self) { try keychain.open() }
        #expect(failure?.cause == .damage)
        let kept = FileManager.default.contents(atPath: keychain.directory + "/keychain.db")
        #expect(kept.map { [UInt8]($0) } == last)
    }

    @Test
    func `a recovery accepts an old copy and gives it a higher generation than the lost commits`()
        throws
    {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        keychain.close()
        let before = try keychain.bytes()
        let anchor = try keychain.bytes(.anchor)
        try keychain.open()
        try keychain.add("b")
        keychain.close()
        try keychain.write(before, to: keychain.path(.database))
        try keychain.write(anchor, to: keychain.path(.anchor))
        let report = try KeychainEngine.recover(
            directory: keychain.directory, options: keychain.options)
        #expect(report.itemCount == 1)
        #expect(report.hasUnknownLoss)
        // The recovery has verified the keychain, so opening doesn't have to.
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state.standing == .verified)
        #expect(try keychain.engine.store.header().generation > 3)
    }

    // MARK: Remembered verifications

    @Test func `a verification stays valid after the keychain's own commits and checkpoints`()
        throws
    {
        let keychain = try RememberedKeychain()
        let moment = try #require(keychain.state.moment)
        #expect(keychain.state.standing == .verified)
        for number in 0..<5 {
            try keychain.add("item \(number)")
            #expect(keychain.state == VerificationState(.verified, at: moment))
            if number == 2 { try keychain.engine.store.emptyLog() }
            try keychain.reopen()
            #expect(keychain.state == VerificationState(.verified, at: moment))
        }
        // After 400 commits, SQLite has checkpointed the log and begun to overwrite it.
        for number in 0..<400 { try keychain.add("more \(number)") }
        #expect(keychain.state == VerificationState(.verified, at: moment))
        try keychain.reopen()
        #expect(keychain.state == VerificationState(.verified, at: moment))
    }

    @Test func `after a reboot, the keychain has to be verified again`() throws {
        let keychain = try RememberedKeychain()
        let moment = try #require(keychain.state.moment)
        keychain.boot = 2
        keychain.itemLimit = 0
        try keychain.add("a")
        try keychain.reopen()
        #expect(keychain.state == VerificationState(.never))
        #expect(keychain.engine.verifyIfNeeded().standing == .verified)
        #expect(try #require(keychain.state.moment) > moment)
    }

    @Test func `a keychain with many items is verified on demand, not when it is opened`() throws {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        try keychain.add("b")
        keychain.close()
        try FileManager.default.removeItem(atPath: try keychain.notePath)
        keychain.itemLimit = 1
        try keychain.open()
        #expect(keychain.state.standing == .never)
        #expect(try keychain.engine.check().isSound)
        #expect(keychain.state.standing == .verified)
        try keychain.reopen()
        #expect(keychain.state.standing == .verified)
    }

    @Test
    func `a verification stays valid after a commit that isn't recorded in the freshness note`()
        throws
    {
        let keychain = try RememberedKeychain()
        let state = keychain.state
        try keychain.add("a")
        let silent = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        _ = try silent.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("b"),
                    protection: .afterFirstUnlock, data: Data())), as: keychain.caller)
        silent.close()
        #expect(keychain.state == state)
        try keychain.reopen()
        #expect(keychain.state == state)
    }

    @Test func `files that another program wrote to are verified again`() throws {
        let (keychain, _) = try changedKeychain()
        try keychain.open()
        let moment = try #require(keychain.state.moment)
        keychain.close()
        try keychain.write(try keychain.bytes(), to: keychain.path(.database))
        try keychain.open()
        #expect(keychain.state.standing == .verified)
        #expect(try #require(keychain.state.moment) > moment)
    }

    @Test func `a copy of a keychain has a separate freshness note`() throws {
        let (keychain, _) = try changedKeychain()
        let copy = keychain.folder + "/copy"
        try FileManager.default.copyItem(atPath: keychain.directory, toPath: copy)
        try keychain.open()
        let state = keychain.state
        try keychain.add("c")
        let other = try KeychainEngine.open(directory: copy, options: keychain.options)
        #expect(other.verification.standing == .verified)
        other.close()
        #expect(keychain.state == state)
    }

    // MARK: The freshness note

    @Test func `the freshness note has the bytes that its format document describes`() throws {
        let keychain = try RememberedKeychain()
        try keychain.add("a")
        keychain.close()
        try keychain.open()
        let path = try keychain.notePath
        let note = [UInt8](try Data(contentsOf: URL(filePath: path)))
        let store = keychain.engine.store
        let authenticator = store.tiers.open.authenticator.derived(
            for: "swift-keychain 2 freshness")
        let database = try #require(Files.status(of: keychain.path(.database))).identity
        var writer = ByteWriter()
        writer.bytes(Array("KCFN".utf8))
        writer.number(1 as UInt32)
        writer.number(3 as UInt32)
        writer.number(0 as UInt32)
        writer.bytes(store.keychainID)
        Bytes16(high: 0, low: 1).write(to: &writer)
        // The number of the verification is random, so it is copied from the note.
        writer.bytes(note[48..<64])
        writer.number(try store.header().generation)
        writer.number(try #require(keychain.state.moment).bitPattern)
        writer.number(database.device)
        writer.number(database.inode)
        writer.number(database.size)
        writer.number(database.modified)
        writer.number(database.changed)
        // SQLite chooses the log's salts, so they are copied too.
        writer.bytes(note[120..<128])
        #expect(note == writer.result + authenticator.tag(of: writer.result))
        let status = try #require(Files.status(of: path))
        #expect(status.mode & 0o7777 == 0o1600)
        let name = authenticator.tag(of: Array(("name" + keychain.directory).utf8))
            .prefix(16).map { String(format: "%02x", $0) }.joined()
        #expect(path.hasSuffix("/verified-" + name))
    }

    @Test(arguments: [0, 4, 8, 11, 20, 40, 50, 64, 75, 90, 120, 127, 128, 159])
    func `an altered freshness note is ignored`(position: Int) throws {
        let (keychain, _) = try changedKeychain()
        var note = [UInt8](try Data(contentsOf: URL(filePath: try keychain.notePath)))
        note[position] ^= 1
        try keychain.write(note, to: try keychain.notePath)
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state == VerificationState(.never))
        #expect(keychain.engine.verifyIfNeeded().isVerified)
    }

    @Test
    func `a freshness note of another keychain is ignored, and an outdated one isn't trusted`()
        throws
    {
        let keychain = try RememberedKeychain()
        let path = try keychain.notePath
        let before = try Data(contentsOf: URL(filePath: path))
        try keychain.add("a")
        keychain.close()
        let other = try RememberedKeychain()
        try keychain.write(Data(contentsOf: URL(filePath: other.notePath)), to: path)
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state == VerificationState(.never))
        keychain.close()
        // The outdated note describes the files as they were before `a` was added.
        try keychain.write(before, to: path)
        try keychain.open()
        #expect(keychain.state.standing == .changed)
    }

    @Test func `if no freshness note can be stored, each process verifies the keychain itself`()
        throws
    {
        let (keychain, before) = try changedKeychain()
        keychain.remembers = false
        try keychain.open()
        let first = keychain.state
        #expect(first.standing == .verifiedHere)
        try keychain.add("c")
        #expect(keychain.state == first)
        try keychain.reopen()
        #expect(try #require(keychain.state.moment) > first.moment ?? 0)
        keychain.close()
        try keychain.putBack([.itemsKey], of: before)
        try keychain.open()
        try expectFound(in: keychain)
    }

    @Test func `a folder that others can write to isn't used for the freshness note`() throws {
        let (keychain, _) = try changedKeychain()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o777], ofItemAtPath: keychain.runtime)
        try keychain.open()
        #expect(keychain.state.standing == .verifiedHere)
    }

    @Test func `a freshness note with a second hard link isn't written to`() throws {
        let keychain = try RememberedKeychain()
        let note = try keychain.notePath
        keychain.close()
        let mine = keychain.folder + "/mine"
        try Data("mine".utf8).write(to: URL(filePath: mine))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: mine)
        try FileManager.default.removeItem(atPath: note)
        try FileManager.default.linkItem(atPath: mine, toPath: note)
        try keychain.open()
        try keychain.add("a")
        #expect(try Data(contentsOf: URL(filePath: mine)) == Data("mine".utf8))
    }

    // MARK: Rotation

    @Test(arguments: [false, true], [0, 500] as [UInt64])
    func `an old copy of the folder from before a rotation is detected`(
        setsPasscode: Bool, itemLimit: UInt64
    ) throws {
        let files = FileManager.default
        let keychain = try RememberedKeychain()
        keychain.itemLimit = itemLimit
        try keychain.reopen()
        try keychain.add("a")
        keychain.close()
        let copies = ["/copy", "/elsewhere"].map { keychain.folder + $0 }
        for copy in copies { try files.copyItem(atPath: keychain.directory, toPath: copy) }
        try keychain.open()
        if setsPasscode {
            try keychain.engine.setPasscode(passcode("1"))
        } else {
            try keychain.engine.rotate()
        }
        try keychain.add("b")
        keychain.close()
        try files.removeItem(atPath: keychain.directory)
        try files.moveItem(atPath: copies[0], toPath: keychain.directory)
        let failure = #expect(throws: KeychainFailure.self) { try keychain.open() }
        #expect(failure?.cause == .damage)
        #expect(failure?.reason.contains("a copy from before the last rotation") == true)

        // A recovery of the old copy keeps its items, and reports that others may be missing.
        let report = try KeychainEngine.recover(
            directory: keychain.directory, options: keychain.options)
        #expect(report.itemCount == 1 && report.hasUnknownLoss)
        try keychain.open()
        #expect(try keychain.find("a") == Data("a".utf8))
        try keychain.add("c")
        try keychain.reopen()
        keychain.close()
        // The recovered keychain can be rotated again.
        try keychain.open()
        try keychain.engine.rotate()
        #expect(try keychain.find("c") == Data("c".utf8))

        // The second copy is at another path, so it counts as another keychain and opens.
        let elsewhere = try KeychainEngine.open(directory: copies[1], options: keychain.options)
        #expect(try elsewhere.status().itemCount == 1)
        elsewhere.close()
    }

    // MARK: Restoring

    @Test func `set-aside items aren't restored to a keychain in which an old page was put back`()
        throws
    {
        let keychain = try RememberedKeychain()
        for account in ["a", "b"] { try keychain.add(account) }
        try keychain.setAsideFirst()
        keychain.close()
        let before = try keychain.bytes()
        try keychain.open()
        try keychain.add("c")
        keychain.close()
        keychain.itemLimit = 0
        try keychain.putBack([.itemsGroup], of: before)
        try keychain.open()
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try keychain.engine.restoreSetAside()
        }
        #expect(failure?.cause == .damage)
        #expect(try keychain.engine.setAsideRows().count == 1)
    }
}
