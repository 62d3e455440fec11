// AlgorithmMatrixTests: every algorithm with every operation on every key. Each operation works if
// and only if SecKeyIsAlgorithmSupported returns true. The exceptions are some operations of RSA
// keys, which are reported as supported but fail, see `isReportedButFails`.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

private let hashes = ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"]

/// Every algorithm identifier of Apple, without its prefix, and invalid identifiers.
private let identifiers: [String] = {
    var names = [
        "sign:RSA:raw", "sign:RSA:digest-PKCS1v15", "sign:ECDSA:digest-X962",
        "sign:ECDSA:digest-RFC4754", "sign:ECDSA:RFC4754",
        "sign:EdDSA:message-Curve25519:SHA512", "encrypt:RSA:raw", "encrypt:RSA:PKCS1",
        "keyexchange:ECDH", "keyexchange:ECDHC",
    ]
    for hash in hashes {
        for input in ["digest", "message"] {
            names.append("sign:RSA:\(input)-PKCS1v15:\(hash)")
            names.append("sign:RSA:\(input)-PSS:\(saltedName(hash))")
            names.append("sign:ECDSA:\(input)-X962:\(hash)")
            names.append("sign:ECDSA:\(input)-RFC4754:\(hash)")
        }
        names.append("encrypt:RSA:OAEP:\(hash)")
        names.append("encrypt:RSA:OAEP:\(hash):AESGCM")
        for agreement in ["ECDH", "ECDHC"] {
            names.append("keyexchange:\(agreement):KDFX963:\(hash)")
            let scheme = "encrypt:ECIES:\(agreement):KDFX963:\(hash):AESGCM"
            names.append(scheme)
            if hash != "SHA1" { names.append("\(scheme)-KDFIV") }
        }
    }
    return names + notImplemented + unknownNames
}()

private let notImplemented = [
    "sign:EdDSA:message-Curve448:SHAKE256", "sign:ML-DSA:message", "kem:kyber", "kem:ML-KEM",
]

private let unknownNames = [
    "", "sign", "sign:RSA", "sign:RSA:message-PSS:SHA256:SHA1:32", "sign:ECDSA:message-X962",
    "encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM-KDFIV", "keyexchange:ECDH:KDFX963",
    "encrypt:RSA:OAEP", "sign:RSA:digest-PKCS1v15:MD5", "SIGN:RSA:RAW",
]

private let operations: [SecKeyOperationType] = [
    .sign, .verify, .encrypt, .decrypt, .keyExchange,
]

/// A key pair, and inputs for all operations with its keys.
private struct Subject {
    let known: KnownKey
    let privateKey: SecKey
    let publicKey: SecKey
    /// The public key of the other party in a key agreement.
    let peer: SecKey

    init(_ known: KnownKey) throws {
        self.known = known
        privateKey = try known.privateKey()
        publicKey = try privateKey.publicHalf()
        peer = try known.publicKey()
    }

    /// An input of the size that the algorithm requires.
    func input(_ name: String) -> Data {
        let sizes = ["SHA1": 20, "SHA224": 28, "SHA256": 32, "SHA384": 48, "SHA512": 64]
        if name.hasSuffix(":raw") {
            return Data([0]) + Data(repeating: 0x5A, count: known.bits / 8 - 1)
        }
        guard name.contains("digest-") else { return Data("message".utf8) }
        let hash = name.split(separator: ":").dropFirst(3).first.map(String.init) ?? "SHA256"
        return Data(repeating: 0x77, count: sizes[hash] ?? 16)
    }

    /// Performs an operation with one key of the pair.
    ///
    /// - Returns: `nil` if the operation worked, or the error code.
    func code(_ operation: SecKeyOperationType, _ name: String, _ half: KeyHalf) -> Int? {
        let key = half == .privateKey ? privateKey : publicKey
        let input = input(name)
        do throws(KeyRefusal) {
            switch operation {
            case .sign: _ = try key.signature(name, input)
            case .verify:
                let signature = signature(name) ?? Data(count: 64)
                if let refusal = key.refusal(name, input, signature) { throw refusal }
            case .encrypt: _ = try key.encrypted(name, input)
            case .decrypt:
                let opened = try key.decrypted(name, sealed(name) ?? Data(count: 256))
                if half == .privateKey { #expect(opened == input, "\(known) \(name)") }
            case .keyExchange: _ = try key.agreed(name, with: peer, size: 32)
            }
            return nil
        } catch { return error.code }
    }

    private func signature(_ name: String) -> Data? {
        try? privateKey.signature(name, input(name))
    }

    private func sealed(_ name: String) -> Data? {
        try? publicKey.encrypted(name, input(name))
    }
}

/// Whether the combination is reported as supported although the operation fails, as on Apple's
/// platforms: see SecKeyIsAlgorithmSupported.
private func isReportedButFails(
    _ known: KnownKey, _ half: KeyHalf, _ operation: SecKeyOperationType, _ name: String
) -> Bool {
    guard known.kind == .rsa else { return false }
    switch (half, operation) {
    case (.privateKey, .verify): return true
    case (.publicKey, .decrypt):
        return name == "encrypt:RSA:PKCS1"
            || name.hasPrefix("encrypt:RSA:OAEP") && !name.hasSuffix("AESGCM")
    default: return false
    }
}

@Suite struct `Algorithms and keys` {
    @Test(.cases(9), arguments: KnownKey.all)
    func `an operation works if and only if it is reported as supported, with exceptions for RSA`(
        _ known: KnownKey
    ) throws {
        let subject = try Subject(known)
        var supported = 0
        var tried: Set<String> = []
        for (half, key) in [
            (KeyHalf.privateKey, subject.privateKey), (.publicKey, subject.publicKey),
        ] {
            for name in identifiers {
                for operation in operations {
                    let says = key.supports(operation, name)
                    let code = subject.code(operation, name, half)
                    let place: Comment = "\(half) \(operation) \(name): \(code ?? 0)"
                    if says, isReportedButFails(known, half, operation, name) {
                        #expect(code == -50, place)
                    } else {
                        #expect(says == (code == nil), place)
                    }
                    if !says { #expect(code == expectedCode(name), place) }
                    if says { supported += 1 }
                    tried.insert(name)
                }
            }
        }
        #expect(supported == Self.supported[known])
        #expect(tried.count == 102)
        #expect(tried.subtracting(unknownNames).count == 92)
    }

    /// The number of combinations that are reported as supported.
    ///
    /// - A private key on a NIST curve: 23 signatures, 18 decryptions and 12 agreements.
    /// - Its public key: 23 verifications and 18 encryptions.
    /// - A private RSA key: 22 signatures, 12 decryptions, and 22 verifications. All of the
    ///   verifications fail.
    /// - Its public key: 22 verifications, 12 encryptions, and 7 decryptions. Of the decryptions,
    ///   only raw RSA works.
    ///
    /// An RSA key of 1024 bits is too small for four SHA-512 algorithms: two of PSS, and OAEP with
    /// and without AES-GCM.
    private static let supported: [KnownKey: Int] = [
        .p256: 94, .p384: 94, .p521: 94, .rsa1024: 97 - 3 * 2 - 2 * 2 - 1, .rsa2048: 97,
        .rsa3072: 97, .rsa4096: 97, .ed25519: 2, .x25519: 12,
    ]

    /// The error code if an operation isn't supported: -4 for an algorithm of Apple's that this
    /// package implements for no key, otherwise -50.
    private func expectedCode(_ name: String) -> Int {
        notImplemented.contains(name) ? -4 : -50
    }
}

#endif
