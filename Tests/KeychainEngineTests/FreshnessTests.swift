// Pages and files of an earlier time, which the keychain itself wrote, put back by an attacker
// without a key: what the verification once a start finds, and when it runs again.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct FreshnessTests {
    /// A closed keychain with `a` and `b`, and its file of before `b` and the change of `a`.
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

    // MARK: What is found

    @Test(arguments: RootPage.indexes + [.items], [1, 2] as [UInt64])
    func `the next opening finds a page that was put back`(page: RootPage, boot: UInt64) throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack([page], of: before)
        keychain.boot = boot
        try keychain.open()
        try expectFound(in: keychain)
        // Each process finds it anew.
        try keychain.reopen()
        try expectFound(in: keychain)
    }

    @Test func `an item that is found is still given`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack([.itemsGroup], of: before)
        try keychain.open()
        #expect(keychain.state.standing == .failed)
        #expect(try keychain.find("b") == Data("b".utf8))
    }

    @Test func `an item is not given from rows that are not those of the last commit`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack(RootPage.indexes + [.items], of: before)
        try keychain.open()
        let failure = #expect(throws: KeychainFailure.self) { _ = try keychain.find("a") }
        #expect(failure?.cause == .damage)
    }

    @Test func `the items and every index put back together are found`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack(RootPage.indexes + [.items], of: before)
        try keychain.open()
        try expectFound(in: keychain)
        #expect(keychain.state.problem == "it holds 1 items and should hold 2")
    }

    @Test func `a row that was set aside and put back is found`() throws {
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

    @Test func `a check finds it where nothing else looks`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.putBack([.itemsKey], of: before)
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state.standing == .changed)
        #expect(status { _ = try keychain.find("b") } == .itemNotFound)
        #expect(try !keychain.engine.check().isSound)
        try expectFound(in: keychain)
    }

    @Test func `a page that was put back between two commits is not carried over`() throws {
        let (keychain, before) = try changedKeychain()
        try keychain.open()
        #expect(keychain.state.isVerified)
        try keychain.putBack([.itemsK2], of: before)
        // Into the log, and from there into the file when the keychain is closed.
        try keychain.add("c")
        #expect(keychain.state.standing == .changed)
        try keychain.reopen()
        try expectFound(in: keychain)
    }

    @Test(arguments: [false, true])
    func `the whole folder put back is refused until the machine starts anew`(
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
        // With the anchor of then the note alone tells.
        try keychain.write(anchor, to: keychain.path(.anchor))
        #expect(throws: KeychainFailure.self) { try keychain.open() }
        keychain.boot = 2
        try keychain.open()
        #expect(keychain.state.isVerified)
        #expect(try keychain.find("a") == Data("a".utf8))
        #expect(status { _ = try keychain.find("b") } == .itemNotFound)
    }

    /// As if the keys had been rotated since: the database with the highest number is the keychain.
    @Test func `an earlier database under a later name is refused until the machine starts anew`()
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

    @Test func `a recovery takes the folder that was put back, above the commits that are missing`()
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
        // The recovery has verified it: no opening does.
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state.standing == .verified)
        #expect(try keychain.engine.store.header().generation > 3)
    }

    // MARK: What is remembered

    @Test func `own commits and checkpoints carry a verification over`() throws {
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
        // More than the log holds before SQLite folds it in and begins it anew.
        for number in 0..<400 { try keychain.add("more \(number)") }
        #expect(keychain.state == VerificationState(.verified, at: moment))
        try keychain.reopen()
        #expect(keychain.state == VerificationState(.verified, at: moment))
    }

    @Test func `another start of the machine needs another verification`() throws {
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

    @Test func `many items are verified when somebody asks, not at an opening`() throws {
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

    @Test func `a commit that was not noted stands on what was verified`() throws {
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

    @Test func `files that were touched are verified again`() throws {
        let (keychain, _) = try changedKeychain()
        try keychain.open()
        let moment = try #require(keychain.state.moment)
        keychain.close()
        try keychain.write(try keychain.bytes(), to: keychain.path(.database))
        try keychain.open()
        #expect(keychain.state.standing == .verified)
        #expect(try #require(keychain.state.moment) > moment)
    }

    @Test func `a copy of the keychain has a note of its own`() throws {
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

    // MARK: The note

    @Test func `the note has the bytes of its document`() throws {
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
        writer.bytes(note[48..<64])
        writer.number(try store.header().generation)
        writer.number(try #require(keychain.state.moment).bitPattern)
        writer.number(database.device)
        writer.number(database.inode)
        writer.number(database.size)
        writer.number(database.modified)
        writer.number(database.changed)
        writer.bytes(note[120..<128])
        #expect(note == writer.result + authenticator.tag(of: writer.result))
        let status = try #require(Files.status(of: path))
        #expect(status.mode & 0o7777 == 0o1600)
        let name = authenticator.tag(of: Array(("name" + keychain.directory).utf8))
            .prefix(16).map { String(format: "%02x", $0) }.joined()
        #expect(path.hasSuffix("/verified-" + name))
    }

    @Test(arguments: [0, 4, 8, 11, 20, 40, 50, 64, 75, 90, 120, 127, 128, 159])
    func `a note that was altered counts for nothing`(position: Int) throws {
        let (keychain, _) = try changedKeychain()
        var note = [UInt8](try Data(contentsOf: URL(filePath: try keychain.notePath)))
        note[position] ^= 1
        try keychain.write(note, to: try keychain.notePath)
        keychain.itemLimit = 0
        try keychain.open()
        #expect(keychain.state == VerificationState(.never))
        #expect(keychain.engine.verifyIfNeeded().isVerified)
    }

    @Test func `a note of before, or of another keychain, counts for nothing`() throws {
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
        // Its own of before says how the files were then.
        try keychain.write(before, to: path)
        try keychain.open()
        #expect(keychain.state.standing == .changed)
    }

    @Test func `without a place for a note, each process verifies for itself`() throws {
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

    @Test func `a folder in which others can write is no place for a note`() throws {
        let (keychain, _) = try changedKeychain()
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o777], ofItemAtPath: keychain.runtime)
        try keychain.open()
        #expect(keychain.state.standing == .verifiedHere)
    }

    @Test func `a note that has a second name isn't written`() throws {
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
    func `the folder of before a rotation, put back, is noticed`(
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
        #expect(failure?.reason.contains("a copy of before the keys were changed") == true)

        // Who goes back to it does so with its items, and is told that there may be others.
        let report = try KeychainEngine.recover(
            directory: keychain.directory, options: keychain.options)
        #expect(report.itemCount == 1 && report.hasUnknownLoss)
        try keychain.open()
        #expect(try keychain.find("a") == Data("a".utf8))
        try keychain.add("c")
        try keychain.reopen()
        keychain.close()
        // And once more, from there.
        try keychain.open()
        try keychain.engine.rotate()
        #expect(try keychain.find("c") == Data("c".utf8))

        // In another place it is another keychain.
        let elsewhere = try KeychainEngine.open(directory: copies[1], options: keychain.options)
        #expect(try elsewhere.status().itemCount == 1)
        elsewhere.close()
    }

    // MARK: Before something is said

    @Test func `nothing is restored to a keychain that is not as it was left`() throws {
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
