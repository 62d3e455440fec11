// A device key that is sealed by hardware.

import Foundation
import KeychainCrypto
import KeychainEngine
import KeychainCore
import KeychainSQLite
import TestPrograms
import Testing

@Suite struct SealedDeviceKeyTests {
    private func options(_ hardware: (any KeyHardware)?) -> EngineOptions {
        var options = EngineOptions.testing
        options.hardware = hardware
        return options
    }

    /// A keychain with one item and a sealed device key.
    private func sealedKeychain(_ hardware: SoftwareChip) throws -> TemporaryKeychain {
        let keychain = try TemporaryKeychain(options: options(hardware))
        try addItem(keychain.engine, keychain.caller)
        try keychain.engine.sealDeviceKey()
        return keychain
    }

    private func addItem(_ engine: KeychainEngine, _ caller: AccessGroups) throws {
        _ = try engine.perform(
            AddItem(
                NewItem(
                    itemClass: .genericPassword, attributes: genericPassword("account"),
                    protection: .afterFirstUnlock, data: Data("secret".utf8))), as: caller)
    }

    private func contents(_ keychain: TemporaryKeychain) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: keychain.path(.deviceKey))))
    }

    private func write(_ bytes: [UInt8], _ keychain: TemporaryKeychain) throws {
        try StoreFolder(path: keychain.directory).withLock { lock throws(KeychainFailure) in
            try lock.write(SecretBytes(copying: bytes), to: .deviceKey)
        }
    }

    private func itemCount(_ keychain: TemporaryKeychain, _ hardware: (any KeyHardware)?) throws
        -> UInt64
    {
        let engine = try KeychainEngine.open(
            directory: keychain.directory, options: options(hardware))
        defer { engine.close() }
        return try engine.status().itemCount
    }

    @Test func `a keychain opens with the hardware that sealed its device key`() throws {
        let hardware = SoftwareChip()
        let keychain = try sealedKeychain(hardware)
        #expect(try keychain.engine.deviceKeyProtection() == .hardware)
        let before = hardware.unsealedCount
        try keychain.reopen()
        #expect(hardware.unsealedCount == before + 1)
        #expect(try keychain.engine.status().itemCount == 1)
        #expect(try keychain.engine.check().isSound)
    }

    @Test func `sealing removes the key from the file, and unsealing writes a new key`() throws {
        let hardware = SoftwareChip()
        let keychain = try TemporaryKeychain(options: options(hardware))
        let plain = try contents(keychain)
        #expect(try keychain.engine.deviceKeyProtection() == .file)
        try keychain.engine.sealDeviceKey()
        #expect(Data(try contents(keychain)).range(of: Data(plain[8..<40])) == nil)
        try keychain.engine.unsealDeviceKey()
        let unsealed = try contents(keychain)
        #expect(unsealed.count == plain.count && unsealed[8..<40] != plain[8..<40])
        #expect(try keychain.engine.deviceKeyProtection() == .file)
        // Unsealing twice is allowed, and so is sealing twice.
        try keychain.engine.unsealDeviceKey()
        try keychain.engine.sealDeviceKey()
        try keychain.engine.sealDeviceKey()
        try keychain.reopen()
    }

    @Test func `without its hardware a sealed keychain doesn't open and isn't changed`() throws {
        let keychain = try sealedKeychain(SoftwareChip())
        let before = try contents(keychain)
        #expect(status { _ = try itemCount(keychain, nil) } == .notAvailable)
        #expect(status { _ = try itemCount(keychain, SoftwareChip()) } == .invalidKeychain)
        #expect(try contents(keychain) == before)
    }

    @Test func `the device key isn't sealed if the hardware can't unseal what it sealed`() throws {
        let keychain = try TemporaryKeychain(options: options(SoftwareChip(isBroken: true)))
        let plain = try contents(keychain)
        #expect(status { try keychain.engine.sealDeviceKey() } == .notAvailable)
        #expect(try contents(keychain) == plain)
    }

    @Test func `without hardware the device key can't be sealed`() throws {
        let keychain = try TemporaryKeychain()
        let plain = try contents(keychain)
        #expect(status { try keychain.engine.sealDeviceKey() } == .unimplemented)
        #expect(try contents(keychain) == plain)
    }

    @Test func `a keychain in memory has no device key file`() throws {
        let engine = try KeychainEngine.open(
            try MemoryPlace(), options: options(SoftwareChip()))
        defer { engine.close() }
        #expect(try engine.deviceKeyProtection() == .memory)
        #expect(status { try engine.sealDeviceKey() } == .param)
        #expect(status { try engine.unsealDeviceKey() } == .param)
    }

    @Test func `any damaged byte of the sealed device key file is repaired`() throws {
        let hardware = SoftwareChip()
        let keychain = try sealedKeychain(hardware)
        let whole = try contents(keychain)
        for index in whole.indices {
            var damaged = whole
            damaged[index] ^= 1 << (index % 8)
            try write(damaged, keychain)
            #expect(try itemCount(keychain, hardware) == 1, "byte \(index)")
            #expect(try contents(keychain) == whole, "byte \(index)")
        }
        #expect(whole.count == 2 * (40 + 64))
    }

    @Test
    func `if both copies of the sealed key are damaged, opening fails and overwrites nothing`()
        throws
    {
        let hardware = SoftwareChip()
        let keychain = try sealedKeychain(hardware)
        var damaged = try contents(keychain)
        damaged[20] ^= 1
        damaged[20 + damaged.count / 2] ^= 1
        try write(damaged, keychain)
        #expect(status { _ = try itemCount(keychain, hardware) } == .invalidKeychain)
        #expect(try contents(keychain) == damaged)
    }

    @Test func `a recovery of a sealed keychain works with its hardware`() throws {
        let hardware = SoftwareChip()
        let keychain = try sealedKeychain(hardware)
        keychain.engine.close()
        let report = try KeychainEngine.recover(
            directory: keychain.directory, options: options(hardware))
        #expect(report.itemCount == 1)
        #expect(report.isComplete)
        #expect(try itemCount(keychain, hardware) == 1)
    }
}
