// A whole keychain whose device key a chip has sealed.

#if TPM

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
@testable import KeychainTPM
import Testing

@Suite struct `A keychain that a chip has sealed` {
    private func open(
        _ directory: String, _ hardware: (any KeyHardware)?
    ) throws -> KeychainEngine {
        var options = EngineOptions.testing
        options.hardware = hardware
        return try KeychainEngine.open(directory: directory, options: options)
    }

    @Test func `it opens with this chip only, also after the chip's restart`() throws {
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

#endif
