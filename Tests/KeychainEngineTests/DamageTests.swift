// DamageTests: a damaged page; accidental and forged index entries that point to another item's
// row; and a write-ahead log that lost commits.
//   (1) A request changes only the items that it names.
//   (2) After a loss in the log, the keychain doesn't open until it is recovered.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct DamageTests {
    /// An open keychain with an item for each account.
    private func smallKeychain(_ accounts: [String]) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        for account in accounts {
            _ = try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword,
                        attributes: genericPassword(account).merging([
                            .label: .string("L" + account)
                        ]) {
                            $1
                        }, protection: .afterFirstUnlock, data: Data(("secret " + account).utf8))),
                as: keychain.caller)
        }
        return keychain
    }

    private func read(_ keychain: TemporaryKeychain, _ account: String) throws -> Data? {
        try keychain.engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                Retrieval(includesData: true)), as: keychain.caller
        ).first?.data
    }

    @Test func `recovery brings back every item and keeps the damaged file`() throws {
        let accounts = (0..<40).map { "account \($0)" }
        let keychain = try smallKeychain(accounts)
        keychain.engine.close()
        var bytes = try Data(contentsOf: URL(filePath: keychain.path(.database)))
        // This is the first byte of page 6, which is the root page of the index `items_key`.
        bytes[5 * 4096] ^= 0x10
        try bytes.write(to: URL(filePath: keychain.path(.database)))
        let report = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
        #expect(report.itemCount == 40)
        #expect(report.damagedItems.isEmpty)
        try keychain.reopen()
        for account in accounts {
            #expect(try read(keychain, account) == Data(("secret " + account).utf8))
        }
        #expect(try keychain.engine.check().isSound)
        let kept = try Data(
            contentsOf: URL(filePath: report.damagedDirectory + "/keychain.db"))
        #expect(kept == bytes)
    }

    @Test func `a keychain in use is not recovered`() throws {
        let keychain = try smallKeychain(["a"])
        #expect(
            status {
                _ = try KeychainEngine.recover(directory: keychain.directory, options: .testing)
            } == .notAvailable)
        #expect(try read(keychain, "a") == Data("secret a".utf8))
    }

    @Test func `a check of an undamaged keychain finds no damage`() throws {
        let keychain = try smallKeychain(["a", "b"])
        let report = try keychain.engine.check()
        #expect(report.itemCount == 2)
        #expect(report.isSound)
        #expect(report.damagedPages.isEmpty)
    }
}

// MARK: - The index

@Suite struct IndexDamageTests {
    enum Damage: CaseIterable {
        /// The page's tag no longer matches.
        case accident
        /// The page has a valid tag.
        case forged
    }

    enum Change: CaseIterable {
        case delete, update, put, add
    }

    private static let accounts = ["a", "b", "c", "d"]

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func item(_ account: String, _ data: String) -> NewItem {
        NewItem(
            itemClass: .genericPassword, attributes: genericPassword(account),
            protection: .whenUnlocked, data: Data(data.utf8))
    }

    /// A closed keychain with four items and a passcode.
    private func keychain() throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        for account in Self.accounts {
            _ = try keychain.engine.perform(
                AddItem(item(account, "secret " + account)), as: keychain.caller)
        }
        try keychain.engine.setPasscode(passcode("1234"))
        keychain.engine.close()
        return keychain
    }

    /// Makes the entry of `b` in one index point to the row of `c`.
    private func mislead(_ keychain: TemporaryKeychain, _ damage: Damage) throws {
        let record = ItemRecord(
            itemClass: .genericPassword, attributes: genericPassword("b"), accessGroup: "G1",
            isSynchronizable: false, isTombstone: false)
        let labels = RowLabels(record, index: try keychain.index())
        let entry = Data([labels.first, labels.second, labels.rest].flatMap(\.bytes))
        let file = URL(filePath: keychain.path(.database))
        var bytes = try Data(contentsOf: file)
        let pages = stride(from: 0, to: bytes.count, by: PageFormat.pageByteCount)
        // A leaf page of an index begins with the byte 10.
        let page = try #require(
            pages.first {
                bytes[$0] == 10
                    && bytes[$0..<$0 + PageFormat.pageByteCount].firstRange(of: entry) != nil
            })
        let found = try #require(
            bytes[page..<page + PageFormat.pageByteCount].firstRange(of: entry))
        // The row number follows the columns.
        try #require(bytes[found.upperBound] == 2)
        bytes[found.upperBound] = 3
        if damage == .forged {
            let deviceKey = try PageSeal.deviceKey(besideDatabaseAt: keychain.path(.database))
            bytes = Data(PageSeal.sealed([UInt8](bytes), deviceKey: deviceKey))
        }
        try bytes.write(to: file)
    }

    @Test(arguments: Damage.allCases, Change.allCases)
    func `a request through an index entry that points to another item's row changes nothing`(
        damage: Damage, change: Change
    ) throws {
        for isLocked in [true, false] {
            let keychain = try keychain()
            try mislead(keychain, damage)
            try keychain.reopen()
            let (engine, caller) = (keychain.engine, keychain.caller)
            if !isLocked { try engine.unlock(passcode: passcode("1234")) }
            let failure = status {
                switch change {
                case .delete:
                    try engine.perform(DeleteItems(query("b"), tombstones: .automatic), as: caller)
                case .update:
                    try engine.perform(
                        UpdateItems(query("b"), ItemChanges(attributes: [.label: .string("x")])),
                        as: caller)
                case .put:
                    try engine.perform(
                        PutItem(
                            item("b", "new"), orChange: query("b"),
                            ItemChanges(data: Data("new".utf8))), as: caller)
                case .add:
                    _ = try engine.perform(AddItem(item("b", "new")), as: caller)
                }
            }
            let locked: Set<Status> = [.interactionNotAllowed, .notAvailable]
            #expect(
                failure.map { isLocked ? locked.contains($0) : $0 == .notAvailable } == true,
                "\(change), locked: \(isLocked), \(String(describing: failure))")
            // Whatever the error was, every item is unchanged.
            engine.close()
            let report = try KeychainEngine.recover(
                directory: keychain.directory, passcode: passcode("1234"), options: .testing)
            #expect(report.itemCount == Self.accounts.count)
            try keychain.reopen()
            try keychain.engine.unlock(passcode: passcode("1234"))
            for account in Self.accounts {
                let found = try keychain.engine.perform(
                    FindItems(query(account), Retrieval(includesData: true)), as: keychain.caller)
                #expect(found.map(\.data) == [Data("secret \(account)".utf8)], "\(account)")
            }
            #expect(try keychain.engine.check().isSound)
        }
    }
}

// MARK: - The log

@Suite struct LogDamageTests {
    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func add(_ account: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .afterFirstUnlock, data: Data("secret \(account)".utf8))),
            as: keychain.caller)
    }

    /// An open keychain with 91 commits in its log, and a copy of its folder. The copy lacks the
    /// shared memory and, unless `withAnchor` is set, the anchor. One byte in the middle of its log
    /// is changed.
    private func killedKeychain(withAnchor: Bool) throws -> (TemporaryKeychain, copy: String) {
        let keychain = try TemporaryKeychain()
        try keychain.engine.store.emptyLog()
        for number in 0..<91 { try add("\(number)", to: keychain) }
        let copy = keychain.directory + "-copy"
        try FileManager.default.copyItem(atPath: keychain.directory, toPath: copy)
        let folder = StoreFolder(path: copy)
        try FileManager.default.removeItem(atPath: folder.path(of: .sharedMemory))
        if !withAnchor { try FileManager.default.removeItem(atPath: folder.path(of: .anchor)) }
        let log = URL(filePath: folder.path(of: .writeAheadLog))
        var bytes = try Data(contentsOf: log)
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: log)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: log.path(percentEncoded: false))
        return (keychain, copy)
    }

    @Test(arguments: [true, false])
    func `a log with lost commits is reported and kept, and a recovery loses at most one item`(
        withAnchor: Bool
    ) throws {
        let (keychain, copy) = try killedKeychain(withAnchor: withAnchor)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let log = StoreFolder(path: copy).path(of: .writeAheadLog)
        let bytes = FileManager.default.contents(atPath: log)
        for _ in 0..<3 {
            let failure = #expect(throws: KeychainFailure.self) {
                _ = try KeychainEngine.open(directory: copy, options: .testing)
            }
            #expect(failure?.status == .notAvailable)
            #expect(failure?.reason.contains("keychainctl recover") == true)
            #expect(FileManager.default.contents(atPath: log) == bytes)
        }
        let report = try KeychainEngine.recover(directory: copy, options: .testing)
        let engine = try KeychainEngine.open(directory: copy, options: .testing)
        defer { engine.close() }
        // At most one item is lost: the item that the commit of the damaged frame added. The other
        // items on that frame's page are also in other frames.
        #expect(report.itemCount >= 90)
        for number in 0..<91 {
            let found = try? engine.perform(
                FindItems(query("\(number)"), Retrieval(includesData: true)), as: keychain.caller)
            #expect(found == nil || found?.first?.data == Data("secret \(number)".utf8))
        }
        try engine.perform(DeleteItems(query("3"), tombstones: .automatic), as: keychain.caller)
        #expect(try engine.check().problems.isEmpty)
    }

    @Test func `after damage to its log, a keychain doesn't open even if the log is restored`()
        throws
    {
        let (_, copy) = try killedKeychain(withAnchor: false)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: copy, options: .testing)
        }
        // The log is restored, so only the file `log-is-damaged` shows that the log was damaged.
        let wal = StoreFolder(path: copy).path(of: .writeAheadLog)
        var bytes = try Data(contentsOf: URL(filePath: wal))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(filePath: wal))
        #expect(StoreFolder(path: copy).exists(.damagedLog))
        #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: copy, options: .testing)
        }
    }
}
