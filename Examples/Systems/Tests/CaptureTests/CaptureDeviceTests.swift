// The device: registered once, and its captures encrypted with a key that lasts.

import ExampleTesting
import Foundation
import Keychain
import KeychainCryptoKit
import KeychainTesting
import Testing

@testable import Capture

@Suite struct `Capture device` {
    @Test(arguments: Place.allCases)
    func `the full flow: make a key, save, load, encrypt, decrypt`(_ place: Place) throws {
        let database = place.database()
        let capture = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
        let crypto = CryptoService()
        let key = crypto.generateKey()
        try KeychainService.quiet(in: database).saveSymmetricKey(
            key, forKey: KeychainService.Account.encryptionKey)
        let sealed = try CaptureDevice(keychain: .quiet(in: database)).seal(capture)
        #expect(sealed.count == capture.count + 28)
        #expect(sealed.range(of: capture.prefix(32)) == nil)
        #expect(try crypto.decrypt(sealed, using: key) == capture)
        let later = CaptureDevice(keychain: .quiet(in: database))
        #expect(try later.open(sealed) == capture)
    }

    @Test(arguments: Place.allCases)
    func `a device is registered once, and unverified without a Secure Enclave`(
        _ place: Place
    ) throws {
        let service = place.service()
        let device = CaptureDevice(keychain: service)
        let date = Date(timeIntervalSince1970: 1_750_000_000)
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
    }

    @Test(arguments: [false, true])
    func `a device with a Secure Enclave is attested by a key in it`(isThroughSecItem: Bool) throws
    {
        let test = TestKeychain()
        test.hasSecureEnclave = true
        let service = KeychainService.quiet(
            in: isThroughSecItem ? test.secItemDatabase : test.database)
        let device = CaptureDevice(keychain: service)
        // A stored date is precise to the second.
        let date = Date(timeIntervalSince1970: 1_750_000_000)
        let state = try device.register(model: "m", hasLidar: false, at: date)
        #expect(state.attestationLevel == .secureEnclave)
        let key = try #require(
            try service.loadSecureEnclaveKey(named: CaptureDevice.attestationKeyName))
        let hash = Data(SHA256.hash(data: key.publicKey.x963Representation))
        #expect(state.attestationKeyId == hash.base64EncodedString())
        #expect(try service.loadAttestationKeyId() == state.attestationKeyId)
        #expect(try device.register(model: "other", hasLidar: true) == state)
    }

    @Test func `an attested registration that was stopped goes on with the same key`() throws {
        let test = TestKeychain()
        test.hasSecureEnclave = true
        let service = KeychainService.quiet(in: test.database)
        let device = CaptureDevice(keychain: service)
        // After the key, its identifier can't be saved.
        test.inject(.diskFull, into: .add, after: 1)
        #expect(reason { _ = try device.register(model: "m", hasLidar: false) } == .saveFailed)
        let key = try #require(
            try service.loadSecureEnclaveKey(named: CaptureDevice.attestationKeyName))
        test.removeFaults()
        let state = try device.register(model: "m", hasLidar: false)
        let hash = Data(SHA256.hash(data: key.publicKey.x963Representation))
        #expect(state.attestationKeyId == hash.base64EncodedString())
    }

    @Test func `a registration that was stopped goes on with the same identifier`() throws {
        let test = TestKeychain()
        let service = KeychainService.quiet(in: test.database)
        let device = CaptureDevice(keychain: service)
        test.inject(.diskFull, into: .add, after: 1)
        #expect(reason { _ = try device.register(model: "m", hasLidar: false) } == .saveFailed)
        let identifier = try #require(try service.loadDeviceId())
        #expect(try service.loadDeviceState() == nil)
        test.removeFaults()
        #expect(try device.register(model: "m", hasLidar: false).deviceId == identifier)
    }

    @Test(arguments: Place.allCases)
    func `opening needs the key and the whole capture`(_ place: Place) throws {
        let sealed = try CaptureDevice(keychain: place.service()).seal(Data("capture".utf8))
        let service = place.service()
        let device = CaptureDevice(keychain: service)
        #expect(reason { _ = try device.open(sealed) } == .itemNotFound)
        #expect(try service.load(forKey: KeychainService.Account.encryptionKey) == nil)
        let own = try device.seal(Data("capture".utf8))
        #expect(reason { _ = try device.open(sealed) } == .invalidData)
        #expect(reason { _ = try device.open(own.dropLast()) } == .invalidData)
        #expect(try device.open(own) == Data("capture".utf8))
    }
}
