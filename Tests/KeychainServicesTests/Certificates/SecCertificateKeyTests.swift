// SecCertificateKeyTests: the public keys of certificates, and their keys' application labels.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import Testing

@testable import KeychainServices

@Suite struct SecCertificateKeyTests {
    let maker: CertificateMaker

    init() throws {
        maker = try CertificateMaker()
    }

    /// Kinds of keys, and the size of the external representation's first bytes and of all.
    @Test(
        arguments: [
            (.curve("P-256"), 65), (.curve("P-384"), 97), (.curve("P-521"), 133), (.rsa(2048), 270),
            (.ed25519, 32),
        ] as [(CertificateMaker.KeyKind, Int)])
    func `the key of a certificate is the one it was made for`(
        kind: CertificateMaker.KeyKind, byteCount: Int
    ) throws {
        let certificate = try maker.make("a", subject: "/CN=A", key: kind)
        let key = try #require(SecCertificateCopyKey(certificate))
        #expect(!key.isPrivate)
        // What OpenSSL writes of the key ends in what Apple calls the external representation.
        let info = try maker.openSSL.run(["pkey", "-in", "a.key", "-pubout", "-outform", "DER"])
        let external = try #require(key.externalData)
        #expect(external.count == byteCount)
        #expect(info.suffix(byteCount) == external)
        #expect(certificate.itemAttributes[.publicKeyHash] == .data(key.publicKeyHash))
        var trust: SecTrust?
        #expect(
            unsafe SecTrustCreateWithCertificates(certificate, nil, &trust) == errSecSuccess)
        #expect(SecTrustCopyKey(try #require(trust)) == key)
    }

    @Test(arguments: ["secp256k1", "brainpoolP256r1"])
    func `a key of an unknown curve is none`(curve: String) throws {
        let certificate = try maker.make("a", subject: "/CN=A", key: .curve(curve))
        #expect(SecCertificateCopyKey(certificate) == nil)
    }

    /// A signature by the private key in OpenSSL's hands, verified with the certificate's key.
    @Test func `the key verifies what its private half signed`() throws {
        let certificate = try maker.make("a", subject: "/CN=A")
        let message = Data("message".utf8)
        let signature = try maker.openSSL.run(
            ["dgst", "-sha256", "-sign", "a.key"], input: message)
        let key = try #require(SecCertificateCopyKey(certificate))
        var error: Unmanaged<CFError>?
        #expect(
            unsafe SecKeyVerifySignature(
                key, .ecdsaSignatureMessageX962SHA256, message as CFData, signature as CFData,
                &error))
        #expect(
            unsafe !SecKeyVerifySignature(
                key, .ecdsaSignatureMessageX962SHA256, Data("other".utf8) as CFData,
                signature as CFData, &error))
        _ = unsafe error?.takeRetainedValue()
    }
}

#endif
