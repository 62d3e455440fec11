// FirstUseTests: concurrent first uses, keychains that can't be read, and threads that are not
// blocked.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import KeychainTesting
import Security
import Synchronization
import Testing

@Suite struct `First use` {
    // MARK: Concurrent first uses

    @Test(arguments: Place.allCases)
    func `concurrent tasks all get the same identifier`(place: Place) async throws {
        try await place.use { storage in
            let identifiers = try await withThrowingTaskGroup(of: UUID.self) { group in
                for _ in 1...50 {
                    group.addTask { try await storage.devices.getDeviceId() }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(identifiers.count == 50)
            #expect(Set(identifiers) == [try storage.devices.getDeviceIdSync()])
        }
    }

    @Test(arguments: Place.allCases)
    func `if two first uses race, the loser gets the winner's identifier`(
        place: Place
    ) async throws {
        try await place.use { (storage) async throws in
            let service = storage.service
            let winner = UUID()
            let spy = Spy(
                service,
                beforeAdd: {
                    try service.saveUUID(winner, for: KeychainKeys.deviceId)
                })
            let devices = DeviceIdentificationService(keychain: spy)
            #expect(try await devices.getDeviceId() == winner)
            #expect(spy.calls == ["load", "add", "load"])
            #expect(try service.loadUUID(for: KeychainKeys.deviceId) == winner)
            #expect(try await devices.getDeviceId() == winner)
        }
    }

    @Test(arguments: Place.allCases)
    func `if the winner's identifier is deleted before the loser reads it, a new one is made`(
        place: Place
    ) async throws {
        try await place.use { storage in
            let service = storage.service
            let winner = UUID()
            let isFirst = Mutex(true)
            let spy = Spy(
                service,
                beforeAdd: {
                    guard isFirst.withLock({ $0 }) else { return }
                    try service.saveUUID(winner, for: KeychainKeys.deviceId)
                },
                afterAdd: {
                    guard isFirst.withLock({ exchange(&$0, with: false) }) else { return }
                    try service.delete(for: KeychainKeys.deviceId)
                })
            let deviceId = try await DeviceIdentificationService(keychain: spy).getDeviceId()
            #expect(deviceId != winner)
            #expect(spy.calls == ["load", "add", "load", "add"])
            #expect(try service.loadUUID(for: KeychainKeys.deviceId) == deviceId)
        }
    }

    @Test func `an identifier that is repeatedly created and deleted causes an error`() async throws
    {
        let service = MockKeychainService()
        let spy = Spy(
            service, beforeAdd: { try service.saveUUID(UUID(), for: KeychainKeys.deviceId) },
            afterAdd: { try service.delete(for: KeychainKeys.deviceId) })
        await #expect(throws: KeychainError.itemNotFound) {
            try await DeviceIdentificationService(keychain: spy).getDeviceId()
        }
    }

    // MARK: Identifiers that can't be read

    @Test
    func `no identifier is made before the first unlock; afterwards the old one is returned`()
        async throws
    {
        let keychain = TestKeychain()
        try await keychain.withSecItem {
            func launch() -> DeviceIdentificationService {
                DeviceIdentificationService(keychain: KeychainService())
            }
            let deviceId = try await launch().getDeviceId()
            try keychain.setPasscode("1234")
            try keychain.restart()
            let locked = KeychainError.loadFailed(status: errSecInteractionNotAllowed)
            let devices = launch()
            await #expect(throws: locked) { try await devices.getDeviceId() }
            #expect(throws: locked) { try devices.getDeviceIdSync() }
            #expect(throws: locked) { try devices.exportDeviceId() }
            #expect(throws: locked) { try devices.hasDeviceId() }
            #expect(throws: KeychainError.saveFailed(status: errSecInteractionNotAllowed)) {
                try devices.importDeviceId(UUID())
            }
            try keychain.unlock()
            #expect(try await devices.getDeviceId() == deviceId)
            // After the first unlock, locking the keychain doesn't make this item unreadable.
            try keychain.lock()
            #expect(try await launch().getDeviceId() == deviceId)
            #expect(try keychain.items().count == 1)
        }
    }

    @Test(
        arguments: Place.allCases,
        [errSecInteractionNotAllowed, errSecDecode, errSecAuthFailed, errSecIO])
    func `an identifier that can't be read is not replaced`(
        place: Place, status: OSStatus
    ) async throws {
        try await place.use { storage in
            let deviceId = try await storage.devices.getDeviceId()
            let spy = Spy(storage.service)
            let devices = DeviceIdentificationService(keychain: spy)
            storage.fail(status)
            await #expect(throws: KeychainError.loadFailed(status: status)) {
                try await devices.getDeviceId()
            }
            #expect(throws: KeychainError.loadFailed(status: status)) {
                try devices.hasDeviceId()
            }
            #expect(spy.calls == ["load", "exists"])
            storage.fail(nil)
            #expect(try await devices.getDeviceId() == deviceId)
        }
    }

    @Test(
        arguments: Place.allCases,
        [Data(), Data([0xFF, 0xFE]), Data("device 1".utf8), Data(repeating: 7, count: 16)])
    func `an item in another format is kept, and no identifier is made`(
        place: Place, form: Data
    ) async throws {
        try await place.use { storage in
            try storage.service.save(form, for: KeychainKeys.deviceId)
            let devices = storage.devices
            await #expect(throws: KeychainError.unexpectedData) {
                try await devices.getDeviceId()
            }
            #expect(throws: KeychainError.unexpectedData) { try devices.getDeviceIdSync() }
            #expect(try devices.hasDeviceId())
            #expect(try storage.service.load(for: KeychainKeys.deviceId) == form)
            // An import replaces the item.
            try devices.importDeviceId(UUID())
            _ = try await devices.getDeviceId()
        }
    }

    @Test func `an identifier that can't be saved is not returned`() async throws {
        let keychain = TestKeychain()
        try await keychain.withSecItem {
            let devices = DeviceIdentificationService(keychain: KeychainService())
            keychain.inject(.diskFull, times: 1)
            await #expect(throws: KeychainError.saveFailed(status: errSecDiskFull)) {
                try await devices.getDeviceId()
            }
            #expect(throws: DeviceIdentificationError.deviceIdNotFound) {
                try devices.getDeviceIdSync()
            }
            let deviceId = try await devices.getDeviceId()
            #expect(try KeychainService().loadUUID(for: KeychainKeys.deviceId) == deviceId)
        }
    }

    // MARK: Threads

    @MainActor
    @Test func `the main actor doesn't wait for the keychain`() async throws {
        let spy = Spy(MockKeychainService())
        _ = try await DeviceIdentificationService(keychain: spy).getDeviceId()
        #expect(spy.calls == ["load", "add"])
        #expect(spy.areOnMainQueue == [false, false])
        // A synchronous read happens on the main queue. The spy must record this. Otherwise, the
        // check above would prove nothing.
        let other = Spy(MockKeychainService())
        _ = try? DeviceIdentificationService(keychain: other).getDeviceIdSync()
        #expect(other.areOnMainQueue == [true])
    }

    @Test func `other tasks continue even if many calls wait for the keychain`() async throws {
        let keychain = StuckKeychain()
        let count = 100
        let answers = try await withThrowingTaskGroup(of: UUID?.self) { group in
            for _ in 1...count {
                group.addTask {
                    try await DeviceIdentificationService(keychain: keychain).getDeviceId()
                }
            }
            group.addTask {
                try await keychain.waitForRead()
                keychain.goOn(count)
                return nil
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == count + 1)
        #expect(Set(answers) == [nil, keychain.deviceId])
    }
}

private func exchange<Value>(_ value: inout Value, with new: Value) -> Value {
    defer { value = new }
    return value
}
