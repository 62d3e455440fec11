// Pages and files of an earlier state, put back by an attacker who gives pages checksums that fit: what
// the threat model says is noticed, and by what.

import Foundation
import KeychainEngine
import KeychainModel
import KeychainStore
import Testing

@Suite struct ReplayTests {
    /// The pages that tables and indexes begin with, in the order in which they are made. A small one
    /// is on this page alone.
    private enum Page: Int, CaseIterable {
        case schema, header, keybag, items, itemsUUID, itemsKey, itemsK2, itemsGroup, terms,
            setAside
    }

    private func query(_ account: String) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account))
    }

    private func add(_ account: String, _ data: String, to keychain: TemporaryKeychain) throws {
        _ = try keychain.engine.add(
            NewItem(
                itemClass: .genericPassword, attributes: genericPassword(account),
                protection: .afterFirstUnlock, data: Data(data.utf8)), as: keychain.caller)
    }

    private func find(_ account: String, in keychain: TemporaryKeychain) throws -> [Data?] {
        try keychain.engine.find(
            query(account), Retrieval(includesData: true), as: keychain.caller
        ).map(\.data)
    }

    /// A closed keychain with `a`, which `change` has changed since, and some pages of before.
    private func keychain(
        puttingBack pages: Set<Page>, _ change: (TemporaryKeychain) throws -> Void
    ) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain()
        try add("a", "old", to: keychain)
        keychain.engine.close()
        let file = URL(filePath: keychain.path(.database))
        let before = [UInt8](try Data(contentsOf: file))
        try keychain.reopen()
        try change(keychain)
        keychain.engine.close()
        let size = PageFormat.pageByteCount
        try forge(keychain) { bytes in
            for page in pages {
                let range = page.rawValue * size..<(page.rawValue + 1) * size
                bytes.replaceSubrange(range, with: before[range])
            }
        }
        try keychain.reopen()
        return keychain
    }

    private let rows: Set<Page> = [
        .items, .itemsUUID, .itemsKey, .itemsK2, .itemsGroup, .terms,
    ]

    @Test func `a row that was put back to an earlier state shows in a check`() throws {
        let keychain = try keychain(puttingBack: [.items]) { keychain in
            try keychain.engine.update(
                query("a"), ItemChanges(data: Data("new".utf8)), as: keychain.caller)
        }
        #expect(try find("a", in: keychain) == [Data("old".utf8)])
        #expect(
            try keychain.engine.check().problems
                == ["its rows are not those that its header vouches for"])
    }

    @Test func `a row that was removed with its index entries shows in a check`() throws {
        let keychain = try keychain(puttingBack: rows) { try add("b", "new", to: $0) }
        #expect(status { _ = try find("b", in: keychain) } == .itemNotFound)
        #expect(
            try keychain.engine.check().problems == ["it holds 1 items and should hold 2"])
    }

    @Test func `a deleted row that was put back shows in a check`() throws {
        let keychain = try keychain(puttingBack: rows) { keychain in
            try keychain.engine.delete(query("a"), tombstones: .never, as: keychain.caller)
        }
        #expect(try find("a", in: keychain) == [Data("old".utf8)])
        #expect(
            try keychain.engine.check().problems == ["it holds 1 items and should hold 0"])
    }

    @Test(arguments: [0, 1])
    func `an index without the entry of a row shows in a check`(which: Int) throws {
        let keychain = try keychain(puttingBack: [[.itemsKey, .itemsGroup][which]]) {
            try add("b", "new", to: $0)
        }
        let found = try? find("b", in: keychain)
        #expect(found == (which == 0 ? nil : [Data("new".utf8)]))
        #expect(try keychain.engine.check().problems.count == 1)
    }

    @Test func `a database of before is refused, the anchor being ahead of it`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", "old", to: keychain)
        keychain.engine.close()
        let file = URL(filePath: keychain.path(.database))
        let before = try Data(contentsOf: file)
        try keychain.reopen()
        try keychain.engine.delete(query("a"), tombstones: .never, as: keychain.caller)
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
