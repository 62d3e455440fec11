// Rows changed by an attacker who has the device key and gave the pages valid tags.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

/// Changes the database of a closed keychain and gives every page a valid tag.
func forge(_ keychain: TemporaryKeychain, _ change: (inout [UInt8]) throws -> Void) throws {
    try PageSeal.change(keychain.path(.database), change)
}

/// The position of a row's metadata. The protection class and the four labels are at fixed
/// distances before the metadata.
func placeOfMetadata(of account: String, in keychain: TemporaryKeychain, _ bytes: [UInt8]) throws
    -> Int
{
    let record = ItemRecord(
        itemClass: .genericPassword, attributes: genericPassword(account), accessGroup: "G1",
        isSynchronizable: false, isTombstone: false)
    let places = try Tier.allCases.compactMap { tier in
        let labels = RowLabels(record, index: try keychain.index(of: tier))
        let key = Data([labels.group, labels.first, labels.second, labels.rest].flatMap(\.bytes))
        return Data(bytes).firstRange(of: key + Data("KCM2".utf8))
    }
    return try #require(places.first).upperBound - 4
}

@Suite struct ForgedRowTests {
    private func item(_ account: String, _ protection: ProtectionClass) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: genericPassword(account).merging([.label: .string("L")]) { $1 },
            protection: protection, data: Data("secret \(account)".utf8))
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    @Test
    func `removing the passcode doesn't delete a row forged into the when-passcode-set class`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        for (account, protection) in [
            ("kept", ProtectionClass.whenUnlocked), ("going", .whenPasscodeSetThisDeviceOnly),
        ] {
            _ = try keychain.engine.perform(AddItem(item(account, protection)), as: keychain.caller)
        }
        keychain.engine.close()
        try forge(keychain) { bytes in
            // The protection class is the byte before the four labels.
            let place = try placeOfMetadata(of: "kept", in: keychain, bytes) - 65
            try #require(bytes[place] == ProtectionClass.whenUnlocked.rawValue)
            bytes[place] = ProtectionClass.whenPasscodeSetThisDeviceOnly.rawValue
        }
        try keychain.reopen()
        #expect(try keychain.engine.removePasscode(passcode("1234")) == 1)
        let aside = try keychain.engine.setAsideRows()
        #expect(aside.count == 1)
        #expect(aside.first?.row.secret != nil)
        #expect(
            status {
                _ = try keychain.engine.perform(
                    FindItems(query("going"), Retrieval()), as: keychain.caller)
            }
                == .itemNotFound)
    }

    @Test
    func `setting aside a row that was forged into the other tier keeps the item counts right`()
        throws
    {
        let keychain = try TemporaryKeychain()
        for account in ["a", "b"] {
            _ = try keychain.engine.perform(
                AddItem(item(account, .whenUnlocked)), as: keychain.caller)
        }
        keychain.engine.close()
        try forge(keychain) { bytes in
            let place = try placeOfMetadata(of: "a", in: keychain, bytes) - 65
            bytes[place] = ProtectionClass.always.rawValue
        }
        try keychain.reopen()
        // The new item replaces the row that can't be opened.
        _ = try keychain.engine.perform(AddItem(item("a", .whenUnlocked)), as: keychain.caller)
        #expect(try keychain.engine.setAsideRows().count == 1)
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `a row that is set aside leaves no entry in the table of terms`() throws {
        let keychain = try TemporaryKeychain()
        for account in ["a", "b"] {
            _ = try keychain.engine.perform(AddItem(item(account, .always)), as: keychain.caller)
        }
        keychain.engine.close()
        try forge(keychain) { bytes in
            let place = try placeOfMetadata(of: "a", in: keychain, bytes)
            let count = Int(bytes[place + 6]) << 8 | Int(bytes[place + 7])
            // The row's terms follow the metadata.
            bytes[place + count] ^= 1
        }
        try keychain.reopen()
        _ = try keychain.engine.perform(AddItem(item("a", .always)), as: keychain.caller)
        #expect(try keychain.engine.setAsideRows().count == 1)
        #expect(try keychain.engine.check().isSound)
        let byLabel = ItemQuery(
            itemClass: .genericPassword, attributes: [.label: .string("L")])
        let found = try keychain.engine.perform(
            FindItems(byLabel, Retrieval(limit: nil, includesData: true)), as: keychain.caller)
        #expect(Set(found.map(\.data)) == [Data("secret a".utf8), Data("secret b".utf8)])
    }

    @Test func `deleting a tombstone through a forged index entry doesn't delete another row`()
        throws
    {
        let keychain = try TemporaryKeychain()
        var synchronizable = item("a", .whenUnlocked)
        synchronizable.isSynchronizable = true
        var query = query("a")
        query.isSynchronizable = true
        _ = try keychain.engine.perform(AddItem(synchronizable), as: keychain.caller)
        _ = try keychain.engine.perform(AddItem(item("b", .whenUnlocked)), as: keychain.caller)
        try keychain.engine.perform(DeleteItems(query, tombstones: .automatic), as: keychain.caller)
        keychain.engine.close()
        let record = ItemRecord(
            itemClass: .genericPassword, attributes: genericPassword("a"), accessGroup: "G1",
            isSynchronizable: true, isTombstone: true)
        let labels = RowLabels(record, index: try keychain.index())
        let entry = Data([labels.first, labels.second, labels.rest].flatMap(\.bytes))
        try forge(keychain) { bytes in
            let pages = stride(from: 0, to: bytes.count, by: PageFormat.pageByteCount)
            let page = try #require(
                pages.first {
                    bytes[$0] == 10
                        && Data(bytes[$0..<$0 + PageFormat.pageByteCount]).firstRange(of: entry)
                            != nil
                })
            let place = try #require(
                Data(bytes[page..<page + PageFormat.pageByteCount]).firstRange(of: entry))
            try #require(bytes[page + place.upperBound] == 3)
            bytes[page + place.upperBound] = 2
        }
        try keychain.reopen()
        #expect(
            status { _ = try keychain.engine.perform(AddItem(synchronizable), as: keychain.caller) }
                == .notAvailable)
        #expect(
            try keychain.engine.perform(
                FindItems(self.query("b"), Retrieval(includesData: true)), as: keychain.caller
            ).map(\.data) == [Data("secret b".utf8)])
    }
}
