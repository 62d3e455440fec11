// SealedKeychainTests: a whole keychain with a device key that a chip has sealed. Of the secrets
// that a chip returns, only the caller's copy may remain in the memory of this process.

#if TPM

import Crypto
import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import TestPrograms
import Testing

@testable import KeychainTPM

@Suite struct `A keychain that a chip has sealed` {
    private func open(
        _ directory: String, _ hardware: (any KeyHardware)?
    ) throws -> KeychainEngine {
        var options = EngineOptions.testing
        options.hardware = hardware
        return try KeychainEngine.open(directory: directory, options: options)
    }

    @Test func `a sealed keychain opens only with its chip, and also after the chip's restart`()
        throws
    {
        let chip = try SimulatedChip()
        let other = try SimulatedChip()
        let directory = NSTemporaryDirectory() + "sealed-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let caller = AccessGroups(["G"])

        let engine = try open(directory, chip.module())
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: [.account: .string("account")],
                    protection: .afterFirstUnlock, data: Data("secret".utf8))), as: caller)
        try engine.sealDeviceKey()
        engine.close()

        #expect(status { _ = try open(directory, nil) } == .notAvailable)
        #expect(status { _ = try open(directory, other.module()) } == .invalidKeychain)
        chip.kill()
        #expect(status { _ = try open(directory, chip.module()) } == .notAvailable)
        try chip.start()

        let again = try open(directory, chip.module())
        #expect(try again.status().itemCount == 1)
        #expect(try again.check().isSound)
        try again.unsealDeviceKey()
        again.close()
        let plain = try open(directory, nil)
        #expect(try plain.status().itemCount == 1)
        plain.close()
    }
}

/// The tests are serialized, because only one search of the memory can run at a time.
@Suite(.serialized) struct `Secrets of a chip in memory` {
    private let authorization = SecretBytes.random(byteCount: 32)

    @Test func `a shared secret is in memory only once, in the caller's copy`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let other = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        let shared = try module.sharedSecret(
            of: key.wrapped, with: other, authorization: authorization)
        let count = try Needle(shared).occurrenceCount()
        #expect(count == 1)
    }

    /// One module seals the bytes and another module unseals them, because usually one process
    /// seals and another one unseals.
    @Test func `unsealed bytes are in memory only once, in the caller's copy`() throws {
        let chip = try SimulatedChip()
        let sealed = try {
            let module = chip.module()
            return try module.seal(.random(byteCount: 32))
        }()
        let module = chip.module()
        _ = try module.makeKey(authorization: authorization)
        let secret = try module.unseal(sealed)
        let count = try Needle(secret).occurrenceCount()
        #expect(count == 1)
    }
}

#endif
