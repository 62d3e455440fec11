// The recovery of keychains in which an attacker without keys has put back an older keybag, older
// pages or older log frames, and of rows with the same primary key in both tiers.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct RecoveryTests {
    private func add(
        _ account: String, _ data: String, _ protection: ProtectionClass = .afterFirstUnlock,
        to keychain: TemporaryKeychain
    ) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: protection, data: Data(data.utf8))), as: keychain.caller)
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func find(_ account: String, in keychain: TemporaryKeychain) throws -> Data? {
        try keychain.engine.perform(
            FindItems(query(account), Retrieval(includesData: true)), as: keychain.caller
        ).first?.data
    }

    private func bytes(_ file: StoreFolder.File, of keychain: TemporaryKeychain) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: keychain.path(file))))
    }

    private func write(
        _ bytes: some Sequence<UInt8>, to file: StoreFolder.File, of keychain: TemporaryKeychain,
        at offset: Int = 0
    ) throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: keychain.path(file)))
        if offset == 0 { try handle.truncate(atOffset: 0) }
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    private func recover(
        _ keychain: TemporaryKeychain, _ code: String? = nil
    ) throws -> RecoveryReport {
        try KeychainEngine.recover(
            directory: keychain.directory, passcode: code.map { passcode($0) }, options: .testing)
    }

    // MARK: Ways in

    @Test func `a keychain without a passcode is recovered with a credential or recovery code`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try add("a", "secret", to: keychain)
        let credential = passcode("0123456789abcdef")
        let code = RecoveryCode.random().bytes
        try keychain.engine.perform(
            ChangeSlots(.add(.credential(credential))), as: keychain.caller)
        try keychain.engine.perform(
            ChangeSlots(.add(.recoveryCode(code)), provedBy: .credential(credential)),
            as: keychain.caller)
        keychain.engine.close()
        func recover(
            _ way: WayIn?, own: SecretBytes? = nil
        ) throws -> RecoveryReport {
            var options = EngineOptions.testing
            options.credential = { own }
            return try KeychainEngine.recover(
                directory: keychain.directory, with: way, options: options)
        }

        let wrong = passcode("another secret !")
        #expect(status { _ = try recover(nil) } == .authFailed)
        #expect(status { _ = try recover(nil, own: wrong) } == .authFailed)
        #expect(status { _ = try recover(.credential(wrong)) } == .authFailed)
        #expect(status { _ = try recover(.passcode(wrong)) } == .param)
        #expect(try recover(.credential(credential)).isComplete)
        #expect(try recover(.recoveryCode(code)).isComplete)
        #expect(try recover(nil, own: credential).isComplete)
        try keychain.reopen()
        try keychain.engine.perform(UnlockWith(.recoveryCode(code)), as: keychain.caller)
        #expect(try find("a", in: keychain) == Data("secret".utf8))
    }

    // MARK: An old passcode

    enum Keybag: CaseIterable { case zeroed, earlier }

    @Test(arguments: Keybag.allCases)
    func `an old passcode with an old keybag copy recovers nothing`(
        _ inDatabase: Keybag
    ) throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1111"))
        try add("a", "secret", to: keychain)
        keychain.engine.close()
        let database = try bytes(.database, of: keychain)
        let earlier = try bytes(.keybag, of: keychain)
        try keychain.reopen()
        try keychain.engine.changePasscode(from: passcode("1111"), to: passcode("2222"))
        keychain.engine.close()
        let latest = try bytes(.keybag, of: keychain)
        let page = RootPage.keybag.bytes
        try write(
            inDatabase == .zeroed ? [UInt8](repeating: 0, count: 4096)[...] : database[page],
            to: .database, of: keychain, at: page.lowerBound)
        try write(earlier, to: .keybag, of: keychain)
        let before = try bytes(.database, of: keychain)

        for code in ["1111", "2222", nil] {
            let failure = #expect(throws: KeychainFailure.self) { _ = try recover(keychain, code) }
            #expect(failure?.status == .invalidKeychain && failure?.cause == .damage)
            #expect(failure?.reason.contains("`keybag` from a backup") == true)
        }
        #expect(try bytes(.database, of: keychain) == before)

        // These lines follow the instructions in the error.
        try write(latest, to: .keybag, of: keychain)
        #expect(status { _ = try recover(keychain, "1111") } == .authFailed)
        #expect(try recover(keychain, "2222").isComplete)
        try keychain.reopen()
        try keychain.engine.unlock(passcode: passcode("2222"))
        #expect(try find("a", in: keychain) == Data("secret".utf8))
    }

    // MARK: Old pages

    @Test func `items recovered from an old page aren't reported as the latest ones`() throws {
        let keychain = try TemporaryKeychain()
        for account in ["a", "b"] { try add(account, "old", to: keychain) }
        keychain.engine.close()
        let before = try bytes(.database, of: keychain)
        try keychain.reopen()
        _ = try keychain.engine.perform(
            UpdateItems(query("a"), ItemChanges(data: Data("new".utf8))), as: keychain.caller)
        keychain.engine.close()
        let page = RootPage.items.bytes
        try write(before[page], to: .database, of: keychain, at: page.lowerBound)

        let report = try recover(keychain)
        #expect(!report.isVerified && !report.isConfirmed && !report.isComplete)
        #expect(report.itemCount == 2 && report.expectedCount == 2)
        #expect(report.hasUnknownLoss && report.doubtfulItems.isEmpty)
        try keychain.reopen()
        #expect(try find("a", in: keychain) == Data("old".utf8))
        #expect(status { _ = try find("c", in: keychain) } == .decode)
        // A second recovery confirms the result of the first, and remembers the loss.
        keychain.engine.close()
        let second = try recover(keychain)
        #expect(second.isConfirmed && second.hasUnknownLoss)
        try keychain.reopen()
        #expect(status { _ = try find("c", in: keychain) } == .decode)
    }

    // MARK: Log frames

    /// A folder as a killed process leaves it. Its log has several frames of the items' page.
    private func killed(_ change: (inout [UInt8]) -> Void) throws -> String {
        let keychain = try TemporaryKeychain()
        try add("a", "first", to: keychain)
        try keychain.engine.store.emptyLog()
        for account in ["b", "c"] { try add(account, account, to: keychain) }
        for data in ["second", "third"] {
            _ = try keychain.engine.perform(
                UpdateItems(query("a"), ItemChanges(data: Data(data.utf8))), as: keychain.caller)
        }
        let copy = keychain.directory + "-killed"
        try FileManager.default.copyItem(atPath: keychain.directory, toPath: copy)
        let log = URL(filePath: StoreFolder(path: copy).located.path(of: .writeAheadLog))
        var bytes = [UInt8](try Data(contentsOf: log))
        change(&bytes)
        try Data(LogForgery.summed(bytes)).write(to: log)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: log.path)
        return copy
    }

    private func find(_ account: String, in engine: KeychainEngine) throws -> Data? {
        try engine.perform(
            FindItems(query(account), Retrieval(includesData: true)), as: AccessGroups(["G1"])
        ).first?.data
    }

    /// The frames that contain a page.
    private func frames(of page: RootPage, in log: [UInt8]) -> [Int] {
        (1...LogForgery.frameCount(log)).filter {
            log[LogForgery.frame($0).lowerBound + 3] == UInt8(page.rawValue)
        }
    }

    @Test func `appending old frames to the log doesn't make a recovery lose anything`() throws {
        let copy = try killed { log in
            // The appended frame contains the items' page of an earlier commit. The frame is marked
            // as the last frame of a commit.
            var frame = log[LogForgery.frame(frames(of: .items, in: log)[0])]
            let commit = LogForgery.frame(LogForgery.frameCount(log))
            frame.replaceSubrange(
                frame.startIndex + 4..<frame.startIndex + 8,
                with: log[commit.lowerBound + 4..<commit.lowerBound + 8])
            log += frame
        }
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let report = try KeychainEngine.recover(directory: copy, options: .testing)
        #expect(report.isComplete && !report.hasUnknownLoss, "\(report)")
        let engine = try KeychainEngine.open(directory: copy, options: .testing)
        defer { engine.close() }
        #expect(try find("a", in: engine) == Data("third".utf8))
        #expect(try engine.setAsideRows().isEmpty)
    }

    @Test func `after log frames were swapped, items can be restored as the errors instruct`()
        throws
    {
        let copy = try killed { log in
            let places = frames(of: .items, in: log).suffix(2).map { LogForgery.frame($0) }
            let contents = places.map { log[$0].dropFirst(24) }
            for (place, content) in zip(places, contents.reversed()) {
                log.replaceSubrange(place.dropFirst(24).indices, with: content)
            }
        }
        defer { try? FileManager.default.removeItem(atPath: copy) }
        let report = try KeychainEngine.recover(directory: copy, options: .testing)
        #expect(!report.isConfirmed && report.doubtfulItems.count == 3, "\(report)")
        let engine = try KeychainEngine.open(directory: copy, options: .testing)
        defer { engine.close() }
        for account in ["a", "b", "c"] {
            let failure = #expect(throws: KeychainFailure.self) {
                _ = try find(account, in: engine)
            }
            let item = try #require(failure?.item)
            #expect(failure?.reason.contains("`keychainctl restore \(item)`") == true)
            #expect(try engine.restoreSetAside([item]).map(\.outcome) == [.restored])
            #expect(try find(account, in: engine) != nil)
        }
        #expect(status { _ = try find("d", in: engine) } == .decode)
        try engine.dismissSetAside()
        #expect(status { _ = try find("d", in: engine) } == .itemNotFound)
    }

    // MARK: Duplicate primary keys

    /// A keychain with an item `a` in the guarded tier, and the row of a deleted item `a` that was
    /// in the open tier.
    private func keychainWithTwo() throws -> (TemporaryKeychain, SealedRow) {
        let keychain = try TemporaryKeychain()
        try add("a", "open", .always, to: keychain)
        let row = try #require(try keychain.rows(query("a")).first)
        _ = try keychain.engine.perform(
            DeleteItems(query("a"), tombstones: .never), as: keychain.caller)
        try add("a", "guarded", to: keychain)
        return (keychain, row)
    }

    private func change(
        _ keychain: TemporaryKeychain,
        _ body: (inout StoreTransaction) throws(KeychainFailure) -> Void
    ) throws {
        let store = keychain.engine.store
        _ = try store.write(keybagGeneration: store.header().keybagGeneration, body)
    }

    @Test func `a recovery keeps one of two rows that have the same primary key in both tiers`()
        throws
    {
        let (keychain, row) = try keychainWithTwo()
        try change(keychain) { transaction throws(KeychainFailure) in try transaction.insert(row) }
        #expect(try keychain.rows(query("a")).count == 2)
        keychain.engine.close()
        let report = try recover(keychain)
        #expect(report.itemCount == 1 && !report.isComplete && report.doubtfulItems.count == 1)
        try keychain.reopen()
        #expect(try keychain.rows(query("a")).count == 1)
        #expect(try keychain.engine.check().isSound)
        let restored = try keychain.engine.restoreSetAside(Set(report.doubtfulItems))
        #expect(restored.map(\.outcome) == [.keyTaken])
    }

    @Test
    func `a recovery that continues another one also reports a row whose primary key is taken`()
        throws
    {
        let (keychain, row) = try keychainWithTwo()
        try change(keychain) { transaction throws(KeychainFailure) in try transaction.insert(row) }
        keychain.engine.close()
        let (database, recovered) = (keychain.path(.database), keychain.path(.recoveredDatabase))
        let whole = try recover(keychain)
        #expect(!whole.isContinued && !whole.isComplete)
        // This is the state before the new database gets its final name.
        try FileManager.default.moveItem(atPath: database, toPath: recovered)
        let continued = try recover(keychain)
        #expect(continued.isContinued && !continued.isComplete && !continued.hasUnknownLoss)
        #expect(continued.itemCount == 1)
        #expect(continued.doubtfulItems == whole.doubtfulItems)
    }

    @Test func `a row isn't restored if the other tier has an item with the same primary key`()
        throws
    {
        let (keychain, row) = try keychainWithTwo()
        try change(keychain) { transaction throws(KeychainFailure) in
            try transaction.addSetAside(row, reason: SetAsideReason.foundByCheck.rawValue, at: 1)
        }
        #expect(try keychain.engine.restoreSetAside().map(\.outcome) == [.keyTaken])
        #expect(try find("a", in: keychain) == Data("guarded".utf8))
        _ = try keychain.engine.perform(
            DeleteItems(query("a"), tombstones: .never), as: keychain.caller)
        #expect(try keychain.engine.restoreSetAside().map(\.outcome) == [.restored])
        #expect(try find("a", in: keychain) == Data("open".utf8))
    }
}
