// CaptureDeviceTests: the device is registered once, and encrypts and signs captures with
// persistent keys.

import CryptoKit
import Foundation
import KeychainTesting
import Security
import Testing

@testable import Capture

@Suite(.freshKeychain) struct `Capture device` {
    private let service = KeychainService()
    private let device = CaptureDevice()
    /// A stored date is precise to the second.
    private let date = Date(timeIntervalSince1970: 1_750_000_000)

    private var keychain: TestKeychain { get throws { try testKeychain } }

    @Test func `a capture encrypted with a saved key is decrypted with the loaded key`() throws {
        let capture = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let key = CryptoService.generateKey()
        try service.saveSymmetricKey(key, forKey: KeychainService.Account.encryptionKey)
        let sealed = try device.seal(capture)
        #expect(sealed.count == capture.count + 28)
        #expect(sealed.range(of: capture.prefix(32)) == nil)
        #expect(try CryptoService.decrypt(sealed, using: key) == capture)
        try keychain.restart()
        #expect(try CaptureDevice().open(sealed) == capture)
    }

    @Test func `a device without a Secure Enclave is registered once, as unverified`() throws {
        let state = try device.register(model: "Pi 5", hasLidar: true, at: date)
        #expect(UUID(uuidString: state.deviceId) != nil)
        #expect(state.deviceId == (try service.loadDeviceId()))
        #expect(state.attestationLevel == .unverified)
        #expect(state.attestationKeyId == nil)
        #expect(try service.loadAttestationKeyId() == nil)
        #expect(state.deviceModel == "Pi 5")
        #expect(state.hasLidar)
        #expect(state.registeredAt == date)
        #expect(try service.loadDeviceState() == state)
        #expect(try device.register(model: "other", hasLidar: false) == state)
        #expect(throws: KeychainError.secureEnclaveUnavailable) { try device.sign(Data()) }
    }

    @Test(.freshKeychainWithSecureEnclave)
    func `a device with a Secure Enclave is attested by a key in the Secure Enclave`() throws {
        let state = try device.register(model: "m", hasLidar: false, at: date)
        #expect(state.attestationLevel == .secureEnclave)
        let key = try #require(
            try service.loadSecureEnclaveKey(forKey: CaptureDevice.attestationKey))
        let hash = Data(SHA256.hash(data: try service.publicKeyData(of: key)))
        #expect(state.attestationKeyId == hash.base64EncodedString())
        #expect(try service.loadAttestationKeyId() == state.attestationKeyId)
        #expect(try device.register(model: "other", hasLidar: true) == state)
    }

    @Test(.freshKeychainWithSecureEnclave)
    func `an interrupted registration with a Secure Enclave continues with the same key`() throws {
        // After the key has been created, its identifier can't be saved.
        try keychain.inject(.diskFull, into: .add, after: 1)
        #expect(throws: KeychainError.saveFailed(errSecDiskFull)) {
            try device.register(model: "m", hasLidar: false)
        }
        let key = try #require(
            try service.loadSecureEnclaveKey(forKey: CaptureDevice.attestationKey))
        #expect(throws: KeychainError.itemNotFound) { try device.sign(Data()) }
        try keychain.removeFaults()
        let state = try device.register(model: "m", hasLidar: false)
        let hash = Data(SHA256.hash(data: try service.publicKeyData(of: key)))
        #expect(state.attestationKeyId == hash.base64EncodedString())
    }

    @Test(.freshKeychainWithSecureEnclave)
    func `if another process makes the key first, that key attests the device`() throws {
        let first = try service.createSecureEnclaveKey(forKey: CaptureDevice.attestationKey)
        let hash = Data(SHA256.hash(data: try service.publicKeyData(of: first)))
        // The first search is for the device's state. The second search doesn't find the key, as if
        // another process created the key after this search.
        try keychain.inject(
            .failure(.init(rawValue: errSecItemNotFound)), into: .search, after: 1, times: 1)
        let state = try device.register(model: "m", hasLidar: false)
        #expect(state.attestationKeyId == hash.base64EncodedString())
    }

    @Test(.freshKeychainWithSecureEnclave)
    func `a key that is deleted during a registration is reported as not found`() throws {
        try keychain.inject(
            .failure(.init(rawValue: errSecDuplicateItem)), into: .secureEnclave, times: 1)
        #expect(throws: KeychainError.itemNotFound) {
            try device.register(model: "m", hasLidar: false)
        }
        #expect(try keychain.items().isEmpty)
    }

    @Test(.freshKeychainWithSecureEnclave)
    func `if the Secure Enclave fails, the device is not registered, not even as unverified`()
        throws
    {
        try keychain.inject(.failure(.ioError), into: .secureEnclave, times: 1)
        #expect(throws: KeychainError.saveFailed(errSecIO)) {
            try device.register(model: "m", hasLidar: false)
        }
        #expect(try service.loadDeviceState() == nil)
        #expect(
            try device.register(model: "m", hasLidar: false).attestationLevel == .secureEnclave)
    }

    @Test func `an interrupted registration continues with the same identifier`() throws {
        try keychain.inject(.diskFull, into: .add, after: 1)
        #expect(throws: KeychainError.saveFailed(errSecDiskFull)) {
            try device.register(model: "m", hasLidar: false)
        }
        let identifier = try #require(try service.loadDeviceId())
        #expect(try service.loadDeviceState() == nil)
        try keychain.removeFaults()
        #expect(try device.register(model: "m", hasLidar: false).deviceId == identifier)
    }

    @Test func `all tasks that race to register get the same state`() async throws {
        let device = device
        let states = try await withThrowingTaskGroup(of: DeviceState.self) { group in
            for _ in 0..<8 {
                group.addTask { try device.register(model: "m", hasLidar: false) }
            }
            return try await group.reduce(into: [DeviceState]()) { $0.append($1) }
        }
        #expect(states.count == 8)
        #expect(Set(states).count == 1)
        #expect(states.first?.deviceId == (try service.loadDeviceId()))
    }

    @Test func `opening a capture requires its key and all of its bytes`() throws {
        let sealed = try TestKeychain().withSecItem { try device.seal(Data("capture".utf8)) }
        #expect(throws: CaptureError.encryptionKeyNotFound) { try device.open(sealed) }
        #expect(try service.load(forKey: KeychainService.Account.encryptionKey) == nil)
        let own = try device.seal(Data("capture".utf8))
        #expect(throws: CaptureError.captureNotAuthentic) { try device.open(sealed) }
        #expect(throws: CaptureError.captureNotAuthentic) { try device.open(own.dropLast()) }
        #expect(try device.open(own) == Data("capture".utf8))
    }

    @Test(.freshKeychainWithSecureEnclave)
    func `a device signs captures and verifies signatures until its key is deleted`() throws {
        let capture = Data("capture".utf8)
        #expect(throws: KeychainError.itemNotFound) { try device.sign(capture) }
        let first = try device.register(model: "m", hasLidar: false)
        let signature = try device.sign(capture)
        #expect(try device.isValidSignature(signature, for: capture))
        #expect(try !device.isValidSignature(signature, for: Data("other".utf8)))
        #expect(try !device.isValidSignature(Data([1]), for: capture))
        let sealed = try device.seal(capture)

        try device.deleteAttestationKey()
        #expect(try service.loadSecureEnclaveKey(forKey: CaptureDevice.attestationKey) == nil)
        #expect(try service.loadAttestationKeyId() == nil)
        #expect(try service.loadDeviceState() == nil)
        #expect(throws: KeychainError.itemNotFound) { try device.sign(capture) }
        #expect(throws: KeychainError.itemNotFound) {
            try device.isValidSignature(signature, for: capture)
        }
        #expect(try device.open(sealed) == capture)

        let second = try device.register(model: "m", hasLidar: false)
        #expect(second.deviceId == first.deviceId)
        #expect(second.attestationKeyId != first.attestationKeyId)
        #expect(try !device.isValidSignature(signature, for: capture))
    }

    @Test(.freshKeychainWithSecureEnclave, arguments: 0..<3)
    func `an interrupted deletion never leaves a registration whose key is deleted`(
        _ step: Int
    ) throws {
        _ = try device.register(model: "m", hasLidar: false)
        try keychain.inject(.failure(.ioError), into: .delete, after: step, times: 1)
        #expect(throws: KeychainError.deleteFailed(errSecIO)) {
            try device.deleteAttestationKey()
        }
        let hasKey =
            try service.loadSecureEnclaveKey(forKey: CaptureDevice.attestationKey) != nil
        if try service.loadDeviceState() == nil {
            // Without a registration, a remaining key isn't used to sign.
            #expect(throws: KeychainError.itemNotFound) { try device.sign(Data()) }
        } else {
            #expect(hasKey)
        }
        try device.deleteAttestationKey()
        #expect(try keychain.items().map(\.account) == ["rial.device.id"])
    }
}
