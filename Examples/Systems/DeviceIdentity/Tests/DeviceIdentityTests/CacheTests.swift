// CacheTests: what DeviceIdentificationService caches, and for how long.

import DeviceIdentity
import DeviceIdentityTesting
import Foundation
import KeychainTesting
import Security
import Testing

@Suite struct `The remembered identifier` {
    @Test func `after the first use the identifier is returned without opening a secret`()
        async throws
    {
        let keychain = TestKeychain()
        try await keychain.withSecItem {
            let service = KeychainService()
            try service.saveUUID(UUID(), for: KeychainKeys.deviceId)
            let devices = DeviceIdentificationService(keychain: service)
            let deviceId = try await devices.getDeviceId()
            let count = keychain.openedSecretCount
            #expect(count == 1)
            for _ in 1...500 {
                #expect(try await devices.getDeviceId() == deviceId)
                #expect(try devices.getDeviceIdSync() == deviceId)
                #expect(try devices.exportDeviceId() == deviceId)
                #expect(try devices.hasDeviceId())
            }
            #expect(keychain.openedSecretCount == count)
        }
    }

    @Test func `a new or imported identifier is returned without opening a secret`() async throws {
        let keychain = TestKeychain()
        try await keychain.withSecItem {
            let devices = DeviceIdentificationService(keychain: KeychainService())
            let made = try await devices.getDeviceId()
            #expect(try await devices.getDeviceId() == made)
            let imported = UUID()
            try devices.importDeviceId(imported)
            #expect(try await devices.getDeviceId() == imported)
            try devices.resetDeviceId()
            #expect(try await devices.getDeviceId() != imported)
            #expect(keychain.openedSecretCount == 0)
            // This read opens the secret and is counted, which shows that the counter works.
            _ = try DeviceIdentificationService(keychain: KeychainService()).getDeviceIdSync()
            #expect(keychain.openedSecretCount == 1)
        }
    }

    @Test(arguments: Place.allCases, [true, false])
    func `the cached identifier is returned until a reset, whatever happens to the item`(
        place: Place, isReadSynchronously: Bool
    ) async throws {
        try await place.use { storage in
            let first = UUID()
            let other = UUID()
            try storage.service.saveUUID(first, for: KeychainKeys.deviceId)
            let devices = storage.devices
            // Both ways of reading store the identifier in the cache.
            if isReadSynchronously {
                #expect(try devices.getDeviceIdSync() == first)
            } else {
                #expect(try await devices.getDeviceId() == first)
            }
            try storage.service.saveUUID(other, for: KeychainKeys.deviceId)
            #expect(try await devices.getDeviceId() == first)
            #expect(try devices.getDeviceIdSync() == first)
            #expect(try storage.devices.getDeviceIdSync() == other)
            try storage.service.delete(for: KeychainKeys.deviceId)
            #expect(try await devices.getDeviceId() == first)
            #expect(try devices.exportDeviceId() == first)
            #expect(try devices.hasDeviceId())
            storage.fail(errSecInteractionNotAllowed)
            #expect(try await devices.getDeviceId() == first)
            #expect(try devices.getDeviceIdSync() == first)
            storage.fail(nil)
            try devices.resetDeviceId()
            let next = try await devices.getDeviceId()
            #expect(next != first)
            #expect(try storage.devices.getDeviceIdSync() == next)
        }
    }

    @Test(arguments: Place.allCases)
    func `a reset or an import that fails changes nothing`(place: Place) async throws {
        try await place.use { storage in
            let devices = storage.devices
            let deviceId = try await devices.getDeviceId()
            storage.fail(errSecIO)
            #expect(throws: KeychainError.deleteFailed(status: errSecIO)) {
                try devices.resetDeviceId()
            }
            #expect(throws: KeychainError.saveFailed(status: errSecIO)) {
                try devices.importDeviceId(UUID())
            }
            storage.fail(nil)
            #expect(try devices.getDeviceIdSync() == deviceId)
            #expect(try storage.devices.getDeviceIdSync() == deviceId)
        }
    }
}
