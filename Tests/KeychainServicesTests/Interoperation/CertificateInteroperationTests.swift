// CertificateInteroperationTests: certificates that OpenSSL makes for keys from here.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

@Suite struct `Certificates of keys and OpenSSL` {
    @Test(arguments: KeyForm.allCases.filter { $0 != .x25519 && $0 != .rsa4096 })
    func `a certificate that OpenSSL made for a key holds that key`(_ form: KeyForm) throws {
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
