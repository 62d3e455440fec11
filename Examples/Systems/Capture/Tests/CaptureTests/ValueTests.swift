// ValueTests: tests the typed values (keys, device states and identifiers) and the encryption of
// captures.

import CryptoKit
import Foundation
import Security
import Testing

@testable import Capture

@Suite(.freshKeychain) struct `Values` {
    private let service = KeychainService()

    @Test(arguments: [0, 1, 16, 31, 33, 64])
    func `loading a malformed key throws invalidData and keeps the stored bytes`(_ count: Int)
        throws
    {
        let bytes = Data(repeating: 7, count: count)
        try service.save(bytes, forKey: anyKey)
        #expect(throws: KeychainError.invalidData) {
            try service.loadSymmetricKey(forKey: anyKey)
        }
        #expect(throws: KeychainError.invalidData) {
            try service.loadOrMakeSymmetricKey(forKey: anyKey)
        }
        #expect(try service.load(forKey: anyKey) == bytes)
    }

    @Test(arguments: [128, 192, 512])
    func `a key that isn't 256 bits long is not saved`(_ bitCount: Int) throws {
        let key = SymmetricKey(size: SymmetricKeySize(bitCount: bitCount))
        #expect(throws: KeychainError.invalidData) {
            try service.saveSymmetricKey(key, forKey: anyKey)
        }
        #expect(throws: KeychainError.invalidData) {
            try service.saveSymmetricKey(
                key, forKey: anyKey,
                accessibility: kSecAttrAccessibleWhenUnlockedThisDeviceOnly)
        }
        #expect(try service.load(forKey: anyKey) == nil)
    }

    @Test func `a key is made only if none is stored`() throws {
        let first = try service.loadOrMakeSymmetricKey(forKey: anyKey)
        #expect(try service.loadOrMakeSymmetricKey(forKey: anyKey) == first)
        #expect(try service.loadSymmetricKey(forKey: anyKey) == first)
        #expect(
            try service.isProtected(
                forKey: anyKey, by: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly))
    }

    @Test func `a device state is stored as JSON with ISO 8601 dates`() throws {
        try service.saveDeviceState(
            DeviceState(
                deviceId: "6F1", attestationKeyId: "key", attestationLevel: .secureEnclave,
                hasLidar: true, deviceModel: "Компьютер",
                registeredAt: Date(timeIntervalSince1970: 1_750_000_000.75)))
        let stored = try #require(try service.load(forKey: "rial.device.state"))
        #expect(
            String(decoding: stored, as: UTF8.self) == """
                {"attestationKeyId":"key","attestationLevel":"secure_enclave","deviceId":"6F1",\
                "deviceModel":"Компьютер","hasLidar":true,"registeredAt":"2025-06-15T15:06:40Z"}
                """)
        try service.saveDeviceState(
            DeviceState(
                deviceId: "", attestationLevel: .unverified, hasLidar: false, deviceModel: ""))
        let second = try #require(try service.load(forKey: "rial.device.state"))
        #expect(
            String(decoding: second, as: UTF8.self) == """
                {"attestationLevel":"unverified","deviceId":"","deviceModel":"","hasLidar":false}
                """)
    }

    /// Contents that aren't a device state: text that isn't JSON, and JSON that is truncated or has
    /// the wrong structure, an unknown level or an invalid date.
    static let corrupted = [
        #"{"deviceId":"6F1""#, "[]", "", "\u{FF}",
        #"{"attestationLevel":"best","deviceId":"","deviceModel":"","hasLidar":true}"#,
        """
        {"attestationLevel":"unverified","deviceId":"","deviceModel":"","hasLidar":true,\
        "registeredAt":"yesterday"}
        """,
    ]

    @Test(arguments: corrupted)
    func `loading a corrupted device state throws decodingFailed and keeps the item`(_ text: String)
        throws
    {
        let account = KeychainService.Account.deviceState
        try service.save(Data(text.utf8), forKey: account)
        #expect(throws: KeychainError.decodingFailed) { try service.loadDeviceState() }
        #expect(throws: KeychainError.decodingFailed) {
            try CaptureDevice(keychain: service).register(model: "m", hasLidar: false)
        }
        #expect(try service.load(forKey: account) == Data(text.utf8))
        #expect(try testKeychain.items().count == 1)
    }

    @Test func `saving a value that can't be encoded stores nothing`() throws {
        struct Opaque: Encodable {
            func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
        }
        #expect(throws: KeychainError.encodingFailed) {
            try service.save(Opaque(), asJSONForKey: anyKey)
        }
        #expect(try service.load(forKey: anyKey) == nil)
    }

    @Test func `the device's identifier is stored as text, even if it is a UUID`() throws {
        #expect(try service.loadDeviceId() == nil)
        try service.saveDeviceId("device-1")
        #expect(try service.loadDeviceId() == "device-1")
        let identifier = UUID()
        try service.saveDeviceId(identifier)
        #expect(try service.loadDeviceId() == identifier.uuidString)
        #expect(try service.load(forKey: "rial.device.id") == Data(identifier.uuidString.utf8))
    }

    @Test func `the attestation key's identifier is stored as text`() throws {
        #expect(try service.loadAttestationKeyId() == nil)
        try service.saveAttestationKeyId("key-1")
        #expect(try service.loadAttestationKeyId() == "key-1")
        #expect(try service.load(forKey: "rial.attestation.keyId") == Data("key-1".utf8))
        try service.save(Data([0xFF]), forKey: "rial.attestation.keyId")
        #expect(throws: KeychainError.invalidData) { try service.loadAttestationKeyId() }
    }
}

@Suite struct `Encryption` {
    private let message = Data("capture".utf8)

    @Test func `encrypted data consists of nonce, ciphertext and tag of AES-256-GCM`() throws {
        let key = CryptoService.generateKey()
        #expect(key.bitCount == 256)
        #expect(key != CryptoService.generateKey())
        let sealed = try CryptoService.encrypt(message, using: key)
        #expect(sealed.count == 12 + 7 + 16)
        #expect(try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key) == message)
        // Each encryption uses a new nonce.
        let again = try CryptoService.encrypt(message, using: key)
        #expect(again.prefix(12) != sealed.prefix(12))
    }

    /// Test case 14 of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)": a zero key,
    /// a zero nonce and a plaintext of 16 zero bytes.
    @Test func `a known ciphertext is decrypted`() throws {
        let key = try CryptoService.keyFromData(Data(count: 32))
        let ciphertext: [UInt8] = [
            0xCE, 0xA7, 0x40, 0x3D, 0x4D, 0x60, 0x6B, 0x6E, 0x07, 0x4E, 0xC5, 0xD3, 0xBA, 0xF3,
            0x9D, 0x18,
        ]
        let tag: [UInt8] = [
            0xD0, 0xD1, 0xC8, 0xA7, 0x99, 0x99, 0x6B, 0xF0, 0x26, 0x5B, 0x98, 0xB5, 0xD4, 0x8A,
            0xB9, 0x19,
        ]
        let sealed = Data(count: 12) + ciphertext + tag
        #expect(try CryptoService.decrypt(sealed, using: key) == Data(count: 16))
    }

    @Test func `decrypting fails with altered data, truncated data or another key`() throws {
        let key = CryptoService.generateKey()
        let sealed = try CryptoService.encrypt(message, using: key)
        for index in sealed.indices {
            var altered = sealed
            altered[index] ^= 1
            #expect(throws: CryptoKitError.self) {
                try CryptoService.decrypt(altered, using: key)
            }
        }
        #expect(throws: CryptoKitError.self) {
            try CryptoService.decrypt(sealed.dropLast(), using: key)
        }
        #expect(throws: CryptoKitError.self) {
            try CryptoService.decrypt(sealed, using: CryptoService.generateKey())
        }
    }

    @Test func `a key converts to its 32 bytes and back`() throws {
        let bytes = Data(0..<32)
        let key = try CryptoService.keyFromData(bytes)
        #expect(CryptoService.keyToData(key) == bytes)
        for count in [0, 1, 31, 33] {
            #expect(throws: KeychainError.invalidData) {
                try CryptoService.keyFromData(Data(count: count))
            }
        }
    }

    @Test func `a key that isn't 256 bits long neither encrypts nor decrypts`() throws {
        let key = SymmetricKey(size: .bits128)
        #expect(throws: CryptoKitError.self) { try CryptoService.encrypt(message, using: key) }
        let combined = try #require(try AES.GCM.seal(message, using: key).combined)
        #expect(throws: CryptoKitError.self) {
            try CryptoService.decrypt(combined, using: key)
        }
    }
}
