// PinnedChipTests: a keychain is bound to the chip with which it was first used. The keychain
// detects another chip before sending a secret to that chip.

#if TPM

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import Testing

@testable import KeychainTPM

@Suite struct `The chip of a keychain` {
    private let directory = NSTemporaryDirectory() + "pinned-\(UUID().uuidString)"
    private var file: String { directory + "/storage-key" }
    private let caller = AccessGroups(["G"])

    private func inProcess<Result>(
        _ hardware: (any KeyHardware)?, isMachine: Bool = false,
        _ body: (KeychainEngine) throws -> Result
    ) throws -> Result {
        var options = EngineOptions.testing
        options.hardware = hardware
        if isMachine { options.machine = Machine(chip: hardware) }
        let engine = try KeychainEngine.open(directory: directory, options: options)
        defer { engine.close() }
        return try body(engine)
    }

    private func makeKey(_ engine: KeychainEngine) throws {
        _ = try engine.perform(
            MakeSecureEnclaveKey(
                NewSecureEnclaveKey(protection: .whenUnlocked, constraints: [])), as: caller)
    }

    private func failure(_ body: () throws -> Void) -> KeychainFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeychainFailure
        }
    }

    @Test func `a chip other than the keychain's creates no keys and gets no secrets`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let chip = try SimulatedChip()
        try inProcess(chip.module()) { try makeKey($0) }
        let other = try SimulatedChip()
        let listener = try Listener(to: other)
        defer { listener.stop() }
        let module = TrustedPlatformModule(configuration: "swtpm:path=\(listener.path)")
        let refusal = failure { try inProcess(module) { try makeKey($0) } }
        #expect(refusal?.cause == .otherMachine)
        #expect(refusal?.reason.contains("its storage key has a different name") == true)
        #expect(refusal?.reason.contains("remove \(file)") == true)
        // The other chip derived its storage key. No session was opened and no object was created.
        let commands = listener.commandCodes
        #expect(commands.contains(0x131))
        #expect(!commands.contains(0x176) && !commands.contains(0x153))
        // The original chip still works. Removing the file makes the keychain accept another chip.
        try inProcess(chip.module()) { try makeKey($0) }
        try FileManager.default.removeItem(atPath: file)
        try inProcess(other.module()) { try makeKey($0) }
        let former = failure { try inProcess(chip.module()) { try makeKey($0) } }
        #expect(former?.cause == .otherMachine)
    }

    @Test func `the chip's name is stored in a file with the documented bytes`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let chip = try SimulatedChip()
        try inProcess(chip.module()) { engine in
            #expect(!FileManager.default.fileExists(atPath: file))
            try makeKey(engine)
        }
        let names = try chip.module().identity()
        #expect(names.count == 1)
        #expect(names[0].count == 34)
        // A TPM name begins with the identifier of its hash algorithm, here SHA-256.
        #expect(names[0].prefix(2) == Data([0, 0x0B]))
        var expected = Data("KCSK".utf8) + [1, 1, 0, 1, 0, 34] + names[0]
        expected += SecretBytes(copying: Array(expected)).sha256
        #expect(try Data(contentsOf: URL(filePath: file)) == expected)
        #expect(Files.status(ofLink: file)?.mode == S_IFREG | 0o600)
    }

    @Test func `no chip is accepted if the file with the chip's name is damaged`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let chip = try SimulatedChip()
        try inProcess(chip.module()) { try makeKey($0) }
        var bytes = try Data(contentsOf: URL(filePath: file))
        for (offset, size) in [(12, bytes.count), (0, bytes.count), (5, bytes.count), (0, 0)] {
            var damaged = bytes.prefix(size)
            if size > 0 { damaged[offset] ^= 1 }
            try damaged.write(to: URL(filePath: file))
            let refusal = failure { try inProcess(chip.module()) { try makeKey($0) } }
            #expect(refusal?.cause == .damage)
            #expect(refusal?.reason.contains(file) == true)
        }
        bytes.append(0)
        try bytes.write(to: URL(filePath: file))
        #expect(failure { try inProcess(chip.module()) { try makeKey($0) } }?.cause == .damage)
    }

    @Test func `a chip is recognized by its derived or its persistent storage key`() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let chip = try SimulatedChip()
        let primary = try chip.createPrimary(unique: [1, 2, 3])
        try chip.evict(primary, StorageKey.handle)
        try chip.flush(primary)
        #expect(try chip.module().identity().count == 2)
        try inProcess(chip.module()) { try makeKey($0) }
        try chip.evict(StorageKey.handle, StorageKey.handle)
        try inProcess(chip.module()) { try makeKey($0) }
        // A persistent key that is added later isn't used and causes no error.
        let later = try chip.createPrimary(unique: [4, 5, 6])
        try chip.evict(later, StorageKey.handle)
        try chip.flush(later)
        try inProcess(chip.module()) { try makeKey($0) }
        let connection = try chip.connection()
        #expect(try connection.handles(from: 0x8000_0000, atMost: 10) == [])
        #expect(try connection.handles(from: 0x0200_0000, atMost: 10) == [])
    }

    @Test func `only the right recovery code moves a keychain to another machine's chip`()
        throws
    {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let chip = try SimulatedChip()
        let other = try SimulatedChip()
        let code = RecoveryCode.random().bytes
        try inProcess(chip.module(), isMachine: true) { engine in
            try engine.perform(ChangeSlots(.add(.recoveryCode(code))), as: caller)
            #expect(try engine.status().machine == .thisMachine)
        }
        let before = try Data(contentsOf: URL(filePath: file))
        try inProcess(other.module(), isMachine: true) { engine in
            #expect(try engine.status().machine == .otherMachine)
            let wrong = RecoveryCode.random().bytes
            #expect(
                failure {
                    try engine.perform(
                        ChangeSlots(.bind, provedBy: .recoveryCode(wrong)), as: caller)
                } != nil)
            #expect(try Data(contentsOf: URL(filePath: file)) == before)
            #expect(failure { try makeKey(engine) }?.cause == .otherMachine)
            try engine.perform(ChangeSlots(.bind, provedBy: .recoveryCode(code)), as: caller)
            try makeKey(engine)
        }
        func state(on chip: SimulatedChip) throws -> MachineState {
            try inProcess(chip.module(), isMachine: true) { try $0.status().machine }
        }
        #expect(try state(on: other) == .thisMachine)
        #expect(try state(on: chip) == .otherMachine)
    }
}

#endif
