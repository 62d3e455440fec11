// Searches that request secrets without attributes: what they decrypt and return. An immediate
// look-up is a search of this kind that never waits for another process.

import Foundation
import Glibc
import KeychainCore
import KeychainEngine
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct DataAloneTests {
    private let dataAlone = Retrieval(includesData: true, includesAttributes: false)

    private func find(_ account: String, in keychain: TemporaryKeychain) throws -> ItemSnapshot? {
        try keychain.engine.perform(
            FindItems(
                ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account)),
                dataAlone), as: keychain.caller
        ).first
    }

    private func add(
        _ account: String, _ data: Data, constraints: AccessConstraints = [],
        to keychain: TemporaryKeychain
    ) throws {
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword(account),
                    protection: .whenUnlocked, constraints: constraints, data: data)),
            as: keychain.caller)
    }

    @Test(arguments: [0, 8, 3000, 20_000])
    func `a search for secrets alone returns no attributes of a row that fits into one page`(
        byteCount: Int
    ) throws {
        let keychain = try TemporaryKeychain()
        let data = Data((0..<byteCount).map { UInt8(truncatingIfNeeded: $0) })
        try add("a", data, to: keychain)
        let item = try #require(try find("a", in: keychain))
        #expect(item.data == data && item.hasData)
        // A row that is too large for one page is opened as a whole, so its attributes are returned
        // too.
        #expect(item.attributes.isEmpty == (byteCount < 20_000))
        #expect(keychain.engine.openedSecretCount == 1)
    }

    @Test func `a search for secrets alone finds an item without a secret`() throws {
        let keychain = try TemporaryKeychain()
        _ = try keychain.engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("a"),
                    protection: .whenUnlocked)), as: keychain.caller)
        let item = try #require(try find("a", in: keychain))
        #expect(item.data == nil && !item.hasData)
    }

    @Test func `a search for secrets alone fails if the item requires authentication`() throws {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try add("a", Data("secret".utf8), constraints: .userPresence, to: keychain)
        #expect(status { _ = try find("a", in: keychain) } == .authenticationNeeded)
        #expect(keychain.engine.openedSecretCount == 0)
    }

    @Test
    func `a search for secrets alone compares the protection class, and reports a locked keychain`()
        throws
    {
        let keychain = try TemporaryKeychain()
        try keychain.engine.setPasscode(passcode("1234"))
        try add("a", Data("secret".utf8), to: keychain)
        var query = ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a"))
        query.protection = .afterFirstUnlock
        #expect(
            status {
                _ = try keychain.engine.perform(FindItems(query, dataAlone), as: keychain.caller)
            } == .itemNotFound)
        try keychain.engine.lock()
        #expect(status { _ = try find("a", in: keychain) } == .interactionNotAllowed)
    }

    @Test func `a search for secrets alone doesn't look into other access groups`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", Data("secret".utf8), to: keychain)
        #expect(
            status {
                _ = try keychain.engine.perform(
                    FindItems(
                        ItemQuery(itemClass: .genericPassword, attributes: genericPassword("a")),
                        dataAlone), as: AccessGroups(["another"]))
            } == .itemNotFound)
    }

    @Test func `an immediate look-up finds an item, but doesn't wait for another process`() throws {
        let keychain = try TemporaryKeychain()
        try add("a", Data("secret".utf8), to: keychain)
        var query = ItemQuery(
            itemClass: .genericPassword, attributes: genericPassword("a"), accessGroup: "G1")
        query.isSynchronizable = false
        let request = FindItems(query, dataAlone)
        #expect(
            keychain.engine.secretAtOnce(request, as: keychain.caller)?.data == Data("secret".utf8))
        let other = AccessGroups(["other"])
        #expect(keychain.engine.secretAtOnce(request, as: other) == nil)
        // The next lines set the locks that a process holds while it recovers the write-ahead log
        // after a crash. The locks belong to an open file description, so they conflict even with
        // other locks of this process.
        let memory = unsafe open(keychain.directory + "/keychain.db-shm", O_RDWR | O_CLOEXEC)
        try #require(memory >= 0)
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_start = 120
        lock.l_len = 8
        let setLockOfOpenFile: Int32 = 37  // F_OFD_SETLK, which the module Glibc lacks
        // SAFETY: the structure is read within the call.
        let code = unsafe fcntl(memory, setLockOfOpenFile, &lock)
        try #require(code == 0)
        let time = ContinuousClock().measure {
            #expect(keychain.engine.secretAtOnce(request, as: keychain.caller) == nil)
        }
        // SQLite alone would retry for ten seconds.
        #expect(time < .seconds(3))
        close(memory)
        #expect(keychain.engine.secretAtOnce(request, as: keychain.caller) != nil)
    }

    @Test func `an immediate look-up reads neither large secrets nor many rows`() throws {
        let keychain = try TemporaryKeychain()
        /// Whether an immediate look-up finds the item. A search that may wait has to find it in
        /// any case.
        func isFoundAtOnce(_ query: ItemQuery) throws -> Bool {
            let request = FindItems(query, dataAlone)
            _ = try keychain.engine.perform(request, as: keychain.caller)
            return keychain.engine.secretAtOnce(request, as: keychain.caller) != nil
        }
        for (account, byteCount) in [("short", 3000), ("long", 5000)] {
            try add(account, Data(count: byteCount), to: keychain)
            var query = ItemQuery(
                itemClass: .genericPassword, attributes: genericPassword(account),
                accessGroup: "G1")
            query.isSynchronizable = false
            #expect(try isFoundAtOnce(query) == (account == "short"), "\(account)")
        }
        // 1000 items of another group have the same server and account as the item of G1. The index
        // orders all of them by a keyed hash of the rest of their primary keys, so their order is
        // random, and an immediate look-up reads only the first 16. The item of G1 is among these
        // with a probability of 1 in 60. With another port, the item of G1 is at another position.
        var attributes: [Attribute: AttributeValue] = [
            .server: .string("server"), .account: .string("account"),
        ]
        func addPassword(port: Int, _ group: String) throws {
            attributes[.port] = .number(Int64(port))
            _ = try keychain.engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .internetPassword, attributes: attributes, accessGroup: group,
                        protection: .whenUnlocked, data: Data([1]))), as: keychain.caller)
        }
        for port in 1...1000 { try addPassword(port: port, "G2") }
        attributes[.port] = nil
        var query = ItemQuery(
            itemClass: .internetPassword, attributes: attributes, accessGroup: "G1")
        query.isSynchronizable = false
        let found = try (1...3).filter { port in
            try addPassword(port: port, "G1")
            let isFound = try isFoundAtOnce(query)
            let deletion = DeleteItems(query, tombstones: .automatic)
            #expect(try keychain.engine.perform(deletion, as: keychain.caller) == 1)
            return isFound
        }
        #expect(found.count < 3)
    }
}
