// Keys, device state and identifiers as values of their types.

import ExampleTesting
import Foundation
import Keychain
import KeychainCryptoKit
import Testing

@testable import Capture

@Suite struct `Symmetric keys` {
    let crypto = CryptoService()

    @Test(arguments: Place.allCases)
    func `what the old key encrypts the loaded one decrypts`(_ place: Place) throws {
        let service = place.service()
        let old = crypto.generateKey()
        try service.saveSymmetricKey(old, forKey: anyKey)
        let loaded = try #require(try service.loadSymmetricKey(forKey: anyKey))
        let sealed = try crypto.encrypt(Data("capture".utf8), using: old)
        #expect(try crypto.decrypt(sealed, using: loaded) == Data("capture".utf8))
        #expect(try service.load(forKey: anyKey) == crypto.keyToData(old))
        #expect(try service.load(forKey: anyKey)?.count == 32)
    }

    @Test(arguments: Place.allCases)
    func `an absent key loads as nil`(_ place: Place) throws {
        #expect(try place.service().loadSymmetricKey(forKey: anyKey) == nil)
    }

    @Test(arguments: Place.allCases, [0, 1, 16, 31, 33, 64])
    func `malformed stored bytes are invalid data, and stay`(
        _ place: Place, _ count: Int
    ) throws {
        let service = place.service()
        let bytes = Data(repeating: 7, count: count)
        try service.save(bytes, forKey: anyKey)
        #expect(reason { _ = try service.loadSymmetricKey(forKey: anyKey) } == .invalidData)
        #expect(
            reason { _ = try service.loadSymmetricKey(forKey: anyKey, orAdd: crypto.generateKey) }
                == .invalidData)
        #expect(try service.load(forKey: anyKey) == bytes)
    }

    @Test(arguments: Place.allCases, [SymmetricKeySize.bits128.bitCount, 192, 512])
    func `a key of another size is not saved`(_ place: Place, _ bitCount: Int) throws {
        let service = place.service()
        let key = SymmetricKey(size: SymmetricKeySize(bitCount: bitCount))
        #expect(reason { try service.saveSymmetricKey(key, forKey: anyKey) } == .invalidData)
        #expect(try service.load(forKey: anyKey) == nil)
    }

    @Test(arguments: Place.allCases)
    func `a key is made only where there is none`(_ place: Place) throws {
        let service = place.service()
        let first = try service.loadSymmetricKey(forKey: anyKey, orAdd: crypto.generateKey)
        let again = try service.loadSymmetricKey(forKey: anyKey) {
            Issue.record("There is one.")
            return crypto.generateKey()
        }
        #expect(first == again)
        #expect(try service.isProtected(.afterFirstUnlockThisDeviceOnly, forKey: anyKey))
    }

    @Test(arguments: Place.allCases)
    func `all that race to make the key get the same`(_ place: Place) async throws {
        let service = place.service()
        let keys = try await withThrowingTaskGroup(of: SymmetricKey.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try service.loadSymmetricKey(
                        forKey: anyKey, orAdd: CryptoService().generateKey)
                }
            }
            return try await group.reduce(into: [SymmetricKey]()) { $0.append($1) }
        }
        #expect(keys.count == 16)
        let stored = try #require(try service.loadSymmetricKey(forKey: anyKey))
        #expect(keys.allSatisfy { $0 == stored })
    }

    @Test func `the crypto service encrypts as nonce, ciphertext and tag`() throws {
        let key = try crypto.keyFromData(Data(repeating: 9, count: 32))
        #expect(try crypto.keyToData(key) == Data(repeating: 9, count: 32))
        let sealed = try crypto.encrypt(Data("capture".utf8), using: key)
        #expect(sealed.count == 12 + 7 + 16)
        // What anybody's AES-GCM makes of it.
        let box = try AES.GCM.SealedBox(combined: sealed)
        #expect(try AES.GCM.open(box, using: key) == Data("capture".utf8))
        #expect(reason { _ = try crypto.decrypt(sealed.dropLast(), using: key) } == .invalidData)
        #expect(
            reason { _ = try crypto.decrypt(sealed, using: crypto.generateKey()) } == .invalidData)
        #expect(reason { _ = try crypto.keyFromData(Data([1])) } == .invalidData)
    }
}

@Suite struct `Device state` {
    static let states = [
        DeviceState(
            deviceId: "6F1", attestationKeyId: "key", attestationLevel: .secureEnclave,
            hasLidar: true, deviceModel: "iPhone16,1",
            registeredAt: Date(timeIntervalSince1970: 1_750_000_000)),
        DeviceState(
            deviceId: "", attestationLevel: .unverified, hasLidar: false, deviceModel: "Компьютер"),
    ]

    @Test(arguments: Place.allCases, states)
    func `a state loads as it was saved`(_ place: Place, _ state: DeviceState) throws {
        let service = place.service()
        #expect(try service.loadDeviceState() == nil)
        try service.saveDeviceState(state)
        #expect(try service.loadDeviceState() == state)
    }

    @Test func `a state is JSON with ISO 8601 dates`() throws {
        let service = Place.memory.service()
        try service.saveDeviceState(Self.states[0])
        let stored = try #require(try service.load(forKey: "rial.device.state"))
        #expect(
            String(decoding: stored, as: UTF8.self) == """
                {"attestationKeyId":"key","attestationLevel":"secure_enclave","deviceId":"6F1",\
                "deviceModel":"iPhone16,1","hasLidar":true,"registeredAt":"2025-06-15T15:06:40Z"}
                """)
        try service.saveDeviceState(Self.states[1])
        let second = try #require(try service.load(forKey: "rial.device.state"))
        let object = try JSONSerialization.jsonObject(with: second) as? [String: Any]
        #expect(object?["attestationLevel"] as? String == "unverified")
        #expect(
            object?.keys.sorted() == ["attestationLevel", "deviceId", "deviceModel", "hasLidar"])
    }

    /// Cut off, of another shape, of an unknown level, with a date that is none, no JSON.
    static let corrupted = [
        #"{"deviceId":"6F1""#, "[]", "", "\u{FF}",
        #"{"attestationLevel":"best","deviceId":"","deviceModel":"","hasLidar":true}"#,
        """
        {"attestationLevel":"unverified","deviceId":"","deviceModel":"","hasLidar":true,\
        "registeredAt":"yesterday"}
        """,
    ]

    @Test(arguments: Place.allCases, corrupted)
    func `a corrupted state is a decoding error and stays as it was`(
        _ place: Place, _ text: String
    ) throws {
        let service = place.service()
        try service.save(Data(text.utf8), forKey: KeychainService.Account.deviceState)
        let error = try #require(failure { _ = try service.loadDeviceState() })
        #expect(error.reason == .decodingFailed)
        #expect(error.storedData == Data(text.utf8))
        let device = CaptureDevice(keychain: service)
        #expect(
            reason { _ = try device.register(model: "m", hasLidar: false) } == .decodingFailed)
        let kept = try service.load(forKey: KeychainService.Account.deviceState)
        #expect(kept == Data(text.utf8))
    }
}

@Suite struct `Identifiers` {
    @Test(arguments: Place.allCases)
    func `the device's identifier is text, and a UUID is stored as such`(_ place: Place) throws {
        let service = place.service()
        #expect(try service.loadDeviceId() == nil)
        try service.saveDeviceId("device-1")
        #expect(try service.loadDeviceId() == "device-1")
        let identifier = UUID()
        try service.saveDeviceId(identifier)
        #expect(try service.loadDeviceId() == identifier.uuidString)
        #expect(try service.load(forKey: "rial.device.id") == Data(identifier.uuidString.utf8))
    }

    @Test(arguments: Place.allCases)
    func `the attestation key's identifier is text`(_ place: Place) throws {
        let service = place.service()
        #expect(try service.loadAttestationKeyId() == nil)
        try service.saveAttestationKeyId("key-1")
        #expect(try service.loadAttestationKeyId() == "key-1")
        #expect(try service.load(forKey: "rial.attestation.keyId") == Data("key-1".utf8))
        try service.save(Data([0xFF]), forKey: "rial.attestation.keyId")
        #expect(reason { _ = try service.loadAttestationKeyId() } == .invalidData)
    }
}
