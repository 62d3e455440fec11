// Operations of the TPM on keys and secrets, compared with the crypto library.

#if TPM

import Crypto
import Foundation
import KeychainCrypto
import KeychainCore
@testable import KeychainTPM
import Testing

@Suite struct `Trusted platform module` {
    private let authorization = SecretBytes.random(byteCount: 32)

    @Test func `a signature verifies with the public key, and only for its digest`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let digest = SHA256.hash(data: Data("hello".utf8))
        let signature = try module.sign(
            digest: Data(digest), with: key.wrapped, authorization: authorization)
        #expect(signature.count == 64)
        let verifier = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: signature)
        #expect(verifier.isValidSignature(parsed, for: digest))
        #expect(!verifier.isValidSignature(parsed, for: SHA256.hash(data: Data("hallo".utf8))))
    }

    @Test func `every created key is different`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let keys = try (0..<4).map { _ in try module.makeKey(authorization: authorization) }
        #expect(Set(keys.map(\.publicKey)).count == 4)
    }

    @Test func `a shared secret is the same on both sides`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let publicKey = try P256.KeyAgreement.PublicKey(x963Representation: key.publicKey)
        for _ in 0..<4 {
            let other = P256.KeyAgreement.PrivateKey()
            let ours = try module.sharedSecret(
                of: key.wrapped, with: other.publicKey.x963Representation,
                authorization: authorization)
            let theirs = try other.sharedSecretFromKeyAgreement(with: publicKey)
            // SAFETY: the bytes are copied within the call.
            let expected = unsafe theirs.withUnsafeBytes { unsafe Array($0) }
            #expect(bytes(ours) == expected)
        }
    }

    @Test(arguments: [1, 2, 31, 32, 33, 127, 128])
    func `sealed bytes can be unsealed`(_ count: Int) throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let secret = SecretBytes.random(byteCount: count)
        let sealed = try module.seal(secret)
        #expect(try module.unseal(sealed).isEqual(to: secret))
        #expect(sealed.range(of: Data(bytes(secret))) == nil || count < 4)
    }

    @Test(arguments: [0, 129, 4096])
    func `zero bytes or more than 128 bytes can't be sealed`(_ count: Int) throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        #expect(
            status {
                _ = try module.seal(SecretBytes(copying: [UInt8](repeating: 1, count: count)))
            }
                == .param)
    }

    /// A TPM removes trailing zeros from authorization values (TPM 2.0 Library, part 1, 19.6.4.3),
    /// so tpm2-tss must do the same.
    @Test(arguments: [0, 1, 8, 31, 32])
    func `an authorization value may end with zeros`(_ zeros: Int) throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let authorization = SecretBytes(
            copying: [UInt8](repeating: 7, count: 32 - zeros)
                + [UInt8](repeating: 0, count: zeros))
        let key = try module.makeKey(authorization: authorization)
        let digest = SHA256.hash(data: Data())
        let signature = try module.sign(
            digest: Data(digest), with: key.wrapped, authorization: authorization)
        let verifier = try P256.Signing.PublicKey(x963Representation: key.publicKey)
        #expect(
            verifier.isValidSignature(
                try P256.Signing.ECDSASignature(rawRepresentation: signature), for: digest))
    }

    @Test func `repeated wrong authorizations are refused and lock nothing`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let digest = Data(SHA256.hash(data: Data()))
        let other = P256.KeyAgreement.PrivateKey().publicKey.x963Representation
        for _ in 0..<5 {
            let wrong = SecretBytes.random(byteCount: 32)
            #expect(
                status {
                    _ = try module.sign(
                        digest: digest, with: key.wrapped, authorization: wrong)
                } == .decode)
            #expect(
                status {
                    _ = try module.sharedSecret(
                        of: key.wrapped, with: other, authorization: wrong)
                } == .decode)
        }
        _ = try module.sign(digest: digest, with: key.wrapped, authorization: authorization)
    }

    @Test(arguments: [0, 16, 31, 33, 64])
    func `an authorization value must have 32 bytes`(_ count: Int) throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let wrong = SecretBytes(copying: [UInt8](repeating: 1, count: count))
        let key = try module.makeKey(authorization: authorization)
        #expect(status { _ = try module.makeKey(authorization: wrong) } == .param)
        #expect(
            status {
                _ = try module.sign(
                    digest: Data(count: 32), with: key.wrapped, authorization: wrong)
            } == .param)
    }

    @Test(arguments: [0, 20, 31, 33, 48, 64])
    func `a digest must have 32 bytes`(_ count: Int) throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        #expect(
            status {
                _ = try module.sign(
                    digest: Data(count: count), with: key.wrapped, authorization: authorization)
            } == .param)
    }

    @Test func `a public key that isn't a point on the curve isn't sent to the chip`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let good = P256.KeyAgreement.PrivateKey().publicKey
        var offCurve = good.x963Representation
        offCurve[64] ^= 1
        let bad: [Data] = [
            Data(), Data([4]), Data(count: 65), Data([4]) + Data(count: 64), offCurve,
            good.x963Representation.dropLast(), good.x963Representation + [0],
            good.compressedRepresentation, good.derRepresentation,
            P384.KeyAgreement.PrivateKey().publicKey.x963Representation,
            Data([5]) + good.rawRepresentation,
        ]
        // The chip isn't running, so it can't have refused the point.
        chip.kill()
        for point in bad {
            #expect(
                status {
                    _ = try module.sharedSecret(
                        of: key.wrapped, with: point, authorization: authorization)
                } == .param, "\(point.count) bytes")
        }
    }

    @Test func `data slices that don't start at index 0 are accepted`() throws {
        let chip = try SimulatedChip()
        let module = chip.module()
        let key = try module.makeKey(authorization: authorization)
        let wrapped = (Data([1, 2, 3]) + key.wrapped).dropFirst(3)
        let digest = (Data([9]) + Data(SHA256.hash(data: Data()))).dropFirst()
        let signature = try module.sign(
            digest: digest, with: wrapped, authorization: authorization)
        #expect(
            try P256.Signing.PublicKey(x963Representation: key.publicKey).isValidSignature(
                P256.Signing.ECDSASignature(rawRepresentation: signature),
                for: SHA256.hash(data: Data())))
        let other = P256.KeyAgreement.PrivateKey()
        let point = (Data([9]) + other.publicKey.x963Representation).dropFirst()
        let ours = try module.sharedSecret(
            of: wrapped, with: point, authorization: authorization)
        let theirs = try other.sharedSecretFromKeyAgreement(
            with: P256.KeyAgreement.PublicKey(x963Representation: key.publicKey))
        // SAFETY: the bytes are copied within the call.
        let expected = unsafe theirs.withUnsafeBytes { unsafe Array($0) }
        #expect(bytes(ours) == expected)
    }

    @Test func `the name of a module states that its chip is simulated`() throws {
        let chip = try SimulatedChip()
        let name = chip.module().name
        #expect(name.contains("simulated"))
        #expect(name.contains("IBM"))
        #expect(chip.module().failure == nil)
        chip.kill()
        #expect(chip.module().name == "TPM 2.0")
        #expect(chip.module().failure?.status == .notAvailable)
    }
}

#endif
