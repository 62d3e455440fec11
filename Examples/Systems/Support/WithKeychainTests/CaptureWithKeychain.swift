// A part of Capture's storage layer, written with Keychain: the last code block of Capture's
// README.

import CryptoKit
import Foundation
import Keychain

struct DeviceState: Codable, Equatable, Sendable {
    var deviceId: String
    var attestationKeyId: String?
    var hasLidar: Bool
    var registeredAt: Date?
}

extension KeychainKey where Value == SymmetricKey {
    static var encryptionKey: Self { Self("rial.encryption.key", size: .bits256) }
}

extension KeychainKey where Value == DeviceState {
    static var deviceState: Self { Self("rial.device.state") }  // JSON with ISO 8601 dates
}

struct CaptureKeys {
    var keychain = Keychain(service: "app.rial.keychain")

    func seal(_ photo: Data) throws -> AES.GCM.SealedBox {
        // If several processes create the key at once, all receive the same one.
        let key = try keychain.load(.encryptionKey, orAdd: { SymmetricKey(size: .bits256) })
        return try AES.GCM.seal(photo, using: key)
    }

    func open(_ sealed: AES.GCM.SealedBox) throws -> Data? {
        guard let key = try keychain.load(.encryptionKey) else { return nil }
        return try AES.GCM.open(sealed, using: key)
    }

    func sign(_ photo: Data) throws -> P256.Signing.ECDSASignature {
        let name = "rial.attestation.key"
        let key =
            try keychain.loadSecureEnclaveKey(name) ?? keychain.createSecureEnclaveKey(name)
        return try key.signature(for: photo)
    }
}

import ExampleTesting
import KeychainTesting
import Testing

@Suite struct `Capture with Keychain` {
    private let test = TestKeychain()
    private let photo = Data("photo".utf8)

    private func keys(in test: TestKeychain) -> CaptureKeys {
        CaptureKeys(keychain: Keychain(service: "app.rial.keychain", in: test.database))
    }

    @Test func `the README shows the tested snippet`() throws {
        try expectSnippet(inReadmeOf: "Capture")
    }

    @Test func `a photo sealed in one launch opens in the next launch, but not on another device`()
        throws
    {
        let strange = try AES.GCM.SealedBox(combined: Data(count: 40))
        #expect(try keys(in: test).open(strange) == nil)
        #expect(try test.items().isEmpty)
        let sealed = try keys(in: test).seal(photo)
        try test.restart()
        #expect(try keys(in: test).open(sealed) == photo)
        #expect(try keys(in: TestKeychain()).open(sealed) == nil)
        let item = try #require(try test.items().first)
        #expect(item.service == "app.rial.keychain" && item.account == "rial.encryption.key")
        #expect(item.accessibility == .afterFirstUnlockThisDeviceOnly)
    }

    @Test func `a device state loads as saved, and a load keeps a stored value of another type`()
        throws
    {
        let keychain = keys(in: test).keychain
        let state = DeviceState(
            deviceId: "6F1", hasLidar: true,
            registeredAt: Date(timeIntervalSince1970: 1_750_000_000))
        try keychain.save(state, for: .deviceState)
        #expect(try keychain.load(.deviceState) == state)
        try keychain.save("not a state", for: KeychainKey("rial.device.state"))
        #expect(throws: KeychainError.self) { try keychain.load(.deviceState) }
        #expect(try keychain.load(KeychainKey<String>("rial.device.state")) == "not a state")
    }

    @Test func `a Secure Enclave key signs, and without the hardware no key is created`() throws {
        #expect(throws: KeychainError.self) { try keys(in: test).sign(photo) }
        #expect(try test.items().isEmpty)
        test.hasSecureEnclave = true
        let signature = try keys(in: test).sign(photo)
        try test.restart()
        _ = try keys(in: test).sign(photo)
        let key = try #require(
            try keys(in: test).keychain.loadSecureEnclaveKey("rial.attestation.key"))
        #expect(key.publicKey.isValidSignature(signature, for: photo))
        #expect(try test.items().count == 1)
    }
}
