// KnownKeys: private keys of every kind for tests that don't care which. RSA keys come from
// Wycheproof's files, as making one takes a while; the others are made.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

/// A kind of key and its size.
struct KnownKey: Hashable, Sendable, CustomTestStringConvertible {
    let kind: KeyKind
    let bits: Int

    var testDescription: String { "\(kind) \(bits)" }

    static let p256 = KnownKey(kind: .ellipticCurve, bits: 256)
    static let p384 = KnownKey(kind: .ellipticCurve, bits: 384)
    static let p521 = KnownKey(kind: .ellipticCurve, bits: 521)
    static let rsa1024 = KnownKey(kind: .rsa, bits: 1024)
    static let rsa2048 = KnownKey(kind: .rsa, bits: 2048)
    static let rsa3072 = KnownKey(kind: .rsa, bits: 3072)
    static let rsa4096 = KnownKey(kind: .rsa, bits: 4096)
    static let ed25519 = KnownKey(kind: .ed25519, bits: 256)
    static let x25519 = KnownKey(kind: .x25519, bits: 256)

    static let all = [
        p256, p384, p521, rsa1024, rsa2048, rsa3072, rsa4096, ed25519, x25519,
    ]

    func privateKey() throws -> SecKey {
        guard kind == .rsa else {
            return try newKey(["type": kind.rawValue, "bsiz": bits])
        }
        return try key(.rsa, .privateKey, #require(Self.rsaKeys.get()[bits]))
    }

    func publicKey() throws -> SecKey { try privateKey().publicHalf() }

    /// The first key of each size.
    private static let rsaKeys = Result {
        Dictionary(
            try WycheproofFile.read("rsa_oaep_misc", values: 3).tests.map { ($0.bits, $0.key) },
            uniquingKeysWith: { first, _ in first })
    }
}

#endif
