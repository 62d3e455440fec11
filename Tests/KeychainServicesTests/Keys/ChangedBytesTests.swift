// ChangedBytesTests: signatures and ciphertexts with changed, missing or additional bytes.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

private let message = Data("a message".utf8)

/// An algorithm and a key that supports it.
private struct Algorithm: Sendable, CustomTestStringConvertible {
    let known: KnownKey
    let name: String

    var testDescription: String { "\(known) \(name)" }

    init(_ known: KnownKey, _ name: String) {
        self.known = known
        self.name = name
    }
}

private let signatures: [Algorithm] = [
    Algorithm(.p256, "sign:ECDSA:message-X962:SHA256"),
    Algorithm(.p384, "sign:ECDSA:message-RFC4754:SHA384"),
    Algorithm(.p521, "sign:ECDSA:message-X962:SHA512"),
    Algorithm(.rsa1024, "sign:RSA:message-PKCS1v15:SHA1"),
    Algorithm(.rsa2048, "sign:RSA:message-PKCS1v15:SHA224"),
    Algorithm(.rsa2048, "sign:RSA:message-PSS:\(saltedName("SHA256"))"),
    Algorithm(.rsa2048, "sign:RSA:message-PSS:\(saltedName("SHA224"))"),
    Algorithm(.ed25519, "sign:EdDSA:message-Curve25519:SHA512"),
]

private let ciphertexts: [Algorithm] = [
    Algorithm(.p256, "encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM"),
    Algorithm(.p384, "encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV"),
    Algorithm(.p521, "encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV"),
    Algorithm(.rsa1024, "encrypt:RSA:OAEP:SHA1"),
    Algorithm(.rsa2048, "encrypt:RSA:OAEP:SHA512"),
    Algorithm(.rsa2048, "encrypt:RSA:OAEP:SHA224:AESGCM"),
]

/// Variants of `bytes` that differ in one bit, in length, or completely.
private func changed(_ bytes: Data, every step: Int) -> [Data] {
    var result = stride(from: 0, to: bytes.count, by: step).map { position in
        var copy = bytes
        copy[copy.startIndex + position] ^= 1 << UInt8(position % 8)
        return copy
    }
    result += stride(from: 0, to: bytes.count, by: step).map { bytes.prefix($0) }
    result += [
        bytes.dropFirst(), bytes + [0], [0] + bytes, bytes + bytes, Data(count: bytes.count),
        Data(repeating: 0xFF, count: bytes.count), Data(count: 1 << 20),
    ].map { Data($0) }
    return result
}

@Suite struct `Changed bytes` {
    @Test(arguments: signatures)
    fileprivate func `a changed signature is refused`(_ algorithm: Algorithm) throws {
        let mine = try algorithm.known.privateKey()
        let half = try mine.publicHalf()
        let signature = try mine.signature(algorithm.name, message)
        #expect(half.refusal(algorithm.name, message, signature) == nil)
        for other in changed(signature, every: algorithm.known.kind == .rsa ? 7 : 1) {
            let refusal = half.refusal(algorithm.name, message, other)
            #expect(refusal?.code == -67808, "\(other.count) bytes")
        }
        if algorithm.known.kind != .rsa {
            let stranger = try algorithm.known.publicKey()
            let refusal = stranger.refusal(algorithm.name, message, signature)
            #expect(refusal?.code == -67808)
        }
    }

    @Test(arguments: ciphertexts)
    fileprivate func `a changed ciphertext is refused`(_ algorithm: Algorithm) throws {
        let mine = try algorithm.known.privateKey()
        let sealed = try mine.publicHalf().encrypted(algorithm.name, message)
        #expect(try mine.decrypted(algorithm.name, sealed) == message)
        for other in changed(sealed, every: algorithm.known.kind == .rsa ? 7 : 1) {
            let refusal = #expect(throws: KeyRefusal.self) {
                try mine.decrypted(algorithm.name, other)
            }
            #expect(refusal?.code == -50, "\(other.count) bytes")
        }
    }

    /// If (r, s) is a valid ECDSA signature, so is (r, n - s). This is a known property of ECDSA.
    /// The test shows that similar changes of the two numbers are refused.
    @Test
    func `an ECDSA signature is still valid if n - s replaces s, but not after similar changes`()
        throws
    {
        let mine = try KnownKey.p256.privateKey()
        let half = try mine.publicHalf()
        let name = "sign:ECDSA:message-RFC4754:SHA256"
        let signature = try mine.signature(name, message)
        let r = Array(signature.prefix(32))
        let s = Array(signature.suffix(32))
        #expect(half.refusal(name, message, Data(r + (order - s))) == nil)
        for numbers in [(order - r) + s, s + r, (order - r) + (order - s)] {
            #expect(half.refusal(name, message, Data(numbers))?.code == -67808)
        }
        let zero = [UInt8](repeating: 0, count: 32)
        for numbers in [zero + zero, r + zero, zero + s, r + order, order + s, order + order] {
            #expect(half.refusal(name, message, Data(numbers))?.code == -67808)
        }
    }

    /// An RSA signature is a number below the modulus. Adding the modulus, where the result fits,
    /// must not give another valid signature.
    @Test(arguments: ["message-PKCS1v15:SHA256", "message-PKCS1v15:SHA224", "digest-PKCS1v15"])
    func `an RSA signature plus the modulus is refused`(_ family: String) throws {
        let mine = try KnownKey.rsa2048.privateKey()
        let half = try mine.publicHalf()
        let name = "sign:RSA:\(family)"
        // An RSAPublicKey has a header of 9 bytes, and then the modulus.
        let modulus = Array(try half.external().dropFirst(9).prefix(256))
        var tried = 0
        for count in 0..<64 {
            let input = message + [UInt8(count)]
            let signature = Array(try mine.signature(name, input))
            let (twin, overflow) = sum(signature, modulus)
            guard !overflow else { continue }
            #expect(half.refusal(name, input, Data(signature)) == nil)
            #expect(half.refusal(name, input, Data(twin))?.code == -67808)
            tried += 1
        }
        #expect(tried > 0)
    }

    @Test func `a message of 16 MiB is signed and encrypted`() throws {
        let large = Data(repeating: 0xA5, count: 16 << 20)
        let mine = try KnownKey.p256.privateKey()
        let half = try mine.publicHalf()
        let name = "sign:ECDSA:message-X962:SHA256"
        #expect(half.refusal(name, large, try mine.signature(name, large)) == nil)
        let box = "encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM"
        #expect(try mine.decrypted(box, half.encrypted(box, large)) == large)
    }

    @Test func `an empty message is signed and encrypted`() throws {
        for algorithm in signatures {
            let mine = try algorithm.known.privateKey()
            let signature = try mine.signature(algorithm.name, Data())
            #expect(try mine.publicHalf().refusal(algorithm.name, Data(), signature) == nil)
        }
        for algorithm in ciphertexts {
            let mine = try algorithm.known.privateKey()
            let sealed = try mine.publicHalf().encrypted(algorithm.name, Data())
            #expect(try mine.decrypted(algorithm.name, sealed).isEmpty)
        }
    }

    @Test func `shared information or a requested size of a wrong type is refused`() throws {
        let mine = try KnownKey.p256.privateKey()
        let other = try KnownKey.p256.publicKey()
        let name = algorithm("keyexchange:ECDH:KDFX963:SHA256")
        for (key, value) in [
            ("sharedInfo", "text"), ("sharedInfo", 1), ("sharedInfo", NSNull()),
            ("requestedSize", "many"), ("requestedSize", Data([32])), ("requestedSize", NSNull()),
        ] as [(String, Any)] {
            var parameters: [String: Any] = ["requestedSize": 32]
            parameters[key] = value
            let refusal = #expect(throws: KeyRefusal.self) {
                try answer {
                    unsafe SecKeyCopyKeyExchangeResult(
                        mine, name, other, parameters as CFDictionary, $0.pointer)
                }
            }
            #expect(refusal?.code == -50, "\(key) \(value)")
        }
    }
}

// MARK: - Numbers

/// The order of P-256 (SP 800-186, section 3.2.1.3).
private let order: [UInt8] = [
    0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
]

/// The difference of two numbers of the same size. `a` must be the larger number.
private func - (a: [UInt8], b: [UInt8]) -> [UInt8] {
    var borrow = 0
    return zip(a, b).reversed().map { a, b in
        let difference = Int(a) - Int(b) - borrow
        borrow = difference < 0 ? 1 : 0
        return UInt8(truncatingIfNeeded: difference)
    }.reversed()
}

/// The sum of two numbers of the same size, and the carry.
private func sum(_ a: [UInt8], _ b: [UInt8]) -> ([UInt8], Bool) {
    var carry = 0
    let sum = zip(a, b).reversed().map { a, b in
        let sum = Int(a) + Int(b) + carry
        carry = sum >> 8
        return UInt8(truncatingIfNeeded: sum)
    }
    return (sum.reversed(), carry != 0)
}

#endif
