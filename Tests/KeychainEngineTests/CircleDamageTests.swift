// Damaged pages while synchronization reads a keychain: an item that can't be read doesn't count as
// absent, and an earlier version doesn't count as the current one.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct CircleDamageTests {
    enum Damage: CaseIterable {
        /// The page with the items shows none.
        case lostRows
        /// The index by reference shows none.
        case lostReferences
        /// The page with the items is that of an earlier commit, with a flipped bit.
        case earlierRows
    }

    @Test(arguments: Damage.allCases, [true, false])
    func `synchronization treats no item on a damaged page as absent, and no old one as current`(
        damage: Damage, readsAll: Bool
    ) throws {
        let keychain = try TemporaryKeychain()
        let reference = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    protection: .whenUnlocked, isSynchronizable: true, data: Data("old".utf8))),
            as: keychain.caller
        ).reference
        keychain.engine.close()
        let file = URL(filePath: keychain.path(.database))
        let earlier = [UInt8](try Data(contentsOf: file))
        try keychain.reopen()
        _ = try keychain.engine.perform(
            UpdateItems(
                ItemQuery(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    isSynchronizable: true),
                ItemChanges(data: Data("new".utf8))), as: keychain.caller)
        #expect(try keychain.engine.synchronizableItems([reference])[reference] != nil)
        keychain.engine.close()

        var bytes = [UInt8](try Data(contentsOf: file))
        let items = RootPage.items.bytes
        switch damage {
        case .lostRows: Self.removeCells(items, of: &bytes)
        case .lostReferences: Self.removeCells(RootPage.itemsUUID.bytes, of: &bytes)
        case .earlierRows:
            bytes[items] = earlier[items]
            // The page has one cell, at its end, so that this byte is unused.
            bytes[items.lowerBound + 100] ^= 1
        }
        try Data(bytes).write(to: file)
        try keychain.reopen()
        let engine = keychain.engine
        let failure = status {
            if readsAll {
                var count = 0
                try engine.forEachSynchronizable { _ throws(KeychainFailure) in count += 1 }
                // `forEachSynchronizable` doesn't read the index by reference.
                #expect(damage == .lostReferences && count == 1)
            } else {
                _ = try engine.synchronizableItems([reference])
            }
        }
        #expect(failure == (damage == .lostReferences && readsAll ? nil : .notAvailable))
    }

    /// Sets the number of cells of a page to zero.
    private static func removeCells(_ page: Range<Int>, of bytes: inout [UInt8]) {
        bytes[page.lowerBound + 3] = 0
        bytes[page.lowerBound + 4] = 0
    }
}
