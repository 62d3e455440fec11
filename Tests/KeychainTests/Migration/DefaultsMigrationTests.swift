// Migration from UserDefaults: values are moved once, verified, and never lost.

import Foundation
import Testing

@testable import Keychain

/// Defaults of a suite that is deleted after the test.
final class TemporaryDefaults {
    let suiteName = "keychain-api-test-\(UUID().uuidString)"
    let defaults: UserDefaults

    init() throws {
        defaults = try #require(UserDefaults(suiteName: suiteName))
    }

    /// The file in which Foundation stores the suite on Linux.
    var path: String {
        let home = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? ""
        let folder = home.hasPrefix("/") ? home : NSHomeDirectory() + "/.config"
        return "\(folder)/\(suiteName).plist"
    }

    deinit {
        defaults.removePersistentDomain(forName: suiteName)
        defaults.synchronize()
        // `removePersistentDomain` leaves a file without values.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Reads a value through a new `UserDefaults` object instead of `defaults`.
    func object(_ key: String) -> Any? {
        UserDefaults(suiteName: suiteName)?.object(forKey: key)
    }
}

/// An error with which a hook stops a migration, as if the process had ended.
struct Interruption: Error {}

@Suite struct DefaultsMigrationTests {
    static let tokenEntry = Keychain.Migration.Entry("token", to: .token)

    private func migrate(
        _ entries: [Keychain.Migration.Entry], _ old: TemporaryDefaults, _ keychain: Keychain,
        _ rule: Keychain.Migration.ConflictRule = .report
    ) -> [Keychain.Migration.Outcome] {
        keychain.migrate(entries, from: old.defaults, onConflict: rule).records.map(\.outcome)
    }

    @Test(arguments: Way.allCases)
    func `values of several types are moved to the keychain and removed from the defaults`(way: Way)
        throws
    {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        let state = DeviceState(
            deviceID: "d", level: .enclave, registeredAt: Date(timeIntervalSince1970: 60))
        let identifier = UUID()
        old.defaults.set("s3cr3t", forKey: "token")
        old.defaults.set(Data([0, 1, 255]), forKey: "blob")
        old.defaults.set(7, forKey: "counter")
        old.defaults.set(try JSONForm.encoder.encode(state), forKey: "state")
        old.defaults.set(identifier.uuidString, forKey: "id")
        old.defaults.set(["a", "b"], forKey: "list")
        old.defaults.set("kept", forKey: "other")
        let entries: [Keychain.Migration.Entry] = [
            .init("token", to: .token), .init("blob", to: .blob), .init("counter", to: .counter),
            .init("state", to: .deviceState), .init("id", to: KeychainKey<UUID>("id")),
            .init("list", to: KeychainKey<[String]>("list")),
            .init("absent", to: KeychainKey<String>("absent")),
        ]
        let report = keychain.migrate(entries, from: old.defaults)
        #expect(
            report.records.map(\.outcome)
                == Array(repeating: .migrated, count: 6) + [.nothingToMigrate])
        #expect(report.isComplete)
        #expect(report.records[4].source == "id")
        #expect(report.records[4].account == "id")
        #expect(try keychain.load(.token) == "s3cr3t")
        #expect(try keychain.load(.blob) == Data([0, 1, 255]))
        #expect(try keychain.load(.counter) == 7)
        #expect(try keychain.load(.deviceState) == state)
        #expect(try keychain.load(KeychainKey<UUID>("id")) == identifier)
        #expect(try keychain.load(KeychainKey<[String]>("list")) == ["a", "b"])
        #expect(try !keychain.exists(.account("absent")))
        for entry in entries { #expect(old.object(entry.defaultsKey) == nil) }
        #expect(old.object("other") as? String == "kept")
        // A repeated migration has nothing to do.
        #expect(
            migrate(entries, old, keychain) == Array(repeating: .nothingToMigrate, count: 7))
        #expect(try keychain.load(.token) == "s3cr3t")
    }

    @Test(arguments: Way.allCases)
    func `values that the keychain already has are only removed from the defaults`(way: Way) throws
    {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        try keychain.save("s3cr3t", for: .token)
        let before = try keychain.item(.token)
        old.defaults.set("s3cr3t", forKey: "token")
        #expect(migrate([Self.tokenEntry], old, keychain) == [.alreadyThere])
        #expect(try keychain.item(.token) == before)
        #expect(old.object("token") == nil)
    }

    @Test(arguments: Way.allCases)
    func `a different value in the keychain is a conflict, and nothing changes`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        try keychain.save("new", for: .token)
        let before = try keychain.item(.token)
        old.defaults.set("old", forKey: "token")
        for _ in 0..<2 {
            #expect(migrate([Self.tokenEntry], old, keychain) == [.conflict])
            #expect(!Keychain.Migration.Outcome.conflict.isComplete)
            #expect(try keychain.item(.token) == before)
            #expect(try keychain.load(.token) == "new")
            #expect(old.object("token") as? String == "old")
        }
    }

    @Test(arguments: Way.allCases)
    func `the caller can choose which of two values to keep`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        try keychain.save("new", for: .token)
        let before = try keychain.item(.token)
        old.defaults.set("old", forKey: "token")
        #expect(migrate([Self.tokenEntry], old, keychain, .keepDestination) == [.destinationKept])
        #expect(try keychain.load(.token) == "new")
        #expect(old.object("token") == nil)
        old.defaults.set("old", forKey: "token")
        #expect(migrate([Self.tokenEntry], old, keychain, .keepSource) == [.destinationReplaced])
        #expect(try keychain.load(.token) == "old")
        #expect(old.object("token") == nil)
        #expect(
            try keychain.item(.token)?.persistentReference == before?.persistentReference)
    }

    @Test(arguments: Way.allCases, MigrationStep.allCases)
    func `a migration stopped after any step loses nothing and can be repeated`(
        way: Way, step: MigrationStep
    ) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("s3cr3t", forKey: "token")
        #expect(throws: Interruption.self) {
            try keychain.migrate(Self.tokenEntry, from: old.defaults, onConflict: .report) {
                if $0 == step { throw Interruption() }
            }
        }
        #expect(
            try old.object("token") as? String == "s3cr3t" || keychain.load(.token) == "s3cr3t")
        if step != .removed { #expect(old.object("token") as? String == "s3cr3t") }
        if step != .read { #expect(try keychain.load(.token) == "s3cr3t") }
        let expected: [MigrationStep: Keychain.Migration.Outcome] = [
            .read: .migrated, .copied: .alreadyThere, .compared: .alreadyThere,
            .removed: .nothingToMigrate,
        ]
        #expect(migrate([Self.tokenEntry], old, keychain) == [try #require(expected[step])])
        #expect(try keychain.load(.token) == "s3cr3t")
        #expect(old.object("token") == nil)
    }

    @Test(arguments: Way.allCases)
    func `a value that changes during the migration is not removed`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("first", forKey: "token")
        let suiteName = old.suiteName
        let item = try keychain.migrate(
            Self.tokenEntry, from: old.defaults, onConflict: .report
        ) { step in
            if step == .compared {
                UserDefaults(suiteName: suiteName)?.set("second", forKey: "token")
            }
        }
        #expect(item.outcome == .conflict)
        #expect(try keychain.load(.token) == "first")
        #expect(old.object("token") as? String == "second")
    }

    @Test(arguments: Way.allCases)
    func `a copy that is deleted during the migration is written again`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("s3cr3t", forKey: "token")
        let copies = Shared(0)
        let item = try keychain.migrate(
            Self.tokenEntry, from: old.defaults, onConflict: .report
        ) { step in
            guard step == .copied else { return }
            if copies.withLock({ count in
                count += 1
                return count
            }) == 1 {
                try keychain.delete(.token)
            }
        }
        #expect(item.outcome == .migrated)
        #expect(copies.withLock { $0 } == 2)
        #expect(try keychain.load(.token) == "s3cr3t")
        #expect(old.object("token") == nil)
    }

    @Test(arguments: Way.allCases)
    func `a value that doesn't fit the type is kept in the defaults, and others are moved`(
        way: Way
    ) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("SECRET-7", forKey: "id")
        old.defaults.set(["SECRET-7"], forKey: "state")
        old.defaults.set("s3cr3t", forKey: "token")
        let report = keychain.migrate(
            [
                .init("id", to: KeychainKey<UUID>("id")), .init("state", to: .deviceState),
                Self.tokenEntry,
            ], from: old.defaults)
        #expect(report.records.map(\.outcome) == [.failed, .failed, .migrated])
        #expect(!report.isComplete)
        #expect(report.records(.failed).map(\.source) == ["id", "state"])
        #expect(report.records[0].error?.code == .invalidData)
        #expect(report.records[0].error?.operation == .migrate)
        #expect(report.records[0].error?.account == "id")
        #expect(old.object("id") as? String == "SECRET-7")
        #expect(old.object("state") as? [String] == ["SECRET-7"])
        #expect(try keychain.items().map(\.account) == ["token"])
        var dumped = ""
        dump(report, to: &dumped)
        #expect(!dumped.contains("SECRET-7"))
        #expect(!dumped.contains("s3cr3t"))
    }

    @Test(arguments: Way.allCases)
    func `a value in a custom format can be converted to the type of the key`(way: Way) throws {
        struct Unknown: Error {}
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("1-2-3", forKey: "code")
        let code = KeychainKey<PairingCode>("code")
        let entry = Keychain.Migration.Entry("code", to: code) { object in
            guard let text = object as? String else { throw Unknown() }
            return PairingCode(digits: text.split(separator: "-").compactMap { UInt8($0) })
        }
        // The value can't be encoded, so the defaults stay as they are.
        #expect(migrate([entry], old, keychain) == [.failed])
        #expect(old.object("code") as? String == "1-2-3")
        old.defaults.set(5, forKey: "code")
        #expect(migrate([entry], old, keychain) == [.failed])
        old.defaults.set("1-2-3-4-5-6", forKey: "code")
        #expect(migrate([entry], old, keychain) == [.migrated])
        #expect(try keychain.load(code) == PairingCode(digits: [1, 2, 3, 4, 5, 6]))
    }

    @Test(arguments: Way.allCases)
    func `equal values in different encodings aren't a conflict`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        let key = KeychainKey<Set<String>>("set")
        try keychain.save(#"["b", "a"]"#, for: KeychainKey("set"))
        old.defaults.set(#"["a","b"]"#, forKey: "set")
        #expect(migrate([.init("set", to: key)], old, keychain) == [.alreadyThere])
        #expect(try keychain.load(key) == ["a", "b"])
        #expect(try keychain.load(KeychainKey<String>("set")) == #"["b", "a"]"#)
    }

    @Test(arguments: Way.allCases)
    func `a value that remains in the registration domain is reported`(way: Way) throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        let name = "keychain-test-\(UUID().uuidString)"
        old.defaults.register(defaults: [name: "registered"])
        let entry = Keychain.Migration.Entry(name, to: .token)
        for _ in 0..<2 {
            #expect(migrate([entry], old, keychain) == [.sourceRemains])
            #expect(try keychain.load(.token) == "registered")
        }
    }

    @Test(arguments: Way.allCases)
    func `with a locked keychain nothing is moved, and the defaults keep their values`(way: Way)
        throws
    {
        let test = try TestDatabase(way)
        let keychain = test.keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("1234", forKey: "pin")
        try test.lock()
        let report = keychain.migrate([.init("pin", to: .pin)], from: old.defaults)
        #expect(report.records[0].outcome == .failed)
        #expect(report.records[0].error?.code == .interactionNotAllowed)
        #expect(old.object("pin") as? String == "1234")
        try test.unlock()
        #expect(migrate([.init("pin", to: .pin)], old, keychain) == [.migrated])
        #expect(try keychain.load(.pin) == "1234")
        #expect(try keychain.item(.pin)?.label == "PIN")
    }

    @Test(arguments: Way.allCases)
    func `an asynchronous migration takes the suite name of the defaults`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        let old = try TemporaryDefaults()
        old.defaults.set("s3cr3t", forKey: "token")
        old.defaults.synchronize()
        let report = try await keychain.migrate(
            [Self.tokenEntry], fromDefaultsOf: old.suiteName)
        #expect(report.records.map(\.outcome) == [.migrated])
        #expect(try await keychain.load(.token) == "s3cr3t")
        #expect(old.object("token") == nil)
    }
}
