// HostNameTests: RFC 6125's rules. The rows are made after its section 6.4, and after the names
// that other implementations got wrong.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct HostNameTests {
    @Test(arguments: [
        // A name as the certificate has it, the host that was asked for, and whether they match.
        ("example.com", "example.com", true), ("example.com", "EXAMPLE.com", true),
        ("Example.COM", "example.com", true), ("example.com", "example.com.", true),
        ("example.com.", "example.com", true), ("example.com", "www.example.com", false),
        ("www.example.com", "example.com", false), ("example.com", "example.org", false),
        ("example.com", "badexample.com", false), ("localhost", "localhost", true),
        ("_sip.example.com", "_sip.example.com", true),
        ("*.example.com", "www.example.com", true), ("*.example.com", "WWW.example.com", true),
        ("*.example.com", "example.com", false), ("*.example.com", "a.b.example.com", false),
        ("*.example.com", ".example.com", false), ("*.com", "example.com", false),
        ("*", "localhost", false), ("*.", "localhost", false), ("*.*.com", "a.b.com", false),
        ("w*.example.com", "www.example.com", false), ("www.*.com", "www.example.com", false),
        ("*.example.com", "*.example.com", false), ("*.example.com", "xn--mller.example.com", true),
        ("", "", false), (".", ".", false), ("example..com", "example..com", false),
        ("example.com", "example.com\0.evil.org", false), ("exämple.com", "exämple.com", false),
        ("k.example.com", "\u{212A}.example.com", false),
        ("10.0.0.1", "10.0.0.1", false), ("*.0.0.1", "10.0.0.1", false),
    ])
    func `a name stands for one host`(pattern: String, host: String, matches: Bool) {
        let names = SecCertificate.AlternativeNames(hostNames: [pattern])
        #expect(HostName(host).isAmong(names) == matches)
    }

    @Test(arguments: [
        ("10.0.0.1", [10, 0, 0, 1] as [UInt8], true), ("10.0.0.2", [10, 0, 0, 1], false),
        ("::1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], true),
        ("[::1]", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], true),
        ("::2", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], false),
        ("10.0.0.1", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1], false),
        ("10.1", [10, 0, 0, 1], false), ("example.com", [10, 0, 0, 1], false),
        ("10.0.0.1\0.evil.org", [10, 0, 0, 1], false), ("[10.0.0.1]", [10, 0, 0, 1], false),
        ("[", [10, 0, 0, 1], false), ("[]", [10, 0, 0, 1], false),
    ])
    func `an address is compared with addresses`(host: String, address: [UInt8], matches: Bool) {
        let names = SecCertificate.AlternativeNames(addresses: [Data(address)])
        #expect(HostName(host).isAmong(names) == matches)
    }

    @Test func `one name of several is enough`() {
        let names = SecCertificate.AlternativeNames(
            emailAddresses: ["example.org"], hostNames: ["example.com", "*.example.net"])
        #expect(HostName("www.example.net").isAmong(names))
        #expect(!HostName("example.org").isAmong(names))
    }
}

#endif
