// MigrationTests: the identifier of an earlier release is migrated from UserDefaults once. If the
// keychain already has an identifier, the old identifier is only removed from UserDefaults.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import KeychainTesting
import Security
import Testing

@Suite struct `Migration of an old identifier` {
    static let old = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    private func migrate(
        _ defaults: OldDefaults, _ service: any KeychainServiceProtocol
    ) throws -> DeviceIdMigration.Outcome {
        try DeviceIdMigration.migrateFromUserDefaults(defaults: defaults.open(), keychain: service)
    }

    @Test(arguments: Place.allCases)
    func `an old identifier moves into the keychain and is gone from the defaults`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let defaults = try OldDefaults(Self.old)
            #expect(try migrate(defaults, storage.service) == .migrated)
            #expect(defaults.deviceId == nil)
            #expect(try storage.devices.getDeviceIdSync() == UUID(uuidString: Self.old))
            #expect(try migrate(defaults, storage.service) == .nothingToMigrate)
            #expect(try storage.devices.getDeviceIdSync() == UUID(uuidString: Self.old))
        }
    }

    @Test(arguments: Place.allCases)
    func `without an old identifier the migration changes nothing`(place: Place) async throws {
        try await place.use { storage in
            let defaults = try OldDefaults(nil)
            #expect(try migrate(defaults, storage.service) == .nothingToMigrate)
            #expect(try !storage.devices.hasDeviceId())
        }
    }

    @Test(arguments: Place.allCases)
    func `an old identifier that is already in the keychain is removed from the defaults`(
        place: Place
    ) async throws {
        try await place.use { storage in
            try storage.devices.importDeviceId(Self.old)
            let defaults = try OldDefaults(Self.old)
            #expect(try migrate(defaults, storage.service) == .cleanedUp)
            #expect(defaults.deviceId == nil)
            #expect(try storage.devices.getDeviceIdSync() == UUID(uuidString: Self.old))
        }
    }

    @Test(arguments: Place.allCases)
    func `a different identifier in the keychain is kept, and the old identifier is removed`(
        place: Place
    )
        async throws
    {
        try await place.use { storage in
            let present = try await storage.devices.getDeviceId()
            let defaults = try OldDefaults(Self.old)
            #expect(try migrate(defaults, storage.service) == .cleanedUp)
            #expect(defaults.deviceId == nil)
            #expect(try storage.devices.getDeviceIdSync() == present)
        }
    }

    @Test(arguments: MigrationStop.allCases)
    func `an interrupted migration keeps the old identifier, and the next migration removes it`(
        stop: MigrationStop
    ) throws {
        let keychain = TestKeychain()
        try keychain.withSecItem {
            let defaults = try OldDefaults(Self.old)
            stop.inject(keychain)
            #expect(throws: KeychainError.self) { try migrate(defaults, KeychainService()) }
            #expect(defaults.deviceId == Self.old)
            try keychain.restart()
            let expected: DeviceIdMigration.Outcome = stop.isSaved ? .cleanedUp : .migrated
            #expect(try migrate(defaults, KeychainService()) == expected)
            #expect(defaults.deviceId == nil)
            #expect(
                try KeychainService().loadUUID(for: KeychainKeys.deviceId)
                    == UUID(uuidString: Self.old))
        }
    }

    @Test func `the saved identifier is read back before the old identifier is removed`() throws {
        let mock = MockKeychainService()
        let defaults = try OldDefaults(Self.old)
        let forgetful = Spy(mock, afterAdd: { try mock.delete(for: KeychainKeys.deviceId) })
        #expect(throws: KeychainError.itemNotFound) { try migrate(defaults, forgetful) }
        #expect(defaults.deviceId == Self.old)
        let wrong = Spy(mock, afterAdd: { try mock.saveUUID(UUID(), for: KeychainKeys.deviceId) })
        #expect(throws: KeychainError.unexpectedData) { try migrate(defaults, wrong) }
        #expect(defaults.deviceId == Self.old)
    }

    @Test(arguments: Place.allCases)
    func `if the identifier in the keychain can't be read, the old identifier is kept`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let defaults = try OldDefaults(Self.old)
            try storage.service.saveString("device 1", for: KeychainKeys.deviceId)
            #expect(throws: KeychainError.unexpectedData) {
                try migrate(defaults, storage.service)
            }
            storage.fail(errSecInteractionNotAllowed)
            #expect(throws: KeychainError.self) { try migrate(defaults, storage.service) }
            storage.fail(nil)
            #expect(defaults.deviceId == Self.old)
            #expect(try storage.service.loadString(for: KeychainKeys.deviceId) == "device 1")
        }
    }

    @Test(arguments: Place.allCases)
    func `if the keychain contains the nil UUID, the old identifier is kept`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let defaults = try OldDefaults(Self.old)
            let none = "00000000-0000-0000-0000-000000000000"
            try storage.service.saveString(none, for: KeychainKeys.deviceId)
            #expect(throws: KeychainError.unexpectedData) {
                try migrate(defaults, storage.service)
            }
            #expect(defaults.deviceId == Self.old)
            #expect(try storage.service.loadString(for: KeychainKeys.deviceId) == none)
        }
    }

    @Test(
        arguments: Place.allCases, ["device 1", "", "00000000-0000-0000-0000-000000000000"])
    func `an invalid identifier is not migrated and stays in the defaults`(
        place: Place, text: String
    ) async throws {
        try await place.use { storage in
            let defaults = try OldDefaults(text)
            #expect(throws: DeviceIdentificationError.invalidDeviceId) {
                try migrate(defaults, storage.service)
            }
            #expect(defaults.deviceId == text)
            #expect(try !storage.devices.hasDeviceId())
        }
    }

    @Test func `a value that isn't text stays in the defaults`() throws {
        let mock = MockKeychainService()
        let defaults = try OldDefaults(nil)
        try defaults.open().set(12, forKey: "deviceId")
        #expect(throws: DeviceIdentificationError.invalidDeviceId) { try migrate(defaults, mock) }
        #expect(try defaults.open().integer(forKey: "deviceId") == 12)
        #expect(try !mock.exists(for: KeychainKeys.deviceId))
    }
}

/// The point at which a migration is interrupted.
enum MigrationStop: CaseIterable {
    case noSpace, locked, beforeSaving, beforeCommit, afterCommit, beforeReadingBack

    func inject(_ keychain: TestKeychain) {
        switch self {
        case .noSpace: keychain.inject(.diskFull, times: 1)
        case .locked: keychain.inject(.locked, into: .add, times: 1)
        case .beforeSaving: keychain.inject(.stop(.afterStep(0)), into: .add, times: 1)
        case .beforeCommit: keychain.inject(.stop(.beforeCommit), into: .add, times: 1)
        case .afterCommit: keychain.inject(.stop(.afterCommit), into: .add, times: 1)
        case .beforeReadingBack: keychain.inject(.locked, into: .search, times: 1)
        }
    }

    /// Whether the identifier had been saved at that point.
    var isSaved: Bool { self == .afterCommit || self == .beforeReadingBack }
}

/// The defaults of an earlier release, in a temporary suite that is removed with the last reference
/// to this object.
private final class OldDefaults {
    private let suite = "com.poopypals.test-\(UUID().uuidString)"

    init(_ deviceId: String?) throws {
        let defaults = try open()
        if let deviceId { defaults.set(deviceId, forKey: "deviceId") }
        #expect(defaults.synchronize())
    }

    deinit {
        UserDefaults.standard.removePersistentDomain(forName: suite)
        UserDefaults(suiteName: suite)?.synchronize()
        let home = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? ""
        let folder = home.hasPrefix("/") ? home : NSHomeDirectory() + "/.config"
        // On Linux, a file without values is left.
        try? FileManager.default.removeItem(atPath: "\(folder)/\(suite).plist")
    }

    func open() throws -> UserDefaults {
        try #require(UserDefaults(suiteName: suite))
    }

    /// The value that another program would read.
    var deviceId: String? {
        UserDefaults(suiteName: suite)?.string(forKey: "deviceId")
    }
}
