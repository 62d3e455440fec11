// TextTests: verifies the names and texts that the specification defines.

import DeviceIdentity
import DeviceIdentityTesting
import ExampleTesting
import Foundation
import Testing

@Suite struct `Names and texts` {
    @Test func `the keys are three reverse-domain names`() {
        #expect(KeychainKeys.deviceId == "com.poopypals.deviceId")
        #expect(KeychainKeys.supabaseToken == "com.poopypals.supabaseToken")
        #expect(KeychainKeys.lastSyncDate == "com.poopypals.lastSyncDate")
    }

    @Test func `each of the six keychain errors has its own text`() {
        let texts: [KeychainError: String] = [
            .saveFailed(status: -34): "Failed to save to Keychain. Status: -34",
            .loadFailed(status: -25308): "Failed to load from Keychain. Status: -25308",
            .deleteFailed(status: -25293): "Failed to delete from Keychain. Status: -25293",
            .dataConversionFailed: "Failed to convert data",
            .unexpectedData: "Unexpected data format",
            .itemNotFound: "Item not found in Keychain",
        ]
        for (error, text) in texts {
            #expect(error.errorDescription == text)
            #expect(error.localizedDescription == text)
        }
    }

    @Test func `each of the two identifier errors has its own text`() {
        let notFound: any LocalizedError = DeviceIdentificationError.deviceIdNotFound
        let invalid: any LocalizedError = DeviceIdentificationError.invalidDeviceId
        #expect(notFound.errorDescription == "Device ID not found. Please restart the app.")
        #expect(invalid.errorDescription == "The provided device ID is invalid.")
    }

    @Test func `keychain errors have one message for the user, and all other errors have another`()
    {
        let secureStorage = "Unable to access secure storage. Please restart the app."
        let unexpected = "An unexpected error occurred."
        for error in [
            KeychainError.saveFailed(status: -34), .loadFailed(status: -25308),
            .deleteFailed(status: -36), .dataConversionFailed, .unexpectedData, .itemNotFound,
        ] {
            #expect(UserMessage.text(for: error) == secureStorage)
        }
        #expect(UserMessage.text(for: DeviceIdentificationError.invalidDeviceId) == unexpected)
        #expect(UserMessage.text(for: DeviceIdentificationError.deviceIdNotFound) == unexpected)
        #expect(UserMessage.text(for: BackendError.status(503)) == unexpected)
        #expect(UserMessage.text(for: CancellationError()) == unexpected)
    }

    @Test func `the coordinator's functions have the specification's names`() throws {
        let file = folder(ofSystem: "DeviceIdentity")
            .appending(path: "Sources/DeviceIdentity/AppCoordinator.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        for name in ["registerDeviceIfNeeded", "checkDeviceRegistration", "registerDevice"] {
            #expect(text.contains("func \(name)("))
        }
    }

    @Test func `the functions have the signatures of the specification`() {
        // If this doesn't compile, the declarations differ from the specification.
        let make: () -> any KeychainServiceProtocol = { KeychainService() }
        let named: (String) -> KeychainService = KeychainService.init(service:)
        let service = MockKeychainService()
        let devices = DeviceIdentificationService(keychain: service)
        _ = DeviceIdentificationService()
        let asynchronous: () async throws -> UUID = devices.getDeviceId
        let synchronous: () throws -> UUID = devices.getDeviceIdSync
        let has: () throws -> Bool = devices.hasDeviceId
        let reset: () throws -> Void = devices.resetDeviceId
        let take: (UUID) throws -> Void = devices.importDeviceId(_:)
        let give: () throws -> UUID = devices.exportDeviceId
        let forget: () -> Void = service.reset
        let migrate: () throws -> DeviceIdMigration.Outcome =
            DeviceIdMigration.migrateFromUserDefaults
        _ = (make, named, asynchronous, synchronous, has, reset, take, give, forget, migrate)
    }
}
