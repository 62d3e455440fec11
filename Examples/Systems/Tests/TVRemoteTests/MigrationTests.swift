// Migration: the credentials of an earlier release come out of the defaults, and none is lost.

import ExampleTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

@testable import TVRemote

/// Defaults of an earlier release, which go with the test.
final class OldDefaults {
    private let suiteName = "tv-remote-test-\(UUID().uuidString)"
    let defaults: UserDefaults

    init(_ credentials: TVCredentials? = .paired) throws {
        defaults = try #require(UserDefaults(suiteName: suiteName))
        guard let credentials else { return }
        defaults.set(
            try JSONEncoder().encode(credentials), forKey: KeychainManager.legacyDefaultsKey)
        try #require(defaults.synchronize())
    }

    deinit {
        defaults.removePersistentDomain(forName: suiteName)
        defaults.synchronize()
        let folder = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"]
        // What is left is a file without a value.
        try? FileManager.default.removeItem(
            atPath: "\(folder ?? NSHomeDirectory() + "/.config")/\(suiteName).plist")
    }

    /// What another program would read.
    var credentials: TVCredentials? {
        get throws {
            try UserDefaults(suiteName: suiteName)?.data(
                forKey: KeychainManager.legacyDefaultsKey
            ).map { try JSONDecoder().decode(TVCredentials.self, from: $0) }
        }
    }
}

@Suite struct `Migration` {
    private func outcome(
        _ manager: KeychainManager, _ old: OldDefaults
    ) -> Keychain.Migration.Outcome? {
        manager.migrateCredentials(from: old.defaults).items.first?.outcome
    }

    @Test(arguments: Place.allCases)
    func `credentials are in the keychain and gone from the defaults`(_ place: Place) throws {
        let manager = place.manager()
        let old = try OldDefaults()
        #expect(outcome(manager, old) == .migrated)
        #expect(try manager.loadCredentials() == .paired)
        #expect(try old.credentials == nil)
    }

    @Test(arguments: Place.allCases)
    func `a second migration has nothing to do`(_ place: Place) throws {
        let manager = place.manager()
        let old = try OldDefaults()
        #expect(outcome(manager, old) == .migrated)
        #expect(outcome(manager, old) == .nothingToMigrate)
        #expect(try manager.loadCredentials() == .paired)
        #expect(outcome(manager, try OldDefaults(nil)) == .nothingToMigrate)
    }

    /// Not saved, not known to be saved, and, last, saved but not verified: the value can't be
    /// read back.
    static let stops: [(TestKeychain.Fault, TestKeychain.Operations?)] = [
        (.stop(.beforeCommit), nil), (.stop(.afterCommit), nil), (.diskFull, nil),
        (.locked, nil), (.failure(.ioError), .search),
    ]

    @Test(arguments: stops.indices)
    func `nothing is lost when it stops half-way, and the next one does the rest`(
        _ index: Int
    ) throws {
        let (fault, operations) = Self.stops[index]
        let test = TestKeychain()
        let manager = KeychainManager(in: test.database)
        let old = try OldDefaults()
        test.inject(fault, into: operations)
        #expect(outcome(manager, old) == .failed)
        #expect(try old.credentials == .paired)
        test.removeFaults()
        try test.restart()
        let next = outcome(manager, old)
        #expect(next == .migrated || next == .alreadyThere)
        #expect(try manager.loadCredentials() == .paired)
        #expect(try old.credentials == nil)
    }

    @Test func `newer credentials of the keychain stay`() throws {
        let manager = Place.memory.manager()
        let newer = TVCredentials(ipAddress: "10.0.0.7", macAddress: "m", clientKey: "newer")
        try manager.saveCredentials(newer)
        let old = try OldDefaults()
        #expect(outcome(manager, old) == .destinationKept)
        #expect(try manager.loadCredentials() == newer)
        #expect(try old.credentials == nil)
    }

    @Test func `what is no credentials stays in the defaults`() throws {
        let manager = Place.memory.manager()
        let old = try OldDefaults(nil)
        old.defaults.set("no JSON", forKey: KeychainManager.legacyDefaultsKey)
        #expect(outcome(manager, old) == .failed)
        #expect(
            old.defaults.string(forKey: KeychainManager.legacyDefaultsKey) == "no JSON")
        #expect(try manager.loadCredentials() == nil)
    }
}
