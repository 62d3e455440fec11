// DeviceIdentificationService: made once, the same for all, forgotten when asked to.

import DeviceKeychain
import DeviceKeychainTesting
import Foundation
import Keychain
import KeychainTesting
import Testing

@Suite struct `Device identification` {
    static let old = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

    @Test(arguments: Place.allCases)
    func `a random identifier is made once and stays`(place: Place) throws {
        let storage = try place.make()
        let first = storage.devices
        #expect(try !first.hasDeviceId())
        let identifier = try first.deviceId()
        #expect(try first.hasDeviceId())
        #expect(try first.deviceId() == identifier)
        #expect(try storage.devices.deviceId() == identifier)
        // Version 4 of RFC 9562: random.
        #expect(UUID(uuidString: identifier)?.uuidString.dropFirst(14).first == "4")
        #expect(try place.make().devices.deviceId() != identifier)
    }

    @Test(arguments: Place.allCases)
    func `the identifier is text and, on request, a UUID, at once or without blocking`(
        place: Place
    ) async throws {
        let storage = try place.make()
        let devices = storage.devices
        let text: String = try await devices.deviceId()
        let identifier: UUID = try await devices.deviceId(as: UUID.self)
        #expect(identifier.uuidString == text)
        func atOnce() throws {
            #expect(try devices.deviceId() == text)
            #expect(try devices.deviceId(as: UUID.self) == identifier)
        }
        try atOnce()
    }

    @Test(arguments: Place.allCases)
    func `a synchronous read gives the identifier or nil and makes none`(place: Place) throws {
        let storage = try place.make()
        #expect(try storage.devices.existingDeviceId() == nil)
        #expect(try !storage.devices.hasDeviceId())
        let identifier = try storage.devices.deviceId()
        #expect(try storage.devices.existingDeviceId() == identifier)
    }

    @Test(arguments: Place.allCases)
    func `after a reset there is none, and then another`(place: Place) throws {
        let storage = try place.make()
        let devices = storage.devices
        let identifier = try devices.deviceId()
        #expect(try devices.resetDeviceId())
        #expect(try !devices.hasDeviceId())
        #expect(try !devices.resetDeviceId())
        #expect(try devices.deviceId() != identifier)
    }

    @Test(arguments: Place.allCases)
    func `an identifier is exported and imported, and none is replaced unasked`(
        place: Place
    ) throws {
        let storage = try place.make()
        let devices = storage.devices
        #expect(failure { _ = try devices.exportDeviceId() } == .itemNotFound)
        try devices.importDeviceId(Self.old)
        #expect(try devices.exportDeviceId() == Self.old)
        #expect(try devices.deviceId() == Self.old)
        let other = UUID()
        #expect(
            failure { try devices.importDeviceId(other) }
                == .saveFailed(status: KeychainError.Code.duplicateItem.rawValue))
        #expect(try devices.deviceId() == Self.old)
        try devices.importDeviceId(other, replacing: true)
        #expect(try devices.deviceId(as: UUID.self) == other)
        #expect(failure { try devices.importDeviceId("none") } == .unexpectedData)
        #expect(try devices.exportDeviceId() == other.uuidString)
    }

    @Test func `the identifier is cached: the second call opens no secret`() throws {
        let memory = InMemoryKeychainService()
        let devices = DeviceIdentificationService(in: memory.test.database)
        let identifier = try devices.deviceId()
        // Other tests change keychains at the same time, which makes this one read anew.
        var isCached = false
        for _ in 0..<1000 where !isCached {
            _ = try devices.deviceId()
            let count = memory.test.openedSecretCount
            #expect(try devices.deviceId() == identifier)
            isCached = memory.test.openedSecretCount == count
        }
        #expect(isCached)
    }

    @Test func `its key is one of the app's, a reverse-domain name`() throws {
        let memory = InMemoryKeychainService()
        let identifier = try DeviceIdentificationService(in: memory.test.database).deviceId()
        #expect(try memory.loadString(forKey: .deviceId) == identifier)
        #expect(try memory.test.items().map(\.account) == ["com.poopypals.app.device.identifier"])
        #expect(StorageKey.deviceId.rawValue.hasPrefix("\(StorageKey.service)."))
    }

    @Test func `before the first unlock none is made, and after it the old one is there`() throws {
        let memory = InMemoryKeychainService()
        let devices = DeviceIdentificationService(in: memory.test.database)
        let identifier = try devices.deviceId()
        try memory.test.setPasscode("1234")
        try memory.test.restart()
        let launched = DeviceIdentificationService(in: memory.test.database)
        #expect(failure { _ = try launched.deviceId() } == .loadFailed(status: -25308))
        #expect(failure { _ = try launched.existingDeviceId() } == .loadFailed(status: -25308))
        try memory.test.unlock()
        #expect(try launched.deviceId() == identifier)
    }

    @Test(arguments: Place.allCases)
    func `of many tasks that ask at once all get the same identifier`(place: Place) async throws {
        let storage = try place.make()
        let database = storage.database
        let identifiers = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 {
                group.addTask { try await DeviceIdentificationService(in: database).deviceId() }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(identifiers.count == 50)
        #expect(Set(identifiers) == [try await storage.devices.deviceId()])
    }
}
