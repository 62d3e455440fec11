// SecCertificateKeyTests: the public keys of certificates, and the application labels of the keys.

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

    /// Kinds of keys, and the size of their external representation.
    @Test(
        arguments: [
            (.curve("P-256"), 65), (.curve("P-384"), 97), (.curve("P-521"), 133), (.rsa(2048), 270),
            (.ed25519, 32),
        ] as [(CertificateMaker.KeyKind, Int)])
    func `a certificate returns the public key that it was made for`(
        kind: CertificateMaker.KeyKind, byteCount: Int
    ) throws {
        let certificate = try maker.make("a", subject: "/CN=A", key: kind)
        let key = try #require(SecCertificateCopyKey(certificate))
        #expect(!key.isPrivate)
        // OpenSSL's encoding of the key ends with what Apple calls the external representation.
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
    func `a key on an unknown curve isn't returned`(curve: String) throws {
        let certificate = try maker.make("a", subject: "/CN=A", key: .curve(curve))
        #expect(SecCertificateCopyKey(certificate) == nil)
    }

    /// OpenSSL signs with the private key, and the certificate's key verifies the signature.
    @Test func `a certificate's key verifies signatures of the private key`() throws {
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
