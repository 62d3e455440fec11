// Restoring rows that were set aside, and what a recovery sets aside or keeps.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct RestoreTests {
    /// A closed keychain with an item for each account. Its write-ahead log is empty.
    private func keychain(_ accounts: [String]) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        for account in accounts { try add(account, to: keychain) }
        keychain.engine.close()
        return keychain
    }

    private func add(_ account: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .afterFirstUnlock, data: Data(("secret " + account).utf8))),
            as: keychain.caller)
    }

    private func read(_ account: String, from keychain: TemporaryKeychain) throws -> Data? {
        try keychain.engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                Retrieval(includesData: true)), as: keychain.caller
        ).first?.data
    }

    /// Changes `count` bytes at an offset from the first occurrence of magic bytes in the database.
    private func damage(
        _ keychain: TemporaryKeychain, behind magic: String, at offset: Int, count: Int = 1
    ) throws {
        // `forge` renews the tags of the pages, because the engine writes no page that it read
        // with a wrong tag.
        try forge(keychain) { bytes in
            let found = try #require(Data(bytes).firstRange(of: Data(magic.utf8)))
            let place = found.lowerBound + offset
            for index in place..<place + count { bytes[index] ^= 0x5A }
        }
    }

    /// Undoes the damage, as if the disk had returned wrong bytes only for a while.
    private func undoDamage(
        _ keychain: TemporaryKeychain, behind magic: String, at offset: Int
    ) throws {
        // Closing a database with damaged pages doesn't empty its log.
        try keychain.engine.store.emptyLog()
        keychain.engine.close()
        try damage(keychain, behind: magic, at: offset)
        try keychain.reopen()
    }

    /// Restores every row that is set aside, each by its reference.
    private func restoreAll(_ keychain: TemporaryKeychain) throws -> [Restoration.Outcome] {
        let rows = Set(try keychain.engine.setAsideRows().map(\.row.reference))
        return try keychain.engine.restoreSetAside(rows).map(\.outcome)
    }

    @Test(arguments: [("KCM2", 40), ("KCS2", 60), ("KCS2", 6)])
    func `a set-aside item is restored once it can be opened again`(_ magic: String, _ offset: Int)
        throws
    {
        let keychain = try keychain(["a"])
        try damage(keychain, behind: magic, at: offset)
        try keychain.reopen()
        #expect(try keychain.engine.check(settingAside: true).setAsideCount == 1)
        #expect(status { _ = try read("a", from: keychain) } == .decode)
        #expect(try keychain.engine.restoreSetAside().map(\.outcome) == [.damaged])
        #expect(try keychain.engine.setAsideRows().count == 1)
        #expect(try keychain.engine.check().isSound)
        try undoDamage(keychain, behind: magic, at: offset)
        // The row's bytes now differ from the bytes that were set aside.
        #expect(try keychain.engine.setAsideRows().map(\.isAuthentic) == [false])
        #expect(try keychain.engine.restoreSetAside().map(\.outcome) == [.altered])
        #expect(try restoreAll(keychain) == [.restored])
        #expect(try read("a", from: keychain) == Data("secret a".utf8))
        #expect(try keychain.engine.check().isSound)
        #expect(try keychain.engine.setAsideRows().isEmpty)
    }

    @Test func `an item whose primary key was taken stays set aside until the key is free`() throws
    {
        let keychain = try keychain(["a"])
        try damage(keychain, behind: "KCS2", at: 60)
        try keychain.reopen()
        _ = try keychain.engine.check(settingAside: true)
        try undoDamage(keychain, behind: "KCS2", at: 60)
        try add("a", to: keychain)
        #expect(try restoreAll(keychain) == [.keyTaken])
        try keychain.engine.perform(
            DeleteItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a")),
                tombstones: .automatic), as: keychain.caller)
        #expect(try restoreAll(keychain) == [.restored])
        #expect(try read("a", from: keychain) == Data("secret a".utf8))
    }

    @Test func `an item that was deleted while damaged is restored only by its reference`() throws {
        let keychain = try keychain(["a"])
        try damage(keychain, behind: "KCM2", at: 40)
        try keychain.reopen()
        try keychain.engine.perform(
            DeleteItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a")),
                tombstones: .automatic), as: keychain.caller)
        try undoDamage(keychain, behind: "KCM2", at: 40)
        let row = try #require(try keychain.engine.setAsideRows().first)
        #expect(try keychain.engine.restoreSetAside().isEmpty)
        #expect(try keychain.engine.setAsideRows().map(\.row) == [row.row])
        let restored = try keychain.engine.restoreSetAside([row.row.reference])
        #expect(restored.map(\.outcome) == [.restored])
        #expect(try read("a", from: keychain) == Data("secret a".utf8))
    }

    @Test
    func `if damage occurs while an item is put back, the error says that the item was put back`()
        throws
    {
        let keychain = try keychain(["a"])
        try damage(keychain, behind: "KCS2", at: 60)
        try keychain.reopen()
        _ = try keychain.engine.check(settingAside: true)
        try undoDamage(keychain, behind: "KCS2", at: 60)
        let row = try #require(try keychain.engine.setAsideRows().first)
        let file = try #require(FileHandle(forUpdatingAtPath: keychain.path(.database)))
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try keychain.engine.restoreSetAside([row.row.reference]) { _, _ in
                // Putting the row back neither reads nor writes the page of the earlier versions.
                try? file.seek(toOffset: UInt64(RootPage.versions.bytes.lowerBound))
                try? file.write(contentsOf: Data([0]))
            }
        }
        #expect(failure?.cause == .damage)
        #expect(failure?.reason.contains("have been put back. Run `keychainctl recover`") == true)
    }

    /// A database stores the number of a reason, and a database of version 1 stores the text of a
    /// reason. Therefore no number and no text is ever changed.
    @Test
    func `the reason why a row was set aside is read back, and its number and text are fixed`()
        throws
    {
        let keychain = try keychain(["a", "b"])
        try damage(keychain, behind: "KCS2", at: 60)
        try keychain.reopen()
        _ = try keychain.engine.check(settingAside: true)
        let reasons = try keychain.engine.setAsideRows().map(\.reason)
        #expect(reasons == [.foundByCheck])
        #expect(SetAsideReason.allCases.map(\.rawValue) == [1, 2, 3, 4, 5, 6])
        #expect(
            SetAsideReason.allCases.map(\.text) == [
                "found damaged by a check", "found damaged by a recovery",
                "found whole by a recovery; it may have been deleted", "lost by a recovery",
                "replaced by a new item with the same key", "damaged when it was deleted",
            ])
    }

    @Test func `if only the write-ahead log is left, the error points to a recovery`() throws {
        let keychain = try keychain(["a"])
        try FileManager.default.moveItem(
            at: URL(filePath: keychain.path(.database)),
            to: URL(filePath: keychain.path(.writeAheadLog)))
        let failure = #expect(throws: KeychainFailure.self) {
            try KeychainEngine.open(directory: keychain.directory, options: .testing)
        }
        #expect(failure?.reason.contains("keychainctl recover") == true)
    }

    @Test func `restoring by a reference fails if no row with that reference is set aside`() throws
    {
        let keychain = try keychain(["a"])
        try keychain.reopen()
        #expect(
            status { _ = try keychain.engine.restoreSetAside([ItemReference.random()]) }
                == .itemNotFound)
        #expect(try keychain.engine.restoreSetAside().isEmpty)
    }

    /// The second offset is in a label, so the table and its indexes disagree.
    @Test(arguments: [("KCS2", 60), ("KCM2", -10), ("KCM2", 40)])
    func `a recovery sets a damaged item aside instead of losing it`(
        _ magic: String, _ offset: Int
    ) throws {
        let keychain = try keychain(["a", "b"])
        try damage(keychain, behind: magic, at: offset)
        let report = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
        #expect(report.itemCount == 1)
        #expect(report.damagedItems.count == 1)
        #expect(!report.isComplete)
        try keychain.reopen()
        let statuses = ["a", "b"].map { account in
            status { _ = try read(account, from: keychain) }
        }
        #expect(statuses.filter { $0 == .decode }.count == 1)
        #expect(statuses.filter { $0 == nil }.count == 1)
        #expect(try keychain.engine.restoreSetAside().map(\.outcome) == [.damaged])
    }

    @Test func `rows that are set aside are still set aside after a recovery`() throws {
        let keychain = try keychain(["a", "b"])
        try damage(keychain, behind: "KCS2", at: 60)
        try keychain.reopen()
        _ = try keychain.engine.check(settingAside: true)
        let before = try keychain.engine.setAsideRows()
        #expect(before.count == 1)
        keychain.engine.close()
        let report = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
        #expect(report.isComplete)
        try keychain.reopen()
        let after = try keychain.engine.setAsideRows()
        #expect(after.map(\.row) == before.map(\.row))
        #expect(after.map(\.reason) == before.map(\.reason))
        #expect(after.map(\.moment) == before.map(\.moment))
        #expect(after.map(\.reason) == [.foundByCheck])
    }

    @Test func `a row that is set aside and was altered survives two recoveries`() throws {
        let keychain = try keychain(["a"])
        try damage(keychain, behind: "KCS2", at: 60)
        try keychain.reopen()
        _ = try keychain.engine.check(settingAside: true)
        try undoDamage(keychain, behind: "KCS2", at: 60)
        // The first recovery finds a tag that doesn't match, and stores an empty tag.
        for _ in 1...2 {
            keychain.engine.close()
            let report = try KeychainEngine.recover(
                directory: keychain.directory, options: .testing)
            #expect(report.isComplete)
            try keychain.reopen()
            #expect(try keychain.engine.setAsideRows().map(\.isAuthentic) == [false])
        }
        #expect(try restoreAll(keychain) == [.restored])
        #expect(try read("a", from: keychain) == Data("secret a".utf8))
    }

    @Test func `a log whose last commit is damaged is kept for recovery`() throws {
        let keychain = try keychain(["a", "b"])
        try keychain.reopen()
        try add("c", to: keychain)
        // A killed process leaves the folder in the state of this copy.
        let folder = URL(filePath: keychain.directory)
        let copy = URL(filePath: keychain.directory + "-killed")
        try FileManager.default.copyItem(at: folder, to: copy)
        defer { try? FileManager.default.removeItem(at: copy) }
        let log = copy.appending(path: "keychain.db-wal")
        var bytes = try Data(contentsOf: log)
        // Whatever the log's length, its last frame belongs to the last commit.
        bytes[bytes.count - 2000] ^= 1
        try bytes.write(to: log)
        for _ in 0..<2 {
            #expect(
                status {
                    try KeychainEngine.open(directory: copy.path, options: .testing).close()
                } == .notAvailable)
        }
        #expect(try Data(contentsOf: log) == bytes)
        let report = try KeychainEngine.recover(directory: copy.path, options: .testing)
        #expect(report.isComplete)
        #expect(report.itemCount == 3)
    }
}
