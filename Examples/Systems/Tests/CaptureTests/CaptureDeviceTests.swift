// The device: registered once, and its captures encrypted with a key that lasts.

import ExampleTesting
import Foundation
import Keychain
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
