// An attacker puts back old pages and files. The tests show which of them are detected, and how, as
// the threat model describes. All pages have valid tags.

import Foundation
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct ReplayTests {
    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func add(_ account: String, _ data: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .afterFirstUnlock, data: Data(data.utf8))), as: keychain.caller)
    }

    private func find(_ account: String, in keychain: TemporaryKeychain) throws -> [Data?] {
        try keychain.engine.perform(
            FindItems(query(account), Retrieval(includesData: true)), as: keychain.caller
        ).map(\.data)
    }

    /// Creates a keychain with the item `a`, applies `change`, puts back `pages` from before the
    /// change, and reopens the keychain.
    private func keychain(
        puttingBack pages: Set<RootPage>, _ change: (TemporaryKeychain) throws -> Void
    ) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try add("a", "old", to: keychain)
        keychain.engine.close()
        let file = URL(filePath: keychain.path(.database))
        let before = [UInt8](try Data(contentsOf: file))
        try keychain.reopen()
        try change(keychain)
        keychain.engine.close()
        try forge(keychain) { bytes in
            for page in pages {
                bytes.replaceSubrange(page.bytes, with: before[page.bytes])
            }
        }
        try keychain.reopen()
        return keychain
    }

    private let rows = Set(RootPage.indexes + [.items])

    @Test func `a check detects a row that was put back to an earlier state`() throws {
        let keychain = try keychain(puttingBack: [.items]) { keychain in
            try keychain.engine.perform(
                UpdateItems(query("a"), ItemChanges(data: Data("new".utf8))), as: keychain.caller)
        }
        #expect(try find("a", in: keychain) == [Data("old".utf8)])
        #expect(
            try keychain.engine.check().problems
                == ["the database's rows don't match its header"])
    }

    @Test func `a check detects a row that was removed with its index entries`() throws {
        let keychain = try keychain(puttingBack: rows) { try add("b", "new", to: $0) }
        #expect(status { _ = try find("b", in: keychain) } == .itemNotFound)
        #expect(
            try keychain.engine.check().problems
                == ["the database's number of items is 1 and should be 2"])
    }

    @Test func `a check detects a deleted row that was put back`() throws {
        let keychain = try keychain(puttingBack: rows) { keychain in
            try add("b", "new", to: keychain)
            try keychain.engine.perform(
                DeleteItems(query("a"), tombstones: .never), as: keychain.caller)
        }
        #expect(try find("a", in: keychain) == [Data("old".utf8)])
        #expect(
            try keychain.engine.check().problems
                == ["the database's rows don't match its header"])
    }

    @Test func `a row in a tier that is empty according to the header isn't found`() throws {
        let keychain = try keychain(puttingBack: rows) { keychain in
            try keychain.engine.perform(
                DeleteItems(query("a"), tombstones: .never), as: keychain.caller)
        }
        #expect(status { _ = try find("a", in: keychain) } == .itemNotFound)
        #expect(
            try keychain.engine.check().problems
                == ["the database's number of items is 1 and should be 0"])
    }

    @Test(arguments: [0, 1])
    func `a check detects an index without the entry of a row`(which: Int) throws {
        let keychain = try keychain(puttingBack: [[.itemsKey, .itemsGroup][which]]) {
            try add("b", "new", to: $0)
        }
        let found = try? find("b", in: keychain)
        #expect(found == (which == 0 ? nil : [Data("new".utf8)]))
        #expect(try keychain.engine.check().problems.count == 1)
    }

    @Test func `an old database is refused because the anchor is ahead of it`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", "old", to: keychain)
        keychain.engine.close()
        let file = URL(filePath: keychain.path(.database))
        let before = try Data(contentsOf: file)
        try keychain.reopen()
        try keychain.engine.perform(
            DeleteItems(query("a"), tombstones: .never), as: keychain.caller)
        keychain.engine.close()
        try before.write(to: file)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: keychain.path(.database))
        let failure = #expect(throws: KeychainFailure.self) {
            _ = try KeychainEngine.open(directory: keychain.directory, options: .testing)
        }
        #expect(failure?.reason.contains("commits after number") == true)
    }
}
