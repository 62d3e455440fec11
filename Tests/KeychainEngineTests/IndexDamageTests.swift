// An index entry that leads to another item's row, by accident and made by an attacker: whatever is
// asked for, no other item is touched.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct IndexDamageTests {
    enum Damage: CaseIterable {
        /// The page doesn't fit its checksum any more.
        case accident
        /// It has a checksum that fits.
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

    /// Four items and a passcode, closed.
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

    /// Makes the entry of `b` in one index lead to the row of `c`.
    private func mislead(_ keychain: TemporaryKeychain, _ damage: Damage) throws {
        let record = ItemRecord(
            itemClass: .genericPassword, attributes: genericPassword("b"), accessGroup: "G1",
            isSynchronizable: false, isTombstone: false)
        let labels = RowLabels(record, index: keychain.engine.store.index)
        let entry = Data([labels.first, labels.second, labels.rest].flatMap(\.bytes))
        let file = URL(filePath: keychain.path(.database))
        var bytes = try Data(contentsOf: file)
        let pages = stride(from: 0, to: bytes.count, by: PageFormat.pageByteCount)
        // The first byte of a leaf of an index is 10.
        let page = try #require(
            pages.first {
                bytes[$0] == 10
                    && bytes[$0..<$0 + PageFormat.pageByteCount].firstRange(of: entry) != nil
            })
        let found = try #require(
            bytes[page..<page + PageFormat.pageByteCount].firstRange(of: entry))
        // Behind the columns stands the number of the row.
        try #require(bytes[found.upperBound] == 2)
        bytes[found.upperBound] = 3
        if damage == .forged { bytes = Data(PageSeal.sealed([UInt8](bytes))) }
        try bytes.write(to: file)
    }

    @Test(arguments: Damage.allCases, Change.allCases)
    func `a change through an entry that leads to another item fails, and changes no item`(
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
            // Whatever was said, every item is where and what it was.
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
