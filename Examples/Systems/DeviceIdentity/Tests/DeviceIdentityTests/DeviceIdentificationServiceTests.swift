// DeviceIdentificationServiceTests: the tests that the specification lists, and tests of an
// identifier's lifecycle.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import KeychainTesting
import Security
import Synchronization
import Testing

@Suite struct DeviceIdentificationServiceTests {
    static let old = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    // MARK: Tests of the specification

    @Test(arguments: Place.allCases)
    func testGetDeviceId_FirstLaunch_GeneratesAndSavesId(place: Place) async throws {
        try await place.use { storage in
            let deviceId = try await storage.devices.getDeviceId()
            #expect(try storage.service.loadUUID(for: KeychainKeys.deviceId) == deviceId)
            // The version of a random UUID is 4 (RFC 9562).
            #expect(deviceId.uuidString.dropFirst(14).first == "4")
        }
    }

    @Test(arguments: Place.allCases)
    func testGetDeviceId_SecondCall_ReturnsSameId(place: Place) async throws {
        try await place.use { storage in
            let devices = storage.devices
            let first = try await devices.getDeviceId()
            #expect(try await devices.getDeviceId() == first)
            #expect(try await storage.devices.getDeviceId() == first)
        }
    }

    @Test(arguments: Place.allCases)
    func testImportDeviceId_SavesProvidedId(place: Place) async throws {
        try await place.use { storage in
            let devices = storage.devices
            let provided = UUID()
            try devices.importDeviceId(provided)
            #expect(try storage.service.loadUUID(for: KeychainKeys.deviceId) == provided)
            #expect(try await devices.getDeviceId() == provided)
            #expect(try await storage.devices.getDeviceId() == provided)
        }
    }

    // MARK: Read, change and import

    @Test(arguments: Place.allCases)
    func `two installations have different identifiers`(place: Place) async throws {
        let made = Mutex<Set<UUID>>([])
        for _ in 1...2 {
            try await place.use { storage in
                let deviceId = try await storage.devices.getDeviceId()
                made.withLock { _ = $0.insert(deviceId) }
            }
        }
        #expect(made.withLock { $0.count } == 2)
    }

    @Test(arguments: Place.allCases)
    func `a synchronous read returns the identifier but never makes a new one`(place: Place)
        async throws
    {
        try await place.use { storage in
            let devices = storage.devices
            #expect(throws: DeviceIdentificationError.deviceIdNotFound) {
                try devices.getDeviceIdSync()
            }
            #expect(try !devices.hasDeviceId())
            #expect(try storage.service.load(for: KeychainKeys.deviceId) == nil)
            let deviceId = try await devices.getDeviceId()
            #expect(try devices.getDeviceIdSync() == deviceId)
            #expect(try storage.devices.getDeviceIdSync() == deviceId)
        }
    }

    @Test(arguments: Place.allCases)
    func `after a reset there is no identifier, and the next identifier is different`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let devices = storage.devices
            let first = try await devices.getDeviceId()
            #expect(try devices.hasDeviceId())
            #expect(try storage.devices.hasDeviceId())
            try devices.resetDeviceId()
            #expect(try !devices.hasDeviceId())
            #expect(try !storage.devices.hasDeviceId())
            try devices.resetDeviceId()
            let second = try await devices.getDeviceId()
            #expect(second != first)
            #expect(try await storage.devices.getDeviceId() == second)
        }
    }

    @Test(arguments: Place.allCases)
    func `an import replaces the stored identifier, and an export returns the new identifier`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let devices = storage.devices
            #expect(throws: DeviceIdentificationError.deviceIdNotFound) {
                try devices.exportDeviceId()
            }
            let first = try await devices.getDeviceId()
            #expect(try devices.exportDeviceId() == first)
            let other = UUID()
            try devices.importDeviceId(other)
            #expect(try devices.exportDeviceId() == other)
            #expect(try devices.getDeviceIdSync() == other)
            #expect(try storage.devices.exportDeviceId() == other)
        }
    }

    @Test(arguments: Place.allCases)
    func `an invalid identifier is not imported, and the existing identifier is kept`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let devices = storage.devices
            let deviceId = try await devices.getDeviceId()
            for text in ["", "device 1", "00000000-0000-0000-0000-000000000000", "\(UUID())0"] {
                #expect(throws: DeviceIdentificationError.invalidDeviceId, "\(text)") {
                    try devices.importDeviceId(text)
                }
            }
            #expect(try devices.exportDeviceId() == deviceId)
            #expect(try storage.devices.exportDeviceId() == deviceId)
        }
    }

    @Test(arguments: Place.allCases)
    func `a stored nil UUID is not returned as an identifier, and can be replaced`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let none = try #require(UUID(uuidString: "00000000-0000-0000-0000-000000000000"))
            try storage.service.saveUUID(none, for: KeychainKeys.deviceId)
            let devices = storage.devices
            #expect(throws: KeychainError.unexpectedData) { try devices.getDeviceIdSync() }
            await #expect(throws: KeychainError.unexpectedData) { try await devices.getDeviceId() }
            let provided = UUID()
            try devices.importDeviceId(provided)
            #expect(try devices.getDeviceIdSync() == provided)
        }
    }

    @Test(arguments: Place.allCases)
    func `the identifier is stored as text and can be read as text`(place: Place) async throws {
        try await place.use { storage in
            let devices = storage.devices
            try devices.importDeviceId(Self.old)
            let text = Self.old.uppercased()
            #expect(try storage.service.loadString(for: KeychainKeys.deviceId) == text)
            #expect(try await devices.getDeviceId(as: String.self) == text)
            #expect(try devices.getDeviceIdSync(as: String.self) == text)
            // Another program may have stored the identifier in lower case.
            try storage.service.saveString(Self.old, for: KeychainKeys.deviceId)
            #expect(try await storage.devices.getDeviceId(as: String.self) == text)
            #expect(try storage.service.loadString(for: KeychainKeys.deviceId) == Self.old)
        }
    }

    @Test
    func `the service works with a keychain that has only the specification's four functions`()
        async throws
    {
        let devices = DeviceIdentificationService(keychain: FourFunctions())
        let deviceId = try await devices.getDeviceId()
        #expect(try devices.exportDeviceId() == deviceId)
        let service = FourFunctions()
        #expect(try service.add(Data("first".utf8), for: "key"))
        #expect(try !service.add(Data("second".utf8), for: "key"))
        #expect(try service.loadString(for: "key") == "first")
    }
}
