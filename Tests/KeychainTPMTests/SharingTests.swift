// Chips that are shared with other programs, restarted, or configured by their owner.

#if TPM

import Crypto
import Dispatch
import Foundation
import Glibc
import KeychainCrypto
import KeychainCore
@testable import KeychainTPM
import Synchronization
import Testing

@Suite struct `A shared chip` {
    private let authorization = SecretBytes.random(byteCount: 32)
    private let digest = SHA256.hash(data: Data("digest".utf8))

    private func expectGood(
        _ key: HardwareKey, _ module: TrustedPlatformModule
    ) throws {
        let signature = try module.sign(
            digest: Data(digest), with: key.wrapped, authorization: authorization)
        let verifier = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        #expect(
            verifier.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature), for: digest))
    }

    @Test func `the library's descriptors don't take the numbers of closed standard streams`()
        async
    {
        await #expect(processExitsWith: .success) {
            let chip = try SimulatedChip()
            for number in STDIN_FILENO...STDERR_FILENO { close(number) }
            let connection = try chip.connection()
            defer { withExtendedLifetime(connection) {} }
            // Nothing can be printed here. The exit status shows the result.
            for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) != -1 {
                throw NoSimulator(description: "\(number) is open")
            }
        }
    }

    // MARK: Restarts

    @Test func `a key works after the chip was killed and restarted`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let sealed = try module.seal(authorization)
        for _ in 0..<3 {
            chip.kill()
            #expect(
                status {
                    _ = try module.sign(
                        digest: Data(digest), with: key.wrapped, authorization: authorization)
                } == .notAvailable)
            try chip.start()
            // The module reopens the connection that the restart has broken.
            try expectGood(key, module)
            #expect(try module.unseal(sealed).isEqual(to: authorization))
            // The module reopens the connection even if no call failed between the end of the chip
            // and its restart.
            chip.kill()
            try chip.start()
            try expectGood(key, module)
        }
    }

    // MARK: Other programs

    @Test func `eight threads share one connection`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let keys = try (0..<8).map { _ in try module.makeKey(authorization: authorization) }
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            for _ in 0..<5 {
                do {
                    try expectGood(keys[index], module)
                    _ = try module.unseal(try module.seal(authorization))
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test func `three programs share a chip with three slots`() throws {
        let chip = try SimulatedChip()
        let failures = Mutex<[String]>([])
        let configuration = chip.configuration
        DispatchQueue.concurrentPerform(iterations: 3) { _ in
            // Each module has a separate connection and lock, as a separate process would.
            let module = TrustedPlatformModule(
                configuration: configuration, patience: .seconds(120))
            for _ in 0..<10 {
                do {
                    try expectGood(
                        try module.makeKey(authorization: authorization), module)
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        let connection = try chip.connection()
        #expect(try connection.handles(from: 0x8000_0000, atMost: 10) == [])
    }

    @Test func `a chip without free slots is busy, and works when slots are freed`() throws {
        let chip = try SimulatedChip()
        let module = chip.module(patience: .milliseconds(50))
        let key = try module.makeKey(authorization: authorization)
        let slots = try (0..<3).map { _ in try chip.createPrimary() }
        do {
            _ = try module.makeKey(authorization: authorization)
            Issue.record("The chip had a free slot.")
        } catch {
            #expect(error.status == .notAvailable)
            #expect(error.cause == .contention)
        }
        // One free slot is not enough.
        try chip.flush(slots[0])
        #expect(
            status {
                _ = try module.sign(
                    digest: Data(digest), with: key.wrapped, authorization: authorization)
            } == .notAvailable)
        try chip.flush(slots[1])
        try expectGood(key, module)
        // The remaining object of the other program is still loaded.
        let connection = try chip.connection()
        #expect(try connection.handles(from: 0x8000_0000, atMost: 10) == [slots[2]])
    }

    // MARK: The owner's configuration

    @Test func `a key works with and without a persistent storage key`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let before = try module.makeKey(authorization: authorization)
        let primary = try chip.createPrimary()
        try chip.evict(primary, StorageKey.handle)
        try chip.flush(primary)
        #expect(
            try ChipOperation.storageKeys(chip.connection()) == [.persistent, .derived])
        try expectGood(before, module)
        let during = try module.makeKey(authorization: authorization)
        try expectGood(during, module)
        try chip.evict(StorageKey.handle, StorageKey.handle)
        #expect(try ChipOperation.storageKeys(chip.connection()) == [.derived])
        try expectGood(before, module)
        try expectGood(during, module)
    }

    @Test
    func `a key works even if the persistent storage key differs from the derived storage key`()
        throws
    {
        let chip = try SimulatedChip()
        let module = chip.module()
        let before = try module.makeKey(authorization: authorization)
        let sealed = try module.seal(authorization)
        let primary = try chip.createPrimary(unique: [1, 2, 3])
        try chip.evict(primary, StorageKey.handle)
        try chip.flush(primary)
        try expectGood(before, module)
        #expect(try module.unseal(sealed).isEqual(to: authorization))
        let connection = try chip.connection()
        #expect(try connection.handles(from: 0x8000_0000, atMost: 10) == [])
        #expect(try connection.handles(from: 0x0200_0000, atMost: 10) == [])
    }

    @Test func `the persistent storage key is used if the chip has an owner password`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let primary = try chip.createPrimary()
        try chip.evict(primary, StorageKey.handle)
        try chip.flush(primary)
        let key = try module.makeKey(authorization: authorization)
        try chip.setOwnerPassword("secret")
        try expectGood(key, module)
    }

    @Test func `an error blames the owner password if no storage key is persistent`() throws {
        let chip = try SimulatedChip()
        try chip.setOwnerPassword("secret")
        do {
            _ = try chip.module().makeKey(authorization: authorization)
            Issue.record("The storage key was derived.")
        } catch {
            #expect(error.status == .notAvailable)
            #expect(error.reason.contains("password"))
        }
    }
}

#endif
