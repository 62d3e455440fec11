// KeychainServiceTests: the tests that the app's specification lists. The specification defines the
// names and the five categories.

import Capture
import CryptoKit
import Foundation
import Testing

private let service = KeychainService()

@Suite(.freshKeychain) struct `1. Basic operations` {
    @Test func testSaveAndLoad_RoundTrip() throws {
        let data = Data("Hello, Keychain".utf8)
        try service.save(data, forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == data)
    }

    @Test func testSave_DuplicateKey_UpdatesItem() throws {
        try service.save(Data("first".utf8), forKey: anyKey)
        let first = try #require(try storedAttributes(forKey: anyKey))
        try service.save(Data("second".utf8), forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == Data("second".utf8))
        // The item was updated in place, so it was never missing for a concurrent reader.
        let second = try #require(try storedAttributes(forKey: anyKey))
        #expect(second["v_PersistentRef"] as? Data == first["v_PersistentRef"] as? Data)
        #expect(second["cdat"] as? Date == first["cdat"] as? Date)
        #expect(try testKeychain.items().count == 1)
    }

    @Test func testLoad_NonExistentKey_ReturnsNil() throws {
        try service.save(Data([1]), forKey: "rial.other")
        #expect(try service.load(forKey: anyKey) == nil)
    }

    @Test func testDelete_ExistingItem_Succeeds() throws {
        try service.save(Data("gone".utf8), forKey: anyKey)
        try service.save(Data("stays".utf8), forKey: "rial.other")
        try service.delete(forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == nil)
        #expect(try service.load(forKey: "rial.other") == Data("stays".utf8))
    }

    @Test func testDelete_NonExistentItem_Succeeds() throws {
        #expect(throws: Never.self) { try service.delete(forKey: anyKey) }
    }
}

@Suite(.freshKeychain) struct `2. Symmetric keys` {
    @Test func testSymmetricKey_SaveAndLoad() throws {
        let key = CryptoService.generateKey()
        try service.saveSymmetricKey(key, forKey: anyKey)
        #expect(try service.loadSymmetricKey(forKey: anyKey) == key)
        #expect(try service.load(forKey: anyKey)?.count == 32)
    }

    @Test func testSymmetricKey_RoundTrip_PreservesFunctionality() throws {
        let key = CryptoService.generateKey()
        let plaintext = Data("capture".utf8)
        let encrypted = try CryptoService.encrypt(plaintext, using: key)
        try service.saveSymmetricKey(key, forKey: anyKey)
        let loaded = try #require(try service.loadSymmetricKey(forKey: anyKey))
        #expect(try CryptoService.decrypt(encrypted, using: loaded) == plaintext)
        let back = try CryptoService.encrypt(plaintext, using: loaded)
        #expect(try CryptoService.decrypt(back, using: key) == plaintext)
    }

    @Test func testSymmetricKey_LoadNonExistent_ReturnsNil() throws {
        #expect(try service.loadSymmetricKey(forKey: anyKey) == nil)
    }
}

@Suite(.freshKeychain) struct `3. Device state` {
    @Test func testDeviceState_SaveAndLoad() throws {
        let state = DeviceState(
            deviceId: "6F1", attestationKeyId: "key", attestationLevel: .secureEnclave,
            hasLidar: true, deviceModel: "iPhone16,1",
            registeredAt: Date(timeIntervalSince1970: 1_750_000_000))
        try service.saveDeviceState(state)
        let loaded = try #require(try service.loadDeviceState())
        #expect(loaded.deviceId == "6F1")
        #expect(loaded.attestationKeyId == "key")
        #expect(loaded.attestationLevel == .secureEnclave)
        #expect(loaded.hasLidar)
        #expect(loaded.deviceModel == "iPhone16,1")
        #expect(loaded.registeredAt == Date(timeIntervalSince1970: 1_750_000_000))
    }

    @Test func testDeviceState_LoadNonExistent_ReturnsNil() throws {
        #expect(try service.loadDeviceState() == nil)
    }

    @Test func testDeviceState_PartialData() throws {
        let state = DeviceState(
            deviceId: "6F1", attestationLevel: .unverified, hasLidar: false,
            deviceModel: "iPhone16,1")
        try service.saveDeviceState(state)
        let loaded = try #require(try service.loadDeviceState())
        #expect(loaded.attestationKeyId == nil)
        #expect(loaded.registeredAt == nil)
        #expect(loaded.attestationLevel == .unverified)
        #expect(loaded == state)
    }
}

@Suite(.freshKeychain) struct `4. Persistence, edge cases and errors` {
    @Test func testKeychainItem_PersistsAcrossInstances() throws {
        try KeychainService().save(Data("kept".utf8), forKey: anyKey)
        // Simulate a restart of the device, after which only the stored items are left.
        try testKeychain.restart()
        #expect(try KeychainService().load(forKey: anyKey) == Data("kept".utf8))
    }

    @Test func testSave_EmptyData_Succeeds() throws {
        try service.save(Data(), forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == Data())
    }

    @Test func testSave_LargeData_Succeeds() throws {
        let data = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try service.save(data, forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == data)
    }

    @Test func testSave_BinaryData_Succeeds() throws {
        // Every byte value, and bytes that are not UTF-8.
        let data = Data(0...255) + Data([0xFF, 0xFE, 0, 0xC3, 0x28])
        try service.save(data, forKey: anyKey)
        #expect(try service.load(forKey: anyKey) == data)
    }

    @Test func testLoadSymmetricKey_InvalidData_ThrowsError() throws {
        let bytes = Data("not a key".utf8)
        try service.save(bytes, forKey: anyKey)
        #expect(throws: KeychainError.invalidData) {
            try service.loadSymmetricKey(forKey: anyKey)
        }
        #expect(try service.load(forKey: anyKey) == bytes)
    }

    @Test func testLoadDeviceState_CorruptedJSON_ThrowsError() throws {
        let corrupted = Data(#"{"deviceId":"6F1""#.utf8)
        try service.save(corrupted, forKey: "rial.device.state")
        #expect(throws: KeychainError.decodingFailed) { try service.loadDeviceState() }
        #expect(try service.load(forKey: "rial.device.state") == corrupted)
    }
}

// The program systems-benchmarks verifies the time limits of the last three tests. Here, these
// tests run their operations ten times and only verify the results.
@Suite(.freshKeychain) struct `5. Integration and performance` {
    @Test func testIntegration_EncryptStoreLoadDecrypt() throws {
        let capture = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let key = CryptoService.generateKey()
        let encrypted = try CryptoService.encrypt(capture, using: key)
        #expect(encrypted.range(of: capture.prefix(32)) == nil)
        try service.saveSymmetricKey(key, forKey: KeychainService.Account.encryptionKey)
        let loaded = try #require(
            try KeychainService().loadSymmetricKey(
                forKey: KeychainService.Account.encryptionKey))
        #expect(try CryptoService.decrypt(encrypted, using: loaded) == capture)
    }

    @Test func testIntegration_DeviceStateUpdate() throws {
        var state = DeviceState(
            deviceId: "6F1", attestationLevel: .unverified, hasLidar: false,
            deviceModel: "iPhone16,1")
        try service.saveDeviceState(state)
        state.attestationKeyId = "key"
        state.attestationLevel = .secureEnclave
        state.registeredAt = Date(timeIntervalSince1970: 1_750_000_000)
        try service.saveDeviceState(state)
        #expect(try service.loadDeviceState() == state)
        #expect(try testKeychain.items().count == 1)
    }

    @Test func testPerformance_Save() throws {
        for round in 0..<10 as Range<UInt8> {
            let data = Data(repeating: round, count: 1024)
            try service.save(data, forKey: anyKey)
            #expect(try service.load(forKey: anyKey) == data)
        }
    }

    @Test func testPerformance_Load() throws {
        let data = Data((0..<1024).map { UInt8(truncatingIfNeeded: $0) })
        try service.save(data, forKey: anyKey)
        for _ in 0..<10 {
            #expect(try service.load(forKey: anyKey) == data)
        }
    }

    @Test func testPerformance_SymmetricKeyRoundTrip() throws {
        for _ in 0..<10 {
            let key = CryptoService.generateKey()
            try service.saveSymmetricKey(key, forKey: anyKey)
            #expect(try service.loadSymmetricKey(forKey: anyKey) == key)
        }
    }
}
