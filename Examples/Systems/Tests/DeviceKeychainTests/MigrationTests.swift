// The identifier of an earlier release comes out of UserDefaults once, and is only cleaned up then.

import DeviceKeychain
import DeviceKeychainTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `Migration of an old identifier` {
    static let old = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    @Test(arguments: Place.allCases)
    func `an old identifier moves into the keychain and is gone from the defaults`(
        place: Place
    ) throws {
        let storage = try place.make()
        let defaults = try OldDefaults(Self.old)
        #expect(try storage.devices.migrateDeviceId(from: defaults.open()) == .migrated)
        #expect(defaults.deviceId == nil)
        #expect(try storage.devices.deviceId() == Self.old)
        #expect(try storage.devices.migrateDeviceId(from: defaults.open()) == .nothingToMigrate)
        #expect(try storage.devices.deviceId() == Self.old)
    }

    @Test(arguments: Place.allCases)
    func `after a migration that stopped half-way the old one is only cleaned up`(
        place: Place
    ) throws {
        let storage = try place.make()
        try storage.devices.importDeviceId(Self.old)
        let defaults = try OldDefaults(Self.old)
        #expect(try storage.devices.migrateDeviceId(from: defaults.open()) == .alreadyThere)
        #expect(defaults.deviceId == nil)
        #expect(try storage.devices.deviceId() == Self.old)
    }

    @Test(arguments: Place.allCases)
    func `where the keychain has another identifier that one stays`(place: Place) throws {
        let storage = try place.make()
        let present = try storage.devices.deviceId()
        let defaults = try OldDefaults(Self.old)
        #expect(try storage.devices.migrateDeviceId(from: defaults.open()) == .destinationKept)
        #expect(defaults.deviceId == nil)
        #expect(try storage.devices.deviceId() == present)
    }

    @Test func `a migration that fails leaves the old one, and the next does the rest`() throws {
        let memory = InMemoryKeychainService()
        let devices = DeviceIdentificationService(in: memory.test.database)
        let defaults = try OldDefaults(Self.old)
        memory.test.inject(.diskFull, times: 1)
        #expect(
            failure { try devices.migrateDeviceId(from: defaults.open()) }
                == .saveFailed(status: -34))
        #expect(defaults.deviceId == Self.old)
        #expect(try !devices.hasDeviceId())
        #expect(try devices.migrateDeviceId(from: defaults.open()) == .migrated)
        #expect(try devices.deviceId() == Self.old)
    }

    @Test func `what is no identifier is not taken over and stays in the defaults`() throws {
        let memory = InMemoryKeychainService()
        let devices = DeviceIdentificationService(in: memory.test.database)
        let defaults = try OldDefaults("device 1")
        #expect(
            failure { try devices.migrateDeviceId(from: defaults.open()) } == .unexpectedData)
        #expect(defaults.deviceId == "device 1")
        #expect(try !devices.hasDeviceId())
    }
}

/// The defaults of an earlier release, in a suite of the test's own that goes with the last
/// reference.
private final class OldDefaults {
    private let suite = "com.poopypals.test-\(UUID().uuidString)"

    init(_ deviceId: String) throws {
        let defaults = try open()
        defaults.set(deviceId, forKey: StorageKey.oldDefaults.deviceId)
        #expect(defaults.synchronize())
    }

    deinit {
        UserDefaults.standard.removePersistentDomain(forName: suite)
        UserDefaults(suiteName: suite)?.synchronize()
        let home = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"] ?? ""
        let folder = home.hasPrefix("/") ? home : NSHomeDirectory() + "/.config"
        // What is left on Linux is a file without a value.
        try? FileManager.default.removeItem(atPath: "\(folder)/\(suite).plist")
    }

    func open() throws -> UserDefaults {
        try #require(UserDefaults(suiteName: suite))
    }

    /// What another program would read.
    var deviceId: String? {
        UserDefaults(suiteName: suite)?.string(forKey: StorageKey.oldDefaults.deviceId)
    }
}
