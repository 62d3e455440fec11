// Earlier versions of items: which are kept, for how long, who can see them, and how they are
// restored.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import Synchronization
import Testing

@Suite struct VersionTests {
    /// A keychain whose clock the test sets.
    final class Clocked {
        let keychain: TemporaryKeychain
        private let clock: Clock
        let caller = AccessGroups(["G1", "G2"])

        private final class Clock: Sendable {
            let now = Mutex(1000.0)
        }

        init() throws {
            let clock = Clock()
            self.clock = clock
            var options = EngineOptions.testing
            options.now = { clock.now.withLock { $0 } }
            keychain = try TemporaryKeychain(options: options)
        }

        var engine: KeychainEngine { keychain.engine }

        func wait(days: Double) { clock.now.withLock { $0 += days * 86_400 } }

        func query(_ account: String, _ service: String = "service") -> ItemQuery {
            ItemQuery(itemClass: .genericPassword, attributes: genericPassword(account, service))
        }

        func add(
            _ account: String, _ secret: String, _ protection: ProtectionClass = .whenUnlocked,
            _ constraints: AccessConstraints = [], in group: String = "G1",
            _ authorization: Authorization = Authorization()
        ) throws {
            _ = try engine.perform(
                AddItem(
                    NewItem(
                        itemClass: .genericPassword, attributes: genericPassword(account),
                        accessGroup: group, protection: protection, constraints: constraints,
                        data: Data(secret.utf8), authorization: authorization)), as: caller)
        }

        func change(
            _ account: String, to secret: String, keeps: Bool = true,
            _ attributes: Attributes = [:]
        ) throws {
            wait(days: 0.001)
            _ = try engine.perform(
                UpdateItems(
                    query(account),
                    ItemChanges(attributes: attributes, data: Data(secret.utf8)),
                    keepsVersions: keeps), as: caller)
        }

        func delete(_ account: String) throws {
            wait(days: 0.001)
            _ = try engine.perform(
                DeleteItems(query(account), tombstones: .automatic, keepsVersions: true),
                as: caller)
        }

        func secret(_ account: String) throws -> String? {
            do throws(KeychainFailure) {
                return try engine.perform(
                    FindItems(query(account), Retrieval(includesData: true)), as: caller
                ).first?.data.map { String(decoding: $0, as: UTF8.self) }
            } catch {
                guard error.status == .itemNotFound else { throw error }
                return nil
            }
        }

        /// Each version as "number secret". The latest version comes first.
        func versions(_ account: String? = nil, as caller: AccessGroups? = nil) throws -> [String] {
            let query = account.map { self.query($0) } ?? ItemQuery(itemClass: .genericPassword)
            do throws(KeychainFailure) {
                return try engine.perform(
                    FindVersions(query, includesData: true), as: caller ?? self.caller
                ).map {
                    "\($0.number) "
                        + ($0.item.data.map { String(decoding: $0, as: UTF8.self) } ?? "-")
                }
            } catch {
                guard error.status == .itemNotFound else { throw error }
                return []
            }
        }

        @discardableResult
        func restore(
            _ account: String, _ number: UInt32, replaces: Bool = false
        ) throws -> ItemSnapshot {
            wait(days: 0.001)
            return try engine.perform(
                RestoreVersion(query(account), number: number, replaces: replaces), as: caller)
        }
    }

    private let test: Clocked

    init() throws { test = try Clocked() }

    @Test func `after another process rotated the keys, versions are read from the new database`()
        throws
    {
        try test.add("a", "one")
        try test.change("a", to: "two")
        let other = try KeychainEngine.open(
            directory: test.keychain.directory, options: .testing)
        defer { other.close() }
        try other.rotate()
        _ = try other.perform(
            PurgeVersions(ItemQuery(itemClass: .genericPassword), number: nil), as: test.caller)
        let policy = HistoryPolicy(count: 3, days: 7, isForAll: false)
        _ = try other.perform(SetHistory(policy), as: test.caller)
        #expect(try test.versions().isEmpty)
        #expect(try test.engine.perform(SetHistory(), as: test.caller) == policy)
    }

    @Test
    func `a change or deletion that asks for it keeps a version, which no item search finds`()
        throws
    {
        try test.add("a", "1")
        try test.change("a", to: "2", keeps: false)
        #expect(try test.versions() == [])
        try test.change("a", to: "3")
        try test.delete("a")
        #expect(try test.versions("a") == ["2 3", "1 2"])
        let found = try test.engine.perform(FindVersions(test.query("a")), as: test.caller)
        #expect(found.map(\.change) == [.deleted, .replaced])
        #expect(found.allSatisfy { $0.item.data == nil && $0.item.hasData })
        #expect(try test.secret("a") == nil)
        #expect(try test.engine.perform(ReadStatus()).itemCount == 0)
        #expect(try test.engine.check().isSound)
    }

    @Test func `a request that adds or replaces an item keeps the replaced version`() throws {
        let item = NewItem(
            itemClass: .genericPassword, attributes: genericPassword("a"), accessGroup: "G1",
            data: Data("1".utf8))
        for secret in ["1", "2"] {
            var item = item
            item.data = Data(secret.utf8)
            _ = try test.engine.perform(
                PutItem(
                    item, orChange: test.query("a"), ItemChanges(data: Data(secret.utf8)),
                    keepsVersions: true), as: test.caller)
        }
        #expect(try test.versions("a") == ["1 1"])
    }

    @Test func `restoring a version keeps the item's current state as another version`() throws {
        try test.add("a", "1")
        let first = try test.engine.perform(FindItems(test.query("a")), as: test.caller)[0]
        try test.change("a", to: "2", [.comment: .string("later")])
        let restored = try test.restore("a", 1)
        #expect(restored.reference == first.reference && restored.attributes[.comment] == nil)
        #expect(restored.attributes[.creationDate] == first.attributes[.creationDate])
        #expect(restored.attributes[.modificationDate] != first.attributes[.modificationDate])
        #expect(try test.secret("a") == "1")
        #expect(try test.versions("a") == ["2 2", "1 1"])
        try test.restore("a", 2)
        #expect(try test.secret("a") == "2")
        #expect(status { try test.restore("a", 9) } == .itemNotFound)
        #expect(try test.engine.check().isSound)
    }

    @Test func `a deleted item is restored with its reference`() throws {
        try test.add("a", "1")
        let first = try test.engine.perform(FindItems(test.query("a")), as: test.caller)[0]
        try test.delete("a")
        #expect(try test.restore("a", 1).reference == first.reference)
        #expect(try test.secret("a") == "1")
    }

    @Test func `restoring over an existing item requires explicit permission`() throws {
        try test.add("a", "1")
        try test.delete("a")
        try test.add("a", "2")
        #expect(status { try test.restore("a", 1) } == .duplicateItem)
        #expect(try test.secret("a") == "2")
        try test.restore("a", 1, replaces: true)
        #expect(try test.secret("a") == "1")
        #expect(try test.versions("a") == ["2 2", "1 1"])
    }

    @Test func `a renamed item is restored with its earlier name`() throws {
        try test.add("a", "1")
        try test.change("a", to: "2", [.account: .string("b")])
        #expect(try test.versions("b") == [])
        try test.restore("a", 1)
        #expect(try test.secret("a") == "1")
        #expect(try test.secret("b") == nil)
        #expect(try test.versions("b") == ["1 2"])
    }

    @Test func `the number and age of the kept versions are limited`() throws {
        let policy = HistoryPolicy(count: 2, days: 5, isForAll: false)
        #expect(try test.engine.perform(SetHistory()) == .standard)
        #expect(try test.engine.perform(SetHistory(policy)) == policy)
        try test.add("a", "1")
        try test.add("b", "1")
        for number in 2...5 { try test.change("a", to: "\(number)") }
        try test.change("b", to: "2")
        #expect(try test.versions("a") == ["4 4", "3 3"])
        #expect(try test.versions("b") == ["1 1"])
        test.wait(days: 6)
        // Expired versions aren't found, even before they are deleted. They are deleted when the
        // next version is kept.
        #expect(try test.versions() == [] && test.rowCount == 3)
        #expect(status { try test.restore("a", 4) } == .itemNotFound)
        try test.change("b", to: "3")
        #expect(try test.versions() == ["2 2"] && test.rowCount == 1)
    }

    @Test func `lowering the limit deletes excess versions at once`() throws {
        try test.add("a", "0")
        try test.add("b", "0")
        for number in 1...4 {
            try test.change("a", to: "\(number)")
            try test.change("b", to: "\(number)")
        }
        try test.engine.perform(SetHistory(HistoryPolicy(count: 1, days: 30, isForAll: false)))
        #expect(try test.versions("a") == ["4 3"] && test.versions("b") == ["4 3"])
        try test.engine.perform(SetHistory(HistoryPolicy(count: 0, days: 30, isForAll: true)))
        try test.change("a", to: "5")
        #expect(try test.versions() == [] && test.rowCount == 0)
    }

    @Test(arguments: [(1001, 30), (10, 0), (10, 36_501)] as [(UInt32, UInt32)])
    func `history settings out of range are refused, and change nothing`(
        _ count: UInt32, _ days: UInt32
    ) throws {
        let policy = HistoryPolicy(count: count, days: days, isForAll: true)
        #expect(status { try test.engine.perform(SetHistory(policy)) } == .param)
        #expect(try test.engine.perform(SetHistory()) == .standard)
    }

    @Test func `a setting keeps versions for all changes, even if they don't ask for it`() throws {
        try test.engine.perform(SetHistory(HistoryPolicy(count: 9, days: 9, isForAll: true)))
        try test.add("a", "1")
        try test.change("a", to: "2", keeps: false)
        _ = try test.engine.perform(
            DeleteItems(test.query("a"), tombstones: .automatic), as: test.caller)
        #expect(try test.versions() == ["2 2", "1 1"])
    }

    @Test func `versions can be deleted permanently`() throws {
        try test.add("a", "1")
        try test.add("b", "1")
        for number in 2...3 { try test.change("a", to: "\(number)") }
        try test.change("b", to: "2")
        #expect(
            try test.engine.perform(PurgeVersions(test.query("a"), number: 1), as: test.caller) == 1
        )
        #expect(try test.versions("a") == ["2 2"])
        let all = PurgeVersions(ItemQuery(itemClass: .genericPassword))
        #expect(try test.engine.perform(all, as: test.caller) == 2)
        #expect(status { try test.engine.perform(all, as: test.caller) } == .itemNotFound)
        #expect(try test.secret("a") == "3" && test.rowCount == 0)
    }

    @Test func `versions in other groups can't be seen, restored or deleted`() throws {
        try test.add("a", "1", in: "G2")
        try test.change("a", to: "2")
        let other = AccessGroups(["G1"])
        #expect(try test.versions(as: other) == [])
        let query = ItemQuery(itemClass: .genericPassword)
        for request in [test.query("a"), query] {
            #expect(
                status { try test.engine.perform(PurgeVersions(request), as: other) }
                    == .itemNotFound)
            #expect(
                status { try test.engine.perform(RestoreVersion(request, number: 1), as: other) }
                    == .itemNotFound)
        }
        #expect(try test.versions() == ["1 1"])
    }

    @Test func `while locked, a keychain's versions can't be seen, restored or deleted`() throws {
        try test.engine.setPasscode(passcode("1"))
        try test.add("a", "1")
        try test.change("a", to: "2")
        for lock in [{ try test.engine.lock() }, { try test.keychain.reopen() }] {
            try lock()
            #expect(status { _ = try test.versions() } == .interactionNotAllowed)
            #expect(status { _ = try test.versions("a") } == .interactionNotAllowed)
            #expect(status { try test.restore("a", 1) } == .interactionNotAllowed)
            #expect(
                status { try test.engine.perform(PurgeVersions(test.query("a")), as: test.caller) }
                    == .interactionNotAllowed)
            try test.engine.unlock(passcode: passcode("1"))
            #expect(try test.versions() == ["1 1"])
        }
    }

    @Test
    func `removing the passcode deletes versions of items that require a passcode, and no others`()
        throws
    {
        try test.add("open", "1")
        try test.change("open", to: "2")
        try test.engine.setPasscode(passcode("1"))
        try test.add("a", "1", .whenPasscodeSetThisDeviceOnly)
        try test.change("a", to: "2")
        #expect(try test.versions() == ["1 1", "1 1"])
        let policy = HistoryPolicy(count: 7, days: 30, isForAll: false)
        try test.engine.perform(SetHistory(policy))
        try test.engine.rotate(provedBy: .passcode(passcode("1")))
        #expect(try test.versions("a") == ["1 1"] && test.versions("open") == ["1 1"])
        #expect(try test.engine.perform(SetHistory()) == policy)
        try test.engine.removePasscode(passcode("1"))
        #expect(try test.versions() == ["1 1"] && test.rowCount == 1)
        try test.restore("open", 1)
        #expect(try test.secret("open") == "1")
    }

    @Test func `reading a version requires the authentication that its item required`() throws {
        let password = Authorization(applicationPassword: Data("pw".utf8))
        try test.add("a", "1", .whenUnlocked, .applicationPassword, password)
        var query = test.query("a")
        query.authorization = password
        _ = try test.engine.perform(
            UpdateItems(query, ItemChanges(data: Data("2".utf8)), keepsVersions: true),
            as: test.caller)
        #expect(status { _ = try test.versions() } == .authenticationNeeded)
        let found = try test.engine.perform(
            FindVersions(query, includesData: true), as: test.caller)
        #expect(found.map(\.item.data) == [Data("1".utf8)])
        // Restoring a version changes the current item, which requires the item's authentication.
        #expect(status { try test.restore("a", 1) } == .authenticationNeeded)
        _ = try test.engine.perform(RestoreVersion(query, number: 1), as: test.caller)
        let item = try test.engine.perform(
            FindItems(query, Retrieval(includesData: true)), as: test.caller)
        #expect(item.map(\.data) == [Data("1".utf8)])
    }

    @Test func `restoring a version over an item with a password requires that password`()
        throws
    {
        func authorized(_ password: String?) -> ItemQuery {
            var query = test.query("a")
            query.authorization = Authorization(
                applicationPassword: password.map { Data($0.utf8) })
            return query
        }
        func restore(_ password: String?) -> Status? {
            status {
                _ = try test.engine.perform(
                    RestoreVersion(authorized(password), number: 1), as: test.caller)
            }
        }
        func secret(_ password: String?) throws -> Data? {
            try test.engine.perform(
                FindItems(authorized(password), Retrieval(includesData: true)), as: test.caller
            ).first?.data
        }
        // The version has no password, so restoring it makes the item readable without one.
        try test.add("a", "1")
        _ = try test.engine.perform(
            UpdateItems(
                authorized("pw"),
                ItemChanges(constraints: .applicationPassword, data: Data("2".utf8)),
                keepsVersions: true), as: test.caller)
        #expect(restore(nil) == .authenticationNeeded)
        #expect(restore("other") == .authFailed)
        #expect(try secret("pw") == Data("2".utf8))
        #expect(restore("pw") == nil)
        #expect(try secret(nil) == Data("1".utf8))
    }

    @Test func `a damaged version is reported by a check, skipped by a search, and can be deleted`()
        throws
    {
        try test.add("a", "1")
        try test.change("a", to: "2")
        try test.change("a", to: "3")
        var first = Data()
        try test.engine.store.forEachVersion(includesSecret: false) { version in
            if let version, version.number == 1 { first = version.row.metadata }
        }
        test.engine.close()
        try forge(test.keychain) { bytes in
            let places = Data(bytes).ranges(of: first)
            try #require(!places.isEmpty)
            for place in places { bytes[place.lowerBound + 40] ^= 1 }
        }
        try test.keychain.reopen()
        #expect(try test.versions() == ["2 2"])
        #expect(try test.engine.check().damagedItems.map(\.isOfEarlierVersion) == [true])
        #expect(
            try test.engine.perform(
                PurgeVersions(ItemQuery(itemClass: .genericPassword)), as: AccessGroups(["*"])) == 2
        )
        #expect(try test.engine.check().isSound)
    }

    @Test func `versions are numbered and limited separately for each item`() throws {
        try test.engine.perform(SetHistory(HistoryPolicy(count: 3, days: 30, isForAll: false)))
        for item in 0..<20 { try test.add("\(item)", "0") }
        for round in 1...5 {
            for item in 0..<20 { try test.change("\(item)", to: "\(round)") }
        }
        for item in 0..<20 { #expect(try test.versions("\(item)") == ["5 4", "4 3", "3 2"]) }
        #expect(try test.rowCount == 60)
    }
}

extension VersionTests.Clocked {
    /// The number of rows in the table of versions.
    var rowCount: Int {
        get throws {
            var count = 0
            try engine.store.forEachVersion(includesSecret: false) { _ in count += 1 }
            return count
        }
    }
}
