// The storage layer of DeviceIdentity, written with Keychain: the last code block of the README of
// DeviceIdentity.

import ExampleTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

struct DeviceIdentityStorage: Sendable {
    let identity: DeviceIdentity

    init(in database: KeychainDatabase = .default) {
        identity = DeviceIdentity(
            service: "com.poopypals", account: "com.poopypals.deviceId", in: database)
    }

    func getDeviceId() async throws -> UUID { try await identity.identifier(as: UUID.self) }
    func hasDeviceId() throws -> Bool { try identity.exists() }
    func resetDeviceId() throws { try identity.reset() }
    func importDeviceId(_ uuid: UUID) throws { try identity.import(uuid, replacing: true) }
    func exportDeviceId() throws -> UUID? { try identity.existing(as: UUID.self) }

    func migrate(from defaults: UserDefaults) -> Keychain.Migration.Report {
        identity.keychain.migrate(
            [.init("deviceId", to: identity.key)], from: defaults, onConflict: .keepDestination)
    }
}

extension KeychainKey where Value == String {
    static var supabaseToken: Self { Self("com.poopypals.supabaseToken") }
}

extension KeychainKey where Value == Date {
    static var lastSyncDate: Self {
        Self("com.poopypals.lastSyncDate", encoder: JSONEncoder(), decoder: JSONDecoder())
    }
}

@Suite struct `Device identity with Keychain` {
    @Test func `the README of DeviceIdentity shows the tested snippet`() throws {
        try expectSnippet(inReadmeOf: "DeviceIdentity")
    }

    @Test func `an identifier is made once, imported, exported and reset`() async throws {
        let test = TestKeychain()
        let storage = DeviceIdentityStorage(in: test.database)
        #expect(try !storage.hasDeviceId())
        #expect(try storage.exportDeviceId() == nil)
        let made = try await storage.getDeviceId()
        #expect(try await DeviceIdentityStorage(in: test.database).getDeviceId() == made)
        let imported = UUID()
        try storage.importDeviceId(imported)
        #expect(try await storage.getDeviceId() == imported)
        #expect(try storage.exportDeviceId() == imported)
        let item = try #require(try test.items().first)
        #expect(item.service == "com.poopypals")
        #expect(item.account == "com.poopypals.deviceId")
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
        try storage.resetDeviceId()
        #expect(try !storage.hasDeviceId())
        #expect(try await storage.getDeviceId() != imported)
    }

    @Test func `an old identifier moves from the defaults to the keychain`() throws {
        let suite = "com.poopypals.keychain-test-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer {
            defaults.removePersistentDomain(forName: suite)
            defaults.synchronize()
            let folder = NSHomeDirectory() + "/.config"
            try? FileManager.default.removeItem(atPath: "\(folder)/\(suite).plist")
        }
        let old = UUID()
        defaults.set(old.uuidString, forKey: "deviceId")
        let storage = DeviceIdentityStorage(in: TestKeychain().database)
        #expect(storage.migrate(from: defaults).isComplete)
        #expect(defaults.string(forKey: "deviceId") == nil)
        #expect(try storage.exportDeviceId() == old)
    }

    @Test func `the token and the date are stored and loaded under the app's keys`() throws {
        let test = TestKeychain()
        let keychain = Keychain(service: "com.poopypals", in: test.database)
        let date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
        try keychain.save("s3cr3t", for: .supabaseToken)
        try keychain.save(date, for: .lastSyncDate)
        #expect(try keychain.load(.supabaseToken) == "s3cr3t")
        #expect(try keychain.load(.lastSyncDate) == date)
        // The date has the format that the app's own storage layer reads and writes.
        let bytes = try #require(
            try keychain.load(KeychainKey<Data>("com.poopypals.lastSyncDate")))
        #expect(try JSONDecoder().decode(Date.self, from: bytes) == date)
        #expect(try bytes == JSONEncoder().encode(date))
        #expect(
            try test.items().map(\.account)
                == ["com.poopypals.supabaseToken", "com.poopypals.lastSyncDate"])
    }
}
