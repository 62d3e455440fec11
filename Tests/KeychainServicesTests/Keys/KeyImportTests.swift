// KeyImportTests: SecKeyCreateWithData with bytes that aren't a key, or that are another key.
//   For any input, the result is errSecParam or a key whose external representation is the input.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import TestPrograms
import Testing

@Suite struct `Keys from bytes` {
    /// Reads bytes, and checks the result against the rule above.
    ///
    /// - Returns: Whether the bytes are a key.
    private func reads(
        _ kind: KeyKind, _ half: KeyHalf, _ data: Data,
        _ source: SourceLocation = #_sourceLocation
    ) throws -> Bool {
        do throws(KeyRefusal) {
            let read = try key(kind, half, data)
            let written = try read.external()
            #expect(written == data, "another encoding", sourceLocation: source)
            return true
        } catch {
            #expect(error.code == -50, sourceLocation: source)
            return false
        }
    }

    private func halves(of known: KnownKey) throws -> [(KeyHalf, Data)] {
        let mine = try known.privateKey()
        return [
            (.privateKey, try mine.external()), (.publicKey, try mine.publicHalf().external()),
        ]
    }

    @Test(arguments: KnownKey.all)
    func `a truncated or extended key is refused`(_ known: KnownKey) throws {
        for (half, data) in try halves(of: known) {
            #expect(try reads(known.kind, half, data))
            // Reading an RSA key takes long, so after the first 40 lengths, the test tries only one
            // length in 23.
            let isLong = data.count > 200
            for count in 0..<data.count where !isLong || count < 40 || count % 23 == 0 {
                #expect(try !reads(known.kind, half, data.prefix(count)), "\(half) \(count)")
            }
            for more in [Data([0]), Data([0xFF]), Data(count: data.count), data] {
                #expect(try !reads(known.kind, half, data + more), "\(half) and \(more.count)")
                #expect(try !reads(known.kind, half, more + data), "\(more.count) and \(half)")
            }
        }
    }

    @Test(arguments: [KnownKey.p256, .p384, .p521, .rsa1024, .rsa2048])
    func `a private key with a changed byte is refused`(_ known: KnownKey) throws {
        let data = try known.privateKey().external()
        // For a key on a curve, the test changes every byte, and for an RSA key every fifth byte.
        for position in stride(from: 0, to: data.count, by: known.kind == .rsa ? 5 : 1) {
            var changed = data
            changed[changed.startIndex + position] ^= 1 << UInt8(position % 8)
            #expect(try !reads(known.kind, .privateKey, changed), "byte \(position)")
        }
    }

    @Test(arguments: [KnownKey.p256, .p384, .p521])
    func `a point with any bit flipped is refused`(_ known: KnownKey) throws {
        let data = try known.publicKey().external()
        for bit in 0..<(data.count * 8) {
            var changed = data
            changed[changed.startIndex + bit / 8] ^= 1 << UInt8(bit % 8)
            // About half of all x coordinates belong to a point, but with another y coordinate.
            #expect(try !reads(known.kind, .publicKey, changed), "bit \(bit)")
        }
    }

    @Test(arguments: KnownKey.all)
    func `bytes with random changes are a valid key or refused`(_ known: KnownKey) throws {
        var generator = SeededGenerator(seed: 0x5EED)
        for (half, data) in try halves(of: known) {
            var refused = 0
            for _ in 0..<(known.kind == .rsa ? 40 : 200) {
                var changed = data
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    let index = Int.random(in: changed.indices, using: &generator)
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: changed[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                    case 1: changed[index] = .random(in: .min ... .max, using: &generator)
                    case 2: changed.remove(at: index)
                    default:
                        changed.insert(.random(in: .min ... .max, using: &generator), at: index)
                    }
                }
                if try !reads(known.kind, half, changed) { refused += 1 }
            }
            // Some of the inputs have more or fewer bytes than the key. These are refused.
            #expect(refused > 0, "\(half)")
        }
    }

    @Test func `random bytes are refused, except for 32 bytes as a key of Curve25519`() throws {
        var generator = SeededGenerator(seed: 0xB17E5)
        for kind in KeyKind.allCases {
            for half in KeyHalf.allCases {
                for count in 0..<200 {
                    let data = Data(
                        (0..<count).map { _ in .random(in: 0...255, using: &generator) })
                    // Any 32 bytes are a key of Curve25519.
                    let isOfCurve25519 = kind == .ed25519 || kind == .x25519
                    #expect(try reads(kind, half, data) == (isOfCurve25519 && count == 32))
                }
            }
        }
    }

    @Test func `numbers that are out of a curve's range are refused`() throws {
        for known in [KnownKey.p256, .p384, .p521] {
            let point = try known.publicKey().external()
            let size = (known.bits + 7) / 8
            for scalar in [Data(count: size), Data(repeating: 0xFF, count: size)] {
                #expect(try !reads(known.kind, .privateKey, point + scalar))
            }
            let origin = Data([4]) + Data(count: 2 * size)
            #expect(try !reads(known.kind, .publicKey, origin))
            for form in [UInt8(0), 1, 2, 3, 5, 6, 7] {
                #expect(try !reads(known.kind, .publicKey, Data([form]) + point.dropFirst()))
            }
        }
    }

    @Test(arguments: KnownKey.all)
    func `a key is refused as another type, except between Ed25519 and X25519`(_ known: KnownKey)
        throws
    {
        for (half, data) in try halves(of: known) {
            for kind in KeyKind.allCases where kind != known.kind {
                if data.count == 32, kind == .ed25519 || kind == .x25519 { continue }
                #expect(try !reads(kind, half, data))
            }
        }
    }

    @Test func `a megabyte of data is refused`() throws {
        for kind in KeyKind.allCases {
            for half in KeyHalf.allCases {
                for byte in [UInt8(0), 4, 0x30] {
                    #expect(try !reads(kind, half, Data(repeating: byte, count: 1 << 20)))
                }
            }
        }
    }

    @Test func `an RSA key in DER with lengths beyond the end or deep nesting is refused`() throws {
        let heads: [[UInt8]] = [
            [0x30, 0x80], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x85, 1, 0, 0, 0, 0],
            [0x30, 0x88, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x82, 0x01, 0x0A, 0x02, 0x82, 0xFF, 0xFF], [0x1F, 0xFF, 0xFF, 0xFF],
        ]
        for half in KeyHalf.allCases {
            for head in heads {
                #expect(try !reads(.rsa, half, Data(head)))
                #expect(try !reads(.rsa, half, Data(head) + Data(count: 300)))
            }
            let nested = Data((0..<20_000).flatMap { _ in [UInt8(0x30), 0x80] })
            #expect(try !reads(.rsa, half, nested))
        }
    }

    @Test func `an RSA key needs a modulus of at least 1024 bits and an odd exponent`() throws {
        let odd: [UInt8] = [0] + [UInt8](repeating: 0xC5, count: 256)
        let even: [UInt8] = odd.dropLast() + [0xC4]
        let negative = Array(odd.dropFirst())
        let padded: [UInt8] = [0] + odd
        let huge: [UInt8] = [0] + [UInt8](repeating: 0xC5, count: 1 << 15)
        #expect(try reads(.rsa, .publicKey, rsaPublicKey(odd, [3])))
        let wrong: [(modulus: [UInt8], exponent: [UInt8])] = [
            (even, [3]), (odd, [0]), (odd, [1]), (odd, [2]), (odd, [4]), (odd, [0x83]),
            ([0], [3]), ([1], [3]), (negative, [3]), (padded, [3]), (odd, [0, 3]),
            (Array(odd.prefix(65)), [3]), (Array(odd.prefix(128)), [3]),
            (odd, [UInt8](repeating: 0x7F, count: 9)), (odd, odd), (huge, [3]),
        ]
        for (modulus, exponent) in wrong {
            let data = rsaPublicKey(modulus, exponent)
            #expect(try !reads(.rsa, .publicKey, data), "\(modulus.count) \(exponent)")
        }
    }

    /// Values for type and class, and the error code.
    private static let dictionaries: [(attributes: [String: any Sendable], code: Int)] = [
        ([:], -50), (["type": "73"], -50), (["kcls": "0"], -50),
        (["type": "", "kcls": "0"], -50), (["type": "ec", "kcls": "0"], -50),
        (["type": "73", "kcls": "3"], -50), (["type": "73", "kcls": "-1"], -50),
        (["type": "0", "kcls": "0"], -50), (["type": "99999999999999999999", "kcls": "0"], -50),
        (["type": NSNull(), "kcls": "0"], -50), (["type": Date(), "kcls": "0"], -50),
        (["type": ["73"], "kcls": "0"], -50), (["type": Data([7]), "kcls": "0"], -50),
        (["type": "73", "kcls": "2"], -4), (["type": "107", "kcls": "0"], -4),
        (["type": "2147483649", "kcls": "2"], -4),
        (["type": "73", "kcls": "0", "tkid": "com.apple.setoken"], -4),
    ]

    @Test func `type and class of the key are required`() throws {
        let data = try KnownKey.p256.publicKey().external()
        for (attributes, code) in Self.dictionaries {
            let refusal = #expect(throws: KeyRefusal.self) {
                try answer {
                    unsafe SecKeyCreateWithData(
                        data as CFData, attributes as CFDictionary, $0.pointer)
                }
            }
            #expect(refusal?.code == code, "\(attributes)")
        }
        for (type, half) in [(73, 0), (NSNumber(value: 73), "0"), ("73", 0)] as [(Any, Any)] {
            let attributes = ["type": type, "kcls": half] as CFDictionary
            _ = try answer { unsafe SecKeyCreateWithData(data as CFData, attributes, $0.pointer) }
        }
    }

    @Test func `a new key must have one of the sizes of its type`() {
        for (type, bits) in [
            ("73", 0), ("73", 1), ("73", 192), ("73", 224), ("73", 255), ("73", 257), ("73", 520),
            ("73", 522), ("73", -256), ("73", Int.max), ("73", Int.min), ("42", 0), ("42", -1),
            ("42", 512), ("42", 1023), ("42", 1025), ("42", 8200), ("42", 1 << 20),
            ("42", Int.max), ("42", Int.min), ("105", 255), ("105", 0), ("106", 512), ("0", 256),
            ("43", 1024), ("2147483649", 256),
        ] {
            let refusal = #expect(throws: KeyRefusal.self) {
                try newKey(["type": type, "bsiz": bits])
            }
            #expect(refusal?.code == -50, "\(type) \(bits)")
        }
        for size in ["big", "", Data([1]), NSNull(), Date(), ["256"]] as [Any] {
            let refusal = #expect(throws: KeyRefusal.self) {
                try newKey(["type": "73", "bsiz": size])
            }
            #expect(refusal?.code == -50)
        }
    }
}

/// An RSAPublicKey (RFC 8017, appendix A.1.1) with any two numbers.
private func rsaPublicKey(_ modulus: [UInt8], _ exponent: [UInt8]) -> Data {
    func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var bytes = [tag]
        switch content.count {
        case ..<0x80: bytes.append(UInt8(content.count))
        case ..<0x100: bytes += [0x81, UInt8(content.count)]
        default: bytes += [0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)]
        }
        return bytes + content
    }
    return Data(element(0x30, element(0x02, modulus) + element(0x02, exponent)))
}

#endif
