// AgreementVectorTests: Wycheproof's key agreement tests with SecKeyCopyKeyExchangeResult.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

/// A file of key agreement tests.
private struct AgreementFile: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: KeyKind
    /// Converts a private key from the form in the file to the external representation.
    let privateKey: @Sendable (Data) throws -> Data
    /// The number of tests in the file.
    let tests: Int
    /// The number of tests in which the keys agree on a secret.
    let agreeing: Int

    var testDescription: String { name }
}

private let files: [AgreementFile] = [
    AgreementFile(
        name: "ecdh_secp256r1_ecpoint", kind: .ellipticCurve,
        privateKey: {
            try P256.KeyAgreement.PrivateKey(rawRepresentation: number($0, 32)).x963Representation
        }, tests: 355, agreeing: 330),
    AgreementFile(
        name: "ecdh_secp384r1_ecpoint", kind: .ellipticCurve,
        privateKey: {
            try P384.KeyAgreement.PrivateKey(rawRepresentation: number($0, 48)).x963Representation
        }, tests: 790, agreeing: 771),
    AgreementFile(
        name: "ecdh_secp521r1_ecpoint", kind: .ellipticCurve,
        privateKey: {
            try P521.KeyAgreement.PrivateKey(rawRepresentation: number($0, 66)).x963Representation
        }, tests: 661, agreeing: 632),
    AgreementFile(
        name: "x25519", kind: .x25519, privateKey: { $0 }, tests: 518, agreeing: 487),
]

/// A number with the given byte count. Wycheproof's numbers can have additional leading zeros.
private func number(_ bytes: Data, _ count: Int) -> Data {
    let digits = bytes.drop { $0 == 0 }
    return Data(repeating: 0, count: max(0, count - digits.count)) + digits
}

/// Whether this implementation accepts the cases that an implementation may accept or refuse. If a
/// test has the flags of several entries, the first of these entries decides.
private let decisions: [(flag: String, agrees: Bool, reason: String)] = [
    ("CompressedPublic", false, "an external representation is an uncompressed point"),
    ("ZeroSharedSecret", false, "RFC 7748 section 6.1: a secret of zeros may be refused"),
    ("NonCanonicalPublic", true, "RFC 7748 section 5: non-canonical values must be accepted"),
    ("Twist", true, "RFC 7748: the Montgomery ladder accepts points on the twist"),
]

@Suite struct `Wycheproof's agreements` {
    @Test(.cases(4), arguments: files)
    fileprivate func `valid keys agree and invalid keys are refused`(_ file: AgreementFile) throws {
        let tests = try WycheproofFile.read(file.name, values: 3).tests
        var agreeing = 0
        for test in tests {
            let mine = try key(file.kind, .privateKey, file.privateKey(test.values[1]))
            let agreed = agreement(of: mine, with: test.values[0], file.kind)
            let expected = Self.expected(test) ? test.values[2] : nil
            #expect(agreed == expected, "\(file.name) \(test.number)")
            if agreed != nil { agreeing += 1 }
        }
        #expect(tests.count == file.tests)
        #expect(agreeing == file.agreeing)
    }

    private static func expected(_ test: WycheproofTest) -> Bool {
        switch test.result {
        case .valid: true
        case .invalid: false
        case .acceptable: decisions.first { test.flags.contains($0.flag) }?.agrees ?? false
        }
    }

    /// The shared secret, or `nil` if the peer's key or the agreement is refused.
    private func agreement(of mine: SecKey, with point: Data, _ kind: KeyKind) -> Data? {
        do throws(KeyRefusal) {
            let other = try key(kind, .publicKey, point)
            let agreed = try mine.agreed("keyexchange:ECDH", with: other)
            if kind == .ellipticCurve {
                // The elliptic curves have cofactor 1, so ECDHC gives the same secret as ECDH.
                #expect(try mine.agreed("keyexchange:ECDHC", with: other) == agreed)
            }
            return agreed
        } catch {
            #expect(error.code == -50)
            return nil
        }
    }
}

#endif
