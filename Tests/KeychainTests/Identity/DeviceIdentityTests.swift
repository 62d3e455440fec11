// DeviceIdentity: the identifier of an installation is created once and is the same for all
// callers. It is deleted or replaced only on request.

import Foundation
import KeychainCore
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainEngine
#endif

@Suite struct DeviceIdentityTests {
    private func identity(_ test: TestDatabase, _ service: String = "com.example.app")
        -> DeviceIdentity
    {
        DeviceIdentity(service: service, in: test.database)
    }

    @Test(arguments: Way.allCases)
    func `an identifier is created once and then kept`(way: Way) throws {
        let test = try TestDatabase(way)
        let first = identity(test)
        #expect(try first.existing() == nil)
        #expect(try !first.exists())
        #expect(try first.export() == nil)
        let identifier = try first.identifier()
        #expect(UUID(uuidString: identifier)?.uuidString == identifier)
        #expect(try first.identifier() == identifier)
        #expect(try first.exists())
        #expect(try first.existing() == identifier)
        #expect(try first.export() == identifier)
        #expect(try identity(test).identifier() == identifier)
        #expect(try first.identifier(as: UUID.self).uuidString == identifier)
        #expect(try first.existing(as: UUID.self)?.uuidString == identifier)
        #expect(try identity(test, "com.example.other").identifier() != identifier)
    }

    @Test(arguments: Way.allCases)
    func `the identifier is a this-device-only item with the default or a given account`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let identifier = try identity(test).identifier()
        let item = try #require(
            try test.keychain().item(.account("com.example.app.device.identifier")))
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        #expect(!item.isSynchronizable)
        #expect(try test.keychain().load(KeychainKey<String>(item.account)) == identifier)
        let named = DeviceIdentity(
            service: "app.rial.keychain", account: "rial.device.id", in: test.database)
        _ = try named.identifier()
        #expect(try test.keychain("app.rial.keychain").exists(.account("rial.device.id")))
    }

    @Test(arguments: Way.allCases)
    func `after a reset, a new identifier is created even if the old one was cached`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let first = identity(test)
        let second = identity(test)
        let copy = first
        let old = try first.identifier()
        for known in [first, second, copy] {
            // The test calls twice, because the first call after a change reads the keychain and
            // the second call uses the cache.
            #expect(try known.identifier() == old)
            #expect(try known.identifier() == old)
        }
        #expect(try second.reset())
        #expect(try !second.reset())
        let new = try first.identifier()
        #expect(new != old)
        #expect(try second.identifier() == new)
        #expect(try copy.identifier() == new)
        // A deletion or a save through any `Keychain` of this process also clears the cache.
        #expect(try test.keychain().removeAll() == 1)
        let third = try copy.identifier()
        #expect(third != new)
        try test.keychain().save(old, for: KeychainKey(first.account))
        #expect(try copy.identifier() == old)
    }

    @Test func `a cached identifier is returned without reading the keychain`() throws {
        let test = try TestDatabase(.typed)
        let known = identity(test)
        let identifier = try known.identifier()
        // Each attempt deletes the item, gets the identifier, and adds the item again. The item is
        // deleted through a connection, not through `Keychain`, so the cache isn't cleared. Other
        // tests can make changes through `Keychain` at the same time, which clears the cache. An
        // attempt during such a change proves nothing and is repeated.
        let item = known.keychain.access(.save, known.account).item
        let connection = try test.database.connection()
        var undisturbed = 0
        for _ in 0..<1000 where undisturbed < 20 {
            let changes = ChangeCount.count
            #expect(try known.identifier() == identifier)
            #expect(try connection.perform(DeleteItems(item, tombstones: .automatic)) == 1)
            let others = ChangeCount.count - changes
            let given = try known.identifier()
            // Without the cache the call would have created an identifier, which is a change.
            let isOwn = given != identifier
            if others == 0, ChangeCount.count - changes == (isOwn ? 1 : 0) {
                #expect(given == identifier)
                undisturbed += 1
            }
            if isOwn {
                #expect(try connection.perform(DeleteItems(item, tombstones: .automatic)) == 1)
            }
            try connection.perform(
                AddItem(
                    NewItem(
                        itemClass: item.itemClass, attributes: item.attributes,
                        protection: .afterFirstUnlockThisDeviceOnly,
                        data: Data(identifier.utf8))))
        }
        #expect(undisturbed == 20)
    }

    @Test(arguments: Way.allCases)
    func `an existing identifier can be imported if no identifier is stored`(way: Way) throws {
        let test = try TestDatabase(way)
        let target = identity(test)
        let text = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
        try target.import(text)
        #expect(try target.identifier() == text)
        #expect(try target.identifier(as: UUID.self).uuidString == text.uppercased())
        // Importing the same identifier in a different letter case changes nothing.
        try target.import(text.uppercased())
        #expect(try target.identifier() == text)
        let other = UUID()
        let error = failure { try target.import(other) }
        #expect(error?.code == .duplicateItem)
        #expect(error?.account == target.account)
        #expect(try target.existing() == text)
        try target.import(other, replacing: true)
        #expect(try target.identifier() == other.uuidString)
        #expect(try target.export() == other.uuidString)
    }

    @Test(arguments: Way.allCases)
    func `an identifier is moved from UserDefaults, or only removed if the keychain has it already`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let target = identity(test)
        let old = try TemporaryDefaults()
        let text = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
        for outcome in [Keychain.Migration.Outcome.migrated, .alreadyThere] {
            old.defaults.set(text, forKey: "deviceId")
            let report = target.keychain.migrate(
                [.init("deviceId", to: target.key)], from: old.defaults)
            #expect(report.records.map(\.outcome) == [outcome])
            #expect(try target.identifier() == text)
            #expect(old.object("deviceId") == nil)
        }
        old.defaults.set("no identifier", forKey: "deviceId")
        let report = target.keychain.migrate(
            [.init("deviceId", to: target.key)], from: old.defaults, onConflict: .keepSource)
        #expect(report.records.map(\.outcome) == [.failed])
        #expect(report.records[0].error?.code == .invalidData)
        #expect(try target.identifier() == text)
    }

    @Test(
        arguments: Way.allCases,
        [
            "", "device 1", "3f2504e0-4f89-41d3-9a0c-0305e82c330",
            "3f2504e04f8941d39a0c0305e82c3301",
            "00000000-0000-0000-0000-000000000000", "3f2504e0-4f89-41d3-9a0c-0305e82c3301\n",
        ])
    func `an invalid identifier is neither imported nor returned`(way: Way, text: String) throws {
        let test = try TestDatabase(way)
        let target = identity(test)
        for isReplacing in [false, true] {
            let error = failure { try target.import(text, replacing: isReplacing) }
            #expect(error?.code == .invalidData)
            #expect(error?.operation == .save)
            #expect(error?.account == target.account)
        }
        #expect(try target.existing() == nil)
        try test.keychain().save(text, for: KeychainKey(target.account))
        for error in [
            failure { _ = try target.identifier() }, failure { _ = try target.existing() },
            failure { try target.import(UUID()) },
        ] {
            #expect(error?.code == .invalidData)
            #expect(error?.storedData == Data(text.utf8))
        }
        #expect(try test.keychain().load(KeychainKey<String>(target.account)) == text)
    }

    #if !canImport(Darwin)
    @Test(arguments: Way.allCases)
    func `if eight callers find no identifier at the same time, all get the same new identifier`(
        way: Way
    ) async throws {
        let temporary = try TemporaryEngine()
        let database = way.database(Rendezvous(temporary.engine, of: 8))
        let identifiers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await DeviceIdentity(service: "s", in: database).identifier()
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(identifiers.count == 8)
        #expect(Set(identifiers).count == 1)
    }
    #endif

    @Test(arguments: Way.allCases)
    func `many concurrent tasks get the same identifier`(way: Way) async throws {
        let test = try TestDatabase(way)
        let identifiers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 {
                group.addTask { try await identity(test).identifier() }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(identifiers.count == 1)
        #expect(try await identity(test).existing() == identifiers.first)
    }

    @Test(arguments: Way.allCases)
    func `the asynchronous functions do the same as the synchronous ones`(way: Way) async throws {
        let test = try TestDatabase(way)
        let target = identity(test)
        #expect(try await target.existing() == nil)
        #expect(try await target.existing(as: UUID.self) == nil)
        let identifier = try await target.identifier()
        #expect(try await target.identifier(as: UUID.self).uuidString == identifier)
        #expect(try await target.exists())
        #expect(try await target.export() == identifier)
        #expect(try await target.reset())
        try await target.import(identifier)
        let other = UUID()
        try await target.import(other, replacing: true)
        #expect(try await target.existing() == other.uuidString)
    }
}

/// Holds back the answer "nothing found" until a number of searches have found nothing.
private final class Rendezvous: RequestHandler {
    private let engine: any RequestHandler
    private let count: Int
    private let gate = NSCondition()
    // Guarded by `gate`.
    nonisolated(unsafe) private var arrived = 0

    init(_ engine: any RequestHandler, of count: Int) {
        self.engine = engine
        self.count = count
    }

    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        do {
            return try engine.perform(request, as: caller)
        } catch {
            if R.code == .find, error.status == .itemNotFound { meet() }
            throw error
        }
    }

    private func meet() {
        gate.lock()
        defer { gate.unlock() }
        // SAFETY: the condition is locked.
        unsafe arrived += 1
        gate.broadcast()
        while unsafe arrived < count { gate.wait() }
    }
}
