// SignatureVectorTests: Wycheproof's signatures, verified by SecKeyVerifySignature.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

/// A file of signatures.
private struct SignatureFile: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: KeyKind
    /// The identifier of the algorithm for messages. HASH stands for the name of the hash. For PSS,
    /// SALTED stands for `HASH:HASH:SIZE`, with the size of the salt.
    let algorithm: String
    /// The number of tests in the file.
    let tests: Int
    /// The number of tests with a signature that this implementation accepts.
    let right: Int

    var testDescription: String { name }

    init(_ name: String, _ kind: KeyKind, _ algorithm: String, _ tests: Int, right: Int) {
        self.name = name
        self.kind = kind
        self.algorithm = algorithm
        self.tests = tests
        self.right = right
    }
}

private let files: [SignatureFile] = [
    ecdsa("secp256r1_sha256", 471, right: 170), p1363("secp256r1_sha256", 252, right: 169),
    ecdsa("secp256r1_sha512", 541, right: 239), p1363("secp256r1_sha512", 322, right: 238),
    ecdsa("secp384r1_sha384", 491, right: 190), p1363("secp384r1_sha384", 270, right: 189),
    ecdsa("secp384r1_sha512", 529, right: 227), p1363("secp384r1_sha512", 308, right: 226),
    ecdsa("secp521r1_sha512", 529, right: 228), p1363("secp521r1_sha512", 308, right: 227),
    SignatureFile(
        "ed25519", .ed25519, "sign:EdDSA:message-Curve25519:SHA512", 150, right: 88),
    pkcs1("rsa_signature_2048_sha256", 240, right: 9),
    pkcs1("rsa_signature_2048_sha512", 240, right: 8),
    pkcs1("rsa_signature_3072_sha256", 239, right: 8),
    pkcs1("rsa_signature_3072_sha512", 240, right: 8),
    pkcs1("rsa_signature_4096_sha512", 239, right: 7),
    pkcs1("rsa_signature", 377, right: 146),
    pss("rsa_pss_2048_sha1_mgf1_20", 82, right: 42),
    pss("rsa_pss_2048_sha256_mgf1_32", 103, right: 63),
    pss("rsa_pss_3072_sha256_mgf1_32", 103, right: 63),
    pss("rsa_pss_4096_sha256_mgf1_32", 103, right: 63),
    pss("rsa_pss_misc", 30, right: 5),
]

private func ecdsa(_ name: String, _ tests: Int, right: Int) -> SignatureFile {
    SignatureFile(
        "ecdsa_\(name)", .ellipticCurve, "sign:ECDSA:message-X962:HASH", tests, right: right)
}

private func p1363(_ name: String, _ tests: Int, right: Int) -> SignatureFile {
    SignatureFile(
        "ecdsa_\(name)_p1363", .ellipticCurve, "sign:ECDSA:message-RFC4754:HASH", tests,
        right: right)
}

private func pkcs1(_ name: String, _ tests: Int, right: Int) -> SignatureFile {
    SignatureFile(name, .rsa, "sign:RSA:message-PKCS1v15:HASH", tests, right: right)
}

private func pss(_ name: String, _ tests: Int, right: Int) -> SignatureFile {
    SignatureFile(name, .rsa, "sign:RSA:message-PSS:SALTED", tests, right: right)
}

/// Whether this implementation accepts the cases that an implementation may accept or refuse.
private let decisions: [String: (isRight: Bool, reason: String)] = [
    "MissingNull": (false, "RFC 8017 section 9.2, note 1: the hash parameters must be NULL"),
    "SmallPublicKey": (true, "an exponent of 3 is weak only where the padding is not checked"),
    "SmallModulus": (true, "old signatures by keys of 1024 bits or more must stay verifiable"),
    "WeakHash": (true, "Apple has identifiers with SHA-1; the caller decides which hash suffices"),
]

/// The digest size of each hash, in bytes.
private let digestSizes = ["SHA1": 20, "SHA224": 28, "SHA256": 32, "SHA384": 48, "SHA512": 64]

@Suite struct `Wycheproof's signatures` {
    @Test(.cases(22), arguments: files)
    fileprivate func `valid signatures are accepted and invalid ones refused`(
        _ file: SignatureFile
    ) throws {
        let tests = try WycheproofFile.read(file.name, values: 2).tests
        var keys: [Data: SecKey] = [:]
        var right = 0
        for test in tests {
            let known = try keys[test.key] ?? key(file.kind, .publicKey, test.key)
            keys[test.key] = known
            let isRight = verifies(test, in: file, with: known)
            #expect(isRight == Self.expected(test), "\(file.name) \(test.number)")
            if isRight { right += 1 }
        }
        #expect(tests.count == file.tests)
        #expect(right == file.right)
    }

    private static func expected(_ test: WycheproofTest) -> Bool {
        if let salt = test.settings["salt"], salt != digestSizes[test.hash].map(String.init) {
            // With Apple's algorithms the salt is as long as the digest.
            return false
        }
        switch test.result {
        case .valid: return true
        case .invalid: return false
        case .acceptable: return test.flags.allSatisfy { decisions[$0]?.isRight == true }
        }
    }

    private func verifies(
        _ test: WycheproofTest, in file: SignatureFile, with key: SecKey
    ) -> Bool {
        let name = file.algorithm.replacing("HASH", with: test.hash)
            .replacing("SALTED", with: saltedName(test.hash))
        let refusal = key.refusal(name, test.values[0], test.values[1])
        if let digest = digest(of: test.values[0], test.hash) {
            // The result is the same if the caller computes the digest.
            let other = key.refusal(
                name.replacing("message", with: "digest"), digest, test.values[1])
            #expect(other == refusal, "\(file.name) \(test.number)")
        }
        if let refusal {
            #expect([-67808, -50, -4].contains(refusal.code), "\(file.name) \(test.number)")
        }
        return refusal == nil
    }
}

private func digest(of message: Data, _ hash: String) -> Data? {
    switch hash {
    case "SHA1": Data(Insecure.SHA1.hash(data: message))
    case "SHA256": Data(SHA256.hash(data: message))
    case "SHA384": Data(SHA384.hash(data: message))
    case "SHA512": Data(SHA512.hash(data: message))
    default: nil
    }
}

#endif
