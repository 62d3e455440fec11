// KeyInteroperationTests: keys that OpenSSL generates and this package reads; keys that this
// package generates and OpenSSL reads; certificates that OpenSSL makes for this package's keys.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainServices
import Testing

@Suite struct `Keys and OpenSSL` {
    @Test(arguments: KeyForm.allCases)
    func `a key made by OpenSSL is read and written unchanged`(_ form: KeyForm) throws {
        let pair = try OpenSSLPair(form, in: OpenSSL())
        let mine = try pair.privateKey()
        #expect(try mine.external() == pair.privateBytes())
        let half = try mine.publicHalf()
        #expect(try half.external() == pair.publicBytes())
        #expect(try half == pair.publicKey())

        let label = Data(Insecure.SHA1.hash(data: try pair.publicBytes()))
        for one in [mine, half] {
            let attributes = try #require(SecKeyCopyAttributes(one) as? [String: Any])
            #expect(attributes["klbl"] as? Data == label)
            #expect((attributes["bsiz"] as? NSNumber)?.intValue == form.bits)
            #expect(SecKeyGetBlockSize(one) == form.byteCount)
        }
    }

    @Test(arguments: KeyForm.allCases)
    func `OpenSSL reads a key that this package generated`(_ form: KeyForm) throws {
        let mine = try newKey(["type": form.kind.rawValue, "bsiz": form.bits])
        let openSSL = try OpenSSL()
        let pair = try OpenSSLPair(form, mine, in: openSSL)
        #expect(try pair.privateBytes() == mine.external())
        #expect(try pair.publicBytes() == mine.publicHalf().external())
        if form.kind != .x25519, form.kind != .ed25519 {
            // Not every version of OpenSSL can check X25519 and Ed25519 keys.
            try openSSL.run(["pkey", "-in", pair.privateFile, "-check", "-noout"])
        }

        try openSSL.write(form, publicKey: mine.publicHalf(), to: "half.pub")
        #expect(
            try openSSL.contents(of: "half.pub") == openSSL.contents(of: pair.publicFile))
    }
}

@Suite struct `Certificates made by OpenSSL` {
    @Test(arguments: KeyForm.allCases.filter { $0 != .x25519 && $0 != .rsa4096 })
    func `a certificate that OpenSSL makes for a key contains that key`(_ form: KeyForm) throws {
        let openSSL = try OpenSSL()
        let mine = try newKey(["type": form.kind.rawValue, "bsiz": form.bits])
        let pair = try OpenSSLPair(form, mine, in: openSSL)
        let bytes = try openSSL.run([
            "req", "-x509", "-new", "-key", pair.privateFile, "-subj", "/CN=Interoperation",
            "-days", "2", "-outform", "DER",
        ])
        let certificate = try #require(SecCertificateCreateWithData(nil, bytes as CFData))
        let held = try #require(SecCertificateCopyKey(certificate))
        #expect(try held == mine.publicHalf())
        #expect(try held.external() == mine.publicHalf().external())
    }
}

#endif
