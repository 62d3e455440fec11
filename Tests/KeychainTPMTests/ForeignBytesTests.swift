// A chip refuses bytes that are not one of its keys or sealed secrets. After a refusal, no object
// stays loaded on the chip.

#if TPM

import Crypto
import Foundation
import KeychainCrypto
import KeychainCore
@testable import KeychainTPM
import Testing

@Suite struct `Foreign and damaged bytes` {
    private let authorization = SecretBytes.random(byteCount: 32)
    private let digest = Data(SHA256.hash(data: Data("digest".utf8)))

    private func expectRefusal(
        of key: Data, _ module: TrustedPlatformModule, _ comment: Comment
    ) {
        #expect(
            status {
                _ = try module.sign(digest: digest, with: key, authorization: authorization)
            } == .decode, comment)
    }

    private func expectEmptySlots(_ chip: SimulatedChip) throws {
        let connection = try chip.connection()
        // The handles of transient objects and of loaded sessions begin at these numbers.
        #expect(try connection.handles(from: 0x8000_0000, atMost: 10) == [])
        #expect(try connection.handles(from: 0x0200_0000, atMost: 10) == [])
    }

    @Test func `keys and secrets of another chip are refused`() throws {
        let chip = try SimulatedChip()
        let other = try SimulatedChip()
        let key = try chip.module().makeKey(authorization: authorization)
        let sealed = try chip.module().seal(SecretBytes(copying: [1, 2, 3]))
        expectRefusal(of: key.wrapped, other.module(), "key")
        #expect(status { _ = try other.module().unseal(sealed) } == .decode)
        do {
            _ = try other.module().unseal(sealed)
        } catch {
            #expect(error.reason.contains("Only the TPM that created a key can use it"))
            #expect(error.cause == .damage)
        }
        try expectEmptySlots(other)
    }

    @Test func `a key with a flipped bit in any byte is refused`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization).wrapped
        var count = 0
        for index in key.indices {
            var flipped = key
            flipped[index] ^= 1 << (index % 8)
            expectRefusal(of: flipped, module, "byte \(index)")
            count += 1
        }
        #expect(count > 200)
        // The many failures have left no object on the chip, and the key still works.
        try expectEmptySlots(chip)
        _ = try module.sign(digest: digest, with: key, authorization: authorization)
    }

    @Test func `a sealed secret with a flipped bit in any byte is refused`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let secret = SecretBytes.random(byteCount: 32)
        let sealed = try module.seal(secret)
        var count = 0
        for index in sealed.indices {
            var flipped = sealed
            flipped[index] ^= 1 << (index % 8)
            #expect(status { _ = try module.unseal(flipped) } == .decode, "byte \(index)")
            count += 1
        }
        #expect(count > 150)
        try expectEmptySlots(chip)
        #expect(try module.unseal(sealed).isEqual(to: secret))
    }

    @Test func `a truncated or extended key is refused`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization).wrapped
        for count in key.indices { expectRefusal(of: key.prefix(count), module, "\(count)") }
        expectRefusal(of: key + [0], module, "one more")
        expectRefusal(of: key + key, module, "twice")
        try expectEmptySlots(chip)
    }

    @Test func `the parts of two keys can't be combined`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let first = try WrappedObject(module.makeKey(authorization: authorization).wrapped, .key)
        let second = try WrappedObject(
            module.makeKey(authorization: authorization).wrapped, .key)
        let mixed = WrappedObject(
            publicArea: first.publicArea, privateArea: second.privateArea)
        expectRefusal(of: mixed.bytes, module, "mixed")
    }

    @Test func `a key isn't accepted as a sealed secret, nor a sealed secret as a key`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization).wrapped
        let sealed = try module.seal(SecretBytes(copying: [1]))
        expectRefusal(of: sealed, module, "sealed")
        #expect(status { _ = try module.unseal(key) } == .decode)
    }

    @Test func `random bytes are refused as a key`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let area = try WrappedObject(
            module.makeKey(authorization: authorization).wrapped, .key
        ).publicArea
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<100 {
            let count = Int.random(in: 0...3000)
            let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            expectRefusal(of: Data(noise), module, "noise of \(count) bytes")
            // The object begins with a valid public area, so the parser of this module accepts it,
            // and the random bytes that follow reach the TPM library and the chip.
            expectRefusal(
                of: WrappedObject(publicArea: area, privateArea: noise.sized).bytes, module,
                "private part of \(count) bytes")
        }
        try expectEmptySlots(chip)
    }

    /// The chip enforces the attributes of its objects (TPM 2.0 Library, part 1, 27.2; the bits are
    /// defined in part 2, 8.3). fixedTPM and fixedParent forbid duplicating an object to another
    /// parent. sensitiveDataOrigin states that the chip generated the secret. With userWithAuth,
    /// using an object requires its authorization value, which is empty for a sealed secret. With
    /// noDA, wrong authorizations cause no lockout.
    @Test func `the attributes of the chip's objects forbid moving the objects to another chip`()
        throws
    {
        let chip = try SimulatedChip()
        let module = chip.module()
        let fixedTPM: UInt32 = 1 << 1
        let fixedParent: UInt32 = 1 << 4
        let sensitiveDataOrigin: UInt32 = 1 << 5
        let userWithAuth: UInt32 = 1 << 6
        let noDA: UInt32 = 1 << 10
        let decrypt: UInt32 = 1 << 17
        let sign: UInt32 = 1 << 18
        let always = fixedTPM | fixedParent | userWithAuth | noDA
        // A TPM2B_PUBLIC begins with the size, the type, the hash algorithm and the attributes.
        func attributes(_ wrapped: Data) -> UInt32 {
            wrapped[6..<10].reduce(0) { $0 << 8 | UInt32($1) }
        }
        #expect(
            attributes(try module.makeKey(authorization: authorization).wrapped)
                == always | sensitiveDataOrigin | decrypt | sign)
        #expect(attributes(try module.seal(authorization)) == always)
    }
}

#endif
