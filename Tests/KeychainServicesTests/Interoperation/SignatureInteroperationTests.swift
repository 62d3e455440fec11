// SignatureInteroperationTests: signatures made by this package and verified by OpenSSL, and the
// reverse.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

private let message = Data("What one side signs, the other believes.".utf8)
private let otherMessage = Data("what one side signs, the other believes.".utf8)

/// The names of hashes in Apple's algorithm names and in OpenSSL.
private let hashes = ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"]

extension OpenSSLPair {
    private func digest(_ hash: String, _ options: [String]) -> [String] {
        ["dgst", "-\(hash.lowercased())"] + options.flatMap { ["-sigopt", $0] }
    }

    fileprivate func signature(_ hash: String, _ options: [String]) throws -> Data {
        try openSSL.run(digest(hash, options) + ["-sign", privateFile], input: message)
    }

    fileprivate func verifies(
        _ signature: Data, _ hash: String, _ options: [String]
    ) throws -> Bool {
        try openSSL.write(signature, to: "signature")
        return try openSSL.runUnchecked(
            digest(hash, options) + ["-verify", publicFile, "-signature", "signature"],
            input: message
        ).status == 0
    }

    /// Signs and verifies in both directions, with the message and with its digest.
    fileprivate func exchange(
        _ name: String, _ hash: String, _ options: [String] = [],
        encode: (Data) throws -> Data = { $0 }, decode: (Data) throws -> Data = { $0 }
    ) throws {
        let mine = try privateKey()
        let half = try publicKey()
        let digest = try openSSL.run(["dgst", "-\(hash.lowercased())", "-binary"], input: message)
        let digestName = name.replacing(":message-", with: ":digest-")

        let theirs = try encode(signature(hash, options))
        #expect(half.refusal(name, message, theirs) == nil)
        #expect(half.refusal(digestName, digest, theirs) == nil)
        #expect(half.refusal(name, otherMessage, theirs)?.code == -67808)
        for (algorithm, input) in [(name, message), (digestName, digest)] {
            let ours = try mine.signature(algorithm, input)
            #expect(try verifies(decode(ours), hash, options), "\(algorithm)")
            #expect(half.refusal(name, message, ours) == nil, "\(algorithm)")
        }
    }
}

@Suite struct `Signatures and OpenSSL` {
    @Test(arguments: KeyForm.rsa)
    func `RSA with PKCS 1 padding is compatible with OpenSSL`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        let mine = try pair.privateKey()
        for hash in hashes {
            let name = "sign:RSA:message-PKCS1v15:\(hash)"
            try pair.exchange(name, hash)
            #expect(try mine.signature(name, message) == pair.signature(hash, []))
        }
    }

    @Test(arguments: KeyForm.rsa)
    func `RSA with PSS is compatible with OpenSSL`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        let sizes = [20, 28, 32, 48, 64]
        for (hash, size) in zip(hashes, sizes) {
            let options = ["rsa_padding_mode:pss", "rsa_pss_saltlen:\(size)"]
            try pair.exchange("sign:RSA:message-PSS:\(saltedName(hash))", hash, options)
        }
    }

    @Test func `a PSS signature with an unexpected salt length is refused`() throws {
        let pair = try OpenSSLPair(.rsa2048, in: OpenSSL())
        for size in [0, 31, 33, 222] {
            let theirs = try pair.signature(
                "SHA256", ["rsa_padding_mode:pss", "rsa_pss_saltlen:\(size)"])
            let refusal = try pair.publicKey().refusal(
                "sign:RSA:message-PSS:SHA256:SHA256:32", message, theirs)
            #expect(refusal?.code == -67808, "\(size)")
        }
    }

    @Test func `RSA signatures of bytes that are not hashed are compatible with OpenSSL`() throws {
        let openSSL = try OpenSSL()
        let pair = try OpenSSLPair(.rsa2048, in: openSSL)
        let mine = try pair.privateKey()
        let padded = Data([0]) + Data((1..<256).map { UInt8($0) })
        let info = Data("any bytes".utf8)
        for (name, input, padding) in [
            ("sign:RSA:raw", padded, "-raw"), ("sign:RSA:digest-PKCS1v15", info, "-pkcs"),
        ] {
            let theirs = try openSSL.run(
                ["rsautl", "-sign", padding, "-inkey", pair.privateFile], input: input)
            #expect(try mine.signature(name, input) == theirs)
            #expect(try pair.publicKey().refusal(name, input, theirs) == nil)
            #expect(try pair.publicKey().refusal(name, info + [1], theirs) != nil)
        }
    }

    @Test(arguments: KeyForm.elliptic)
    func `ECDSA in DER and as two numbers is compatible with OpenSSL`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        for hash in hashes {
            try pair.exchange("sign:ECDSA:message-X962:\(hash)", hash)
            try pair.exchange(
                "sign:ECDSA:message-RFC4754:\(hash)", hash, encode: form.numbers,
                decode: form.structure)
        }
    }

    @Test(arguments: KeyForm.elliptic)
    func `ECDSA over a digest of any hash is compatible with OpenSSL`(_ form: KeyForm) throws {
        let openSSL = try OpenSSL()
        let pair = try OpenSSLPair(form, in: openSSL)
        let digest = try openSSL.run(["dgst", "-sha3-512", "-binary"], input: message)
        let mine = try pair.privateKey()
        for name in ["digest-X962", "digest-RFC4754", "RFC4754"] {
            let ours = try mine.signature("sign:ECDSA:\(name)", digest)
            #expect(try pair.publicKey().refusal("sign:ECDSA:\(name)", digest, ours) == nil)
            let structure = try name == "digest-X962" ? ours : form.structure(ours)
            #expect(try pair.verifies(structure, "SHA3-512", []), "\(name)")
        }
    }

    @Test func `Ed25519 is compatible with OpenSSL`() throws {
        let openSSL = try OpenSSL()
        let pair = try OpenSSLPair(.ed25519, in: openSSL)
        let name = "sign:EdDSA:message-Curve25519:SHA512"
        try openSSL.write(message, to: "message")
        let theirs = try openSSL.run([
            "pkeyutl", "-sign", "-rawin", "-inkey", pair.privateFile, "-in", "message",
        ])
        let half = try pair.publicKey()
        #expect(half.refusal(name, message, theirs) == nil)
        #expect(half.refusal(name, otherMessage, theirs)?.code == -67808)

        let ours = try pair.privateKey().signature(name, message)
        try openSSL.write(ours, to: "signature")
        try openSSL.run([
            "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", pair.publicFile,
            "-in", "message", "-sigfile", "signature",
        ])
    }
}

// MARK: - Forms of an ECDSA signature

extension KeyForm {
    /// Extracts the two numbers from a signature in DER.
    fileprivate func numbers(_ structure: Data) throws -> Data {
        switch self {
        case .p256:
            try P256.Signing.ECDSASignature(derRepresentation: structure).rawRepresentation
        case .p384:
            try P384.Signing.ECDSASignature(derRepresentation: structure).rawRepresentation
        default: try P521.Signing.ECDSASignature(derRepresentation: structure).rawRepresentation
        }
    }

    /// Encodes two numbers as a signature in DER.
    fileprivate func structure(_ numbers: Data) throws -> Data {
        switch self {
        case .p256: try P256.Signing.ECDSASignature(rawRepresentation: numbers).derRepresentation
        case .p384: try P384.Signing.ECDSASignature(rawRepresentation: numbers).derRepresentation
        default: try P521.Signing.ECDSASignature(rawRepresentation: numbers).derRepresentation
        }
    }
}

#endif
