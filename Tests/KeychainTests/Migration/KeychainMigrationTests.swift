// Migration of values between services, groups, accounts and databases.

import Foundation
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainEngine
#endif

@Suite struct KeychainMigrationTests {
    /// A destination to which an item of `source(_:)` is migrated. The source has the service
    /// "com.example.app" and the group "group.main". The case says what differs at the destination.
    enum Place: String, CaseIterable, CustomTestStringConvertible {
        case service, group, synchronizable, account, database

        var testDescription: String { rawValue }

        var key: KeychainKey<String> { self == .account ? KeychainKey("token.2") : .token }

        func keychain(_ test: TestDatabase, _ other: TestDatabase) -> Keychain {
            switch self {
            case .service: test.keychain("com.example.new")
            case .group: test.keychain(group: "group.shared")
            case .synchronizable: test.keychain(synchronizable: true)
            case .account: test.keychain()
            case .database: other.keychain()
            }
        }
    }

    private func source(_ test: TestDatabase) -> Keychain {
        test.keychain(group: "group.main")
    }

    @Test(arguments: Way.allCases, Place.allCases)
    func `a value is moved to another place and removed from the old place`(
        way: Way, place: Place
    ) throws {
        let test = try TestDatabase(way)
        let other = try TestDatabase(way)
        let old = source(test)
        let new = place.keychain(test, other)
        #expect(try new.migrate(place.key, from: old, account: "token") == .nothingToMigrate)
        try old.save("s3cr3t", for: KeychainKey<String>("token", label: "Token"))
        try old.save("kept", for: KeychainKey("other"))
        #expect(try new.migrate(place.key, from: old, account: "token") == .migrated)
        #expect(try new.load(place.key) == "s3cr3t")
        let item = try #require(try new.item(place.key))
        #expect(item.label == "Token")
        #expect(item.accessibility == new.accessibility)
        #expect(try !old.exists(.account("token")))
        #expect(try old.load(KeychainKey<String>("other")) == "kept")
        #expect(try new.migrate(place.key, from: old, account: "token") == .nothingToMigrate)
        #expect(try new.load(place.key) == "s3cr3t")
    }

    @Test(arguments: Way.allCases, MigrationStep.allCases)
    func `a migration stopped after any step loses nothing and can be repeated`(
        way: Way, step: MigrationStep
    ) throws {
        for place in Place.allCases {
            let test = try TestDatabase(way)
            let other = try TestDatabase(way)
            let old = source(test)
            let new = place.keychain(test, other)
            try old.save("s3cr3t", for: .token)
            #expect(throws: Interruption.self) {
                try new.migrate(place.key, from: old, account: "token", onConflict: .report) {
                    if $0 == step { throw Interruption() }
                }
            }
            if step != .removed { #expect(try old.load(.token) == "s3cr3t") }
            if step != .read { #expect(try new.load(place.key) == "s3cr3t") }
            let expected: [MigrationStep: Keychain.Migration.Outcome] = [
                .read: .migrated, .copied: .alreadyThere, .compared: .alreadyThere,
                .removed: .nothingToMigrate,
            ]
            #expect(
                try new.migrate(place.key, from: old, account: "token")
                    == (try #require(expected[step])))
            #expect(try new.load(place.key) == "s3cr3t")
            #expect(try !old.exists(.account("token")))
        }
    }

    @Test(arguments: Way.allCases)
    func `a migration to the same place changes accessibility and label of the item in place`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let old = test.keychain()
        try old.save("s3cr3t", for: KeychainKey<String>("token", label: "Token"))
        let before = try #require(try old.item(.token))
        // A keychain that names no group finds the items of all groups, so each pair has the item
        // both as its source and as its destination.
        let places = [
            (test.keychain(accessibility: .whenUnlocked), old),
            (test.keychain(group: "group.main", accessibility: .afterFirstUnlock), old),
            (test.keychain(accessibility: .whenUnlocked), source(test)),
            (test.keychain(group: "group.main", accessibility: .afterFirstUnlock), source(test)),
        ]
        for (new, from) in places {
            #expect(try new.migrate(.token, from: from) == .changedInPlace)
            let after = try #require(try new.item(.token))
            #expect(after.accessibility == new.accessibility)
            #expect(after.persistentReference == before.persistentReference)
            #expect(after.creationDate == before.creationDate)
            #expect(after.label == "Token")
            #expect(try new.load(.token) == "s3cr3t")
            // Repeating this migration and migrating from a keychain to itself change nothing.
            #expect(try new.migrate(.token, from: from) == .alreadyThere)
            #expect(try new.migrate(.token, from: new) == .alreadyThere)
            #expect(try new.item(.token) == after)
            #expect(try new.items().count == 1)
        }
        let labelled = KeychainKey<String>(
            "token", label: "New", accessibility: .whenUnlockedThisDeviceOnly)
        #expect(try old.migrate(labelled, from: old) == .changedInPlace)
        let item = try #require(try old.item(.token))
        #expect(item.label == "New")
        #expect(item.accessibility == .whenUnlockedThisDeviceOnly)
        #expect(item.persistentReference == before.persistentReference)
    }

    @Test(arguments: Way.allCases, [MigrationStep.read, .copied])
    func `a change in place that was stopped can be repeated`(way: Way, step: MigrationStep) throws
    {
        let test = try TestDatabase(way)
        let old = test.keychain()
        let new = test.keychain(accessibility: .whenUnlocked)
        try old.save("s3cr3t", for: .token)
        #expect(throws: Interruption.self) {
            try new.migrate(.token, from: old, account: "token", onConflict: .report) {
                if $0 == step { throw Interruption() }
            }
        }
        #expect(try new.load(.token) == "s3cr3t")
        #expect(
            try new.migrate(.token, from: old)
                == (step == .read ? .changedInPlace : .alreadyThere))
        #expect(try new.load(.token) == "s3cr3t")
        #expect(try new.item(.token)?.accessibility == .whenUnlocked)
    }

    @Test(arguments: Way.allCases)
    func `a value that another caller saves during a change in place isn't overwritten`(way: Way)
        throws
    {
        let test = try TestDatabase(way)
        let old = test.keychain()
        let new = test.keychain(accessibility: .whenUnlocked)
        try old.save("first", for: .token)
        let isFirst = Shared(true)
        let outcome = try new.migrate(
            .token, from: old, account: "token", onConflict: .report
        ) { step in
            let wasFirst = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if wasFirst, step == .read { try old.save("second", for: .token) }
        }
        #expect(outcome == .changedInPlace)
        #expect(try new.load(.token) == "second")
        #expect(try new.item(.token)?.accessibility == .whenUnlocked)
    }

    @Test(arguments: Way.allCases, Place.allCases)
    func `a different value at the destination is a conflict, and nothing changes`(
        way: Way, place: Place
    ) throws {
        let test = try TestDatabase(way)
        let other = try TestDatabase(way)
        let old = source(test)
        let new = place.keychain(test, other)
        try old.save("old", for: .token)
        try new.save("new", for: place.key)
        let before = try new.item(place.key)
        #expect(try new.migrate(place.key, from: old, account: "token") == .conflict)
        #expect(try new.item(place.key) == before)
        #expect(try new.load(place.key) == "new")
        #expect(try old.load(.token) == "old")
    }

    @Test(arguments: Way.allCases, Place.allCases)
    func `the destination's value is kept if the caller decides so, and the source is removed`(
        way: Way, place: Place
    ) throws {
        let test = try TestDatabase(way)
        let other = try TestDatabase(way)
        let old = source(test)
        let new = place.keychain(test, other)
        try old.save("old", for: .token)
        try new.save("new", for: place.key)
        let before = try new.item(place.key)
        #expect(
            try new.migrate(
                place.key, from: old, account: "token", onConflict: .keepDestination)
                == .destinationKept)
        #expect(try new.item(place.key) == before)
        #expect(try new.load(place.key) == "new")
        #expect(try !old.exists(.account("token")))
    }

    @Test(arguments: Way.allCases, Place.allCases)
    func `the source's value replaces that of the destination if the caller decides so`(
        way: Way, place: Place
    ) throws {
        let test = try TestDatabase(way)
        let other = try TestDatabase(way)
        let old = source(test)
        let new = place.keychain(test, other)
        try old.save("old", for: .token)
        try new.save("new", for: place.key)
        let before = try new.item(place.key)
        #expect(
            try new.migrate(place.key, from: old, account: "token", onConflict: .keepSource)
                == .destinationReplaced)
        #expect(try new.load(place.key) == "old")
        #expect(try !old.exists(.account("token")))
        #expect(
            try new.item(place.key)?.persistentReference == before?.persistentReference)
    }

    @Test(arguments: Way.allCases)
    func `a source's value that changes during the migration isn't removed`(way: Way) throws {
        let test = try TestDatabase(way)
        let old = source(test)
        let new = test.keychain("com.example.new")
        try old.save("first", for: .token)
        let outcome = try new.migrate(
            .token, from: old, account: "token", onConflict: .report
        ) { step in
            if step == .compared { try old.save("second", for: .token) }
        }
        #expect(outcome == .conflict)
        #expect(try new.load(.token) == "first")
        #expect(try old.load(.token) == "second")
    }

    @Test(arguments: Way.allCases)
    func `a value that doesn't fit the type of its key is moved unchanged`(way: Way) throws {
        let test = try TestDatabase(way)
        let old = source(test)
        let new = test.keychain("com.example.new")
        try old.save(Data([0xFF]), for: KeychainKey("token"))
        #expect(try new.migrate(.token, from: old) == .migrated)
        #expect(try new.load(KeychainKey<Data>("token")) == Data([0xFF]))
    }

    @Test(arguments: Way.allCases)
    func `all values without a conflict are moved, and the report lists every value`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let old = source(test)
        let new = test.keychain("com.example.new")
        for number in 0..<5 {
            try old.save("SECRET-\(number)", for: KeychainKey("account \(number)"))
        }
        try new.save("SECRET-1", for: KeychainKey("account 1"))
        try new.save("SECRET-9", for: KeychainKey("account 2"))
        let report = try new.migrateAll(from: old)
        #expect(!report.isComplete)
        #expect(
            Dictionary(uniqueKeysWithValues: report.records.map { ($0.account, $0.outcome) })
                == [
                    "account 0": .migrated, "account 1": .alreadyThere, "account 2": .conflict,
                    "account 3": .migrated, "account 4": .migrated,
                ])
        #expect(try old.items().map(\.account) == ["account 2"])
        var dumped = ""
        dump(report, to: &dumped)
        #expect(!dumped.contains("SECRET"))
        let rest = try new.migrateAll(from: old, onConflict: .keepDestination)
        #expect(rest.isComplete)
        #expect(rest.records.map(\.outcome) == [.destinationKept])
        #expect(try old.items().isEmpty)
        #expect(try new.migrateAll(from: old).records.isEmpty)
        #expect(try new.items().count == 5)
    }

    @Test(arguments: Way.allCases)
    func `migrateAll can change the accessibility of all items in place`(way: Way) throws {
        let test = try TestDatabase(way)
        let old = test.keychain()
        for number in 0..<3 { try old.save(number, for: KeychainKey("account \(number)")) }
        let before = try old.items()
        let new = test.keychain(accessibility: .whenUnlockedThisDeviceOnly)
        let report = try new.migrateAll(from: old)
        #expect(report.records.map(\.outcome) == Array(repeating: .changedInPlace, count: 3))
        let after = try new.items()
        #expect(
            Set(after.map(\.persistentReference)) == Set(before.map(\.persistentReference)))
        #expect(after.allSatisfy { $0.accessibility == .whenUnlockedThisDeviceOnly })
    }

    @Test(arguments: Way.allCases)
    func `a value can't be moved to another program's access group, and is kept`(way: Way) throws {
        let test = try TestDatabase(way)
        let old = source(test)
        let new = test.keychain(group: "group.foreign")
        try old.save("s3cr3t", for: .token)
        #expect(failure { try new.migrate(.token, from: old) }?.code == .missingEntitlement)
        let report = try new.migrateAll(from: old)
        #expect(report.records.map(\.outcome) == [.failed])
        #expect(report.records[0].error?.code == .missingEntitlement)
        #expect(report.records[0].error?.cause == .permission)
        #expect(try old.load(.token) == "s3cr3t")
    }

    @Test(arguments: Way.allCases)
    func `a value that can't be read in a locked keychain isn't moved, and is kept`(
        way: Way
    ) throws {
        let test = try TestDatabase(way)
        let old = source(test)
        let new = test.keychain("com.example.new")
        try old.save("1234", for: .pin)
        try test.lock()
        #expect(failure { try new.migrate(.pin, from: old) }?.code == .interactionNotAllowed)
        try test.unlock()
        #expect(try new.migrate(.pin, from: old) == .migrated)
        #expect(try new.load(.pin) == "1234")
    }

    @Test(arguments: Way.allCases)
    func `many concurrent migrations all succeed and lose no value`(way: Way) async throws {
        let test = try TestDatabase(way)
        let old = source(test)
        let new = test.keychain("com.example.new")
        for number in 0..<5 { try await old.save(number, for: KeychainKey("account \(number)")) }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { try await new.migrateAll(from: old).isComplete }
            }
            for try await isComplete in group { #expect(isComplete) }
        }
        #expect(try await old.items().isEmpty)
        for number in 0..<5 {
            #expect(try await new.load(KeychainKey<Int>("account \(number)")) == number)
        }
        try await old.save("x", for: .token)
        #expect(try await new.migrate(.token, from: old) == .migrated)
    }

    #if !canImport(Darwin)

    @Test
    func `a migration from a keychain to a copy with another value reports a conflict`() throws {
        let original = FileManager.default.temporaryDirectory
            .appending(path: "keychain-copy-test-\(UUID().uuidString)")
        let copy = original.appendingPathExtension("copy")
        let folders = [original, copy]
        defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
        func open(_ folder: URL) throws -> (KeychainEngine, Keychain) {
            let engine = try KeychainEngine.open(directory: folder.path, options: .testing)
            return (engine, Keychain(service: "s", in: Way.typed.database(engine)))
        }
        // A folder may be copied only while no process has it open.
        let (first, before) = try open(original)
        try before.save("old", for: .token)
        first.close()
        try FileManager.default.copyItem(at: original, to: copy)
        let (sourceEngine, source) = try open(original)
        defer { sourceEngine.close() }
        let (destinationEngine, destination) = try open(copy)
        defer { destinationEngine.close() }

        // The item in the unchanged copy can't be distinguished from the item at the source. The
        // migration takes both for one item, and removes nothing.
        #expect(try destination.migrate(.token, from: source) == .alreadyThere)
        #expect(try source.load(.token) == "old")
        #expect(try destination.load(.token) == "old")

        try destination.save("new", for: .token)
        let item = try #require(try source.item(.token))
        let other = try #require(try destination.item(.token))
        #expect(item.persistentReference == other.persistentReference)
        let stricter = Keychain(
            service: "s", accessibility: .whenUnlocked, in: destination.database)
        for place in [destination, stricter] {
            #expect(try place.migrate(.token, from: source) == .conflict)
            #expect(try source.item(.token) == item)
            #expect(try source.load(.token) == "old")
            #expect(try destination.load(.token) == "new")
        }
        let outcome = try destination.migrate(.token, from: source, onConflict: .keepSource)
        #expect(outcome == .destinationReplaced)
        #expect(try destination.load(.token) == "old")
        #expect(try !source.exists(.account("token")))
    }

    #endif
}
