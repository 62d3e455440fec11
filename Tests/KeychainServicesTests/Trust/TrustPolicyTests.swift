// TrustPolicyTests: policies, their properties, and their requirements for certificates. The test
// arguments for host names are from RFC 6125, section 6.4, and from known errors of other
// implementations.

#if !canImport(Darwin)

import Foundation
import Testing

@testable import KeychainServices

@Suite struct TrustPolicyTests {
    let made: TrustFixtures

    init() throws {
        made = try TrustFixtures.shared.get()
    }

    private func judgeServer(_ host: String?) -> Int? {
        judge(
            [made.server, made.intermediate], anchors: [made.root],
            SecPolicyCreateSSL(true, host as CFString?))?.code
    }

    @Test(
        arguments: [
            (nil, nil), ("www.example.com", nil), ("WWW.EXAMPLE.COM", nil),
            ("a.wild.example.com", nil), ("10.0.0.1", nil),
            ("example.com", errSecHostNameMismatch), ("wild.example.com", errSecHostNameMismatch),
            ("a.b.wild.example.com", errSecHostNameMismatch), ("10.0.0.2", errSecHostNameMismatch),
            // The common name in the certificate is ignored.
            ("common.example.com", errSecHostNameMismatch), ("", errSecHostNameMismatch),
        ] as [(String?, OSStatus?)])
    func `a server's certificate must have the requested name`(host: String?, status: OSStatus?) {
        #expect(judgeServer(host) == status.map { Int($0) })
    }

    @Test func `extended key usages restrict a certificate to the purposes they name`() throws {
        let mail = try #require(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, nil))
        let policies: [(SecPolicy, SecCertificate)] = [
            (SecPolicyCreateSSL(true, nil), made.server),
            (SecPolicyCreateSSL(false, nil), made.client), (mail, made.mail),
        ]
        for (policy, good) in policies {
            for certificate in [made.server, made.client, made.mail] {
                let error = judge([certificate, made.intermediate], anchors: [made.root], policy)
                #expect((error == nil) == (certificate == good), "\(policy) \(certificate)")
            }
        }
        #expect(
            judge([made.client, made.intermediate], anchors: [made.root], policies[0].0)?.code
                == Int(errSecSSLBadExtendedKeyUsage))
        #expect(
            judge([made.client, made.intermediate], anchors: [made.root], mail)?.code
                == Int(errSecSMIMEBadExtendedKeyUsage))
    }

    @Test
    func `a certificate without extended key usage is valid for clients and mail, not servers`()
        throws
    {
        let plain = try made.maker.make("plain", subject: "/CN=Plain", issuer: "root")
        let mail = try #require(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, nil))
        let anchors = [made.root]
        #expect(judge([plain], anchors: anchors, SecPolicyCreateSSL(false, nil)) == nil)
        #expect(judge([plain], anchors: anchors, mail) == nil)
        #expect(
            judge([plain], anchors: anchors, SecPolicyCreateSSL(true, nil))?.code
                == Int(errSecSSLBadExtendedKeyUsage))
    }

    /// The arguments are the extended key usages of an intermediate authority, and the policies
    /// that accept a leaf from this authority. The leaf itself permits every purpose.
    @Test(arguments: [
        ("emailProtection", ["basic", "mail"]), ("serverAuth", ["basic", "server"]),
        ("clientAuth,emailProtection", ["basic", "client", "mail"]),
        ("anyExtendedKeyUsage", ["basic", "client", "mail", "server"]),
        ("DER:0500", ["basic"]),
    ])
    func `an authority can issue only for its own extended key usages`(
        usage: String, policies: [String]
    ) throws {
        let maker = try CertificateMaker()
        let root = try maker.make("r", subject: "/CN=R", extensions: CertificateMaker.authority)
        let limited = try maker.make(
            "l", subject: "/CN=L", issuer: "r",
            extensions: CertificateMaker.authority + ["extendedKeyUsage=\(usage)"])
        let leaf = try maker.make(
            "e", subject: "/CN=E", issuer: "l",
            extensions: ["extendedKeyUsage=serverAuth,clientAuth,emailProtection"])
        let all = [
            "basic": SecPolicyCreateBasicX509(), "server": SecPolicyCreateSSL(true, nil),
            "client": SecPolicyCreateSSL(false, nil),
            "mail": try #require(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, nil)),
        ]
        for (name, policy) in all {
            let error = judge([leaf, limited], anchors: [root], policy)
            let expected = policies.contains(name) ? nil : Int(errSecInvalidExtendedKeyUsage)
            #expect(error?.code == expected, "\(name)")
            // An authority that is itself an anchor isn't restricted by its extended key usages.
            #expect(judge([leaf], anchors: [limited], policy) == nil, "\(name)")
        }
    }

    @Test(
        arguments: [
            ("alice@EXAMPLE.com", nil), ("Alice@example.com", nil),
            ("bob@example.com", errSecSMIMEEmailAddressesNotFound),
        ] as [(String, OSStatus?)])
    func `a mail certificate must have the requested address`(address: String, status: OSStatus?)
        throws
    {
        let policy = try #require(
            SecPolicyCreateWithProperties(
                kSecPolicyAppleSMIME, [kSecPolicyName: address] as CFDictionary))
        #expect(
            judge([made.mail, made.intermediate], anchors: [made.root], policy)?.code
                == status.map { Int($0) })
    }

    @Test
    func `a mail certificate whose key usage allows neither signing nor encryption is refused`()
        throws
    {
        let odd = try made.maker.make(
            "crl", subject: "/CN=Lists", issuer: "root", extensions: ["keyUsage=cRLSign"])
        let policy = try #require(SecPolicyCreateWithProperties(kSecPolicyAppleSMIME, nil))
        #expect(
            judge([odd], anchors: [made.root], policy)?.code == Int(errSecSMIMEBadKeyUsage))
    }

    @Test(
        arguments: [(825, nil), (826, errSecCertificateValidityPeriodTooLong)] as [(Int, OSStatus?)]
    )
    func `a server certificate with a validity of more than 825 days is refused`(
        days: Int, status: OSStatus?
    ) throws {
        let server = try made.maker.make(
            "long\(days)", subject: "/CN=Long", issuer: "root",
            extensions: CertificateMaker.server("DNS:a.example.com"), days: days)
        #expect(
            judge([server], anchors: [made.root], SecPolicyCreateSSL(true, nil))?.code
                == status.map { Int($0) })
    }

    @Test func `RSA keys need at least 2048 bits`() throws {
        let weak = try made.maker.make(
            "weak", subject: "/CN=Weak", issuer: "root",
            extensions: CertificateMaker.server("DNS:a.example.com"), key: .rsa(1024))
        for anchors in [[made.root], [weak]] {
            #expect(judge([weak], anchors: anchors)?.code == Int(errSecUnsupportedKeySize))
        }
    }

    @Test func `SHA-1 signatures are refused for TLS servers`() throws {
        try made.maker.make(
            "rsaroot", subject: "/CN=RSA", extensions: CertificateMaker.authority, key: .rsa(2048))
        let root = try made.maker.certificate("rsaroot")
        let old = try made.maker.make(
            "sha1", subject: "/CN=Old", issuer: "rsaroot",
            extensions: CertificateMaker.server("DNS:a.example.com"), arguments: ["-sha1"])
        #expect(judge([old], anchors: [root]) == nil)
        #expect(
            judge([old], anchors: [root], SecPolicyCreateSSL(true, nil))?.code
                == Int(errSecInvalidDigestAlgorithm))
    }

    /// The kinds of signatures that the module X509 can verify, and two that it can't.
    @Test(
        arguments: [
            (.curve("P-256"), [], true), (.curve("P-384"), [], true), (.curve("P-521"), [], true),
            (.rsa(2048), [], true), (.ed25519, [], true), (.curve("secp256k1"), [], false),
            (
                .rsa(2048), ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"],
                false
            ),
        ] as [(CertificateMaker.KeyKind, [String], Bool)])
    func `a certificate is trusted only if X509 can verify its kind of signature`(
        key: CertificateMaker.KeyKind, arguments: [String], isVerified: Bool
    ) throws {
        let maker = try CertificateMaker()
        let root = try maker.make(
            "root", subject: "/CN=Root", extensions: CertificateMaker.authority, key: key)
        let leaf = try maker.make(
            "leaf", subject: "/CN=Leaf", issuer: "root", arguments: arguments)
        let error = judge([leaf], anchors: [root])
        #expect(error?.code == (isVerified ? nil : Int(errSecNotTrusted)))
        // The signature of an anchor isn't verified.
        #expect(judge([leaf], anchors: [leaf]) == nil)
    }
}

// MARK: - Properties

@Suite struct SecPolicyTests {
    private func properties(_ policy: SecPolicy) -> [String: AnyHashable]? {
        SecPolicyCopyProperties(policy) as? [String: AnyHashable]
    }

    @Test func `a policy returns its properties`() {
        #expect(
            properties(SecPolicyCreateBasicX509()) == ["SecPolicyOid": "1.2.840.113635.100.1.2"])
        #expect(
            properties(SecPolicyCreateSSL(true, nil)) == ["SecPolicyOid": "1.2.840.113635.100.1.3"])
        #expect(
            properties(SecPolicyCreateSSL(false, "example.com" as CFString))
                == [
                    "SecPolicyOid": "1.2.840.113635.100.1.3", "SecPolicyName": "example.com",
                    "SecPolicyClient": true,
                ])
    }

    @Test func `a policy can be created from its properties`() throws {
        let policies = [
            SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, nil),
            SecPolicyCreateSSL(false, nil), SecPolicyCreateSSL(true, "example.com" as CFString),
            SecPolicyCreateSSL(false, "example.com" as CFString),
            try #require(
                SecPolicyCreateWithProperties(
                    kSecPolicyAppleSMIME, [kSecPolicyName: "a@example.com"] as CFDictionary)),
        ]
        for policy in policies {
            let properties = try #require(SecPolicyCopyProperties(policy))
            let identifier = try #require(properties[kSecPolicyOid] as? NSString)
            #expect(SecPolicyCreateWithProperties(identifier, properties) == policy)
        }
        #expect(Set(policies).count == 6)
        #expect(CFGetTypeID(policies[0]) == SecPolicyGetTypeID())
    }

    @Test func `invalid properties create no policy`() {
        #expect(SecPolicyCreateWithProperties("1.2.3" as CFString, nil) == nil)
        #expect(SecPolicyCreateWithProperties(NSNumber(value: 1), nil) == nil)
        #expect(
            SecPolicyCreateWithProperties(
                kSecPolicyAppleSSL, [kSecPolicyName: 1] as CFDictionary) == nil)
        #expect(
            SecPolicyCreateWithProperties(
                kSecPolicyAppleSSL, [kSecPolicyClient: "yes"] as CFDictionary) == nil)
    }
}

// MARK: - Host names

@Suite struct HostNameTests {
    @Test(arguments: [
        // A name in the certificate, the requested host, and whether they match.
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
    func `a host name matches only itself, and a wildcard matches only one whole label`(
        pattern: String, host: String, matches: Bool
    ) {
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
    func `an IP address matches only the same IP address in a certificate`(
        host: String, address: [UInt8], matches: Bool
    ) {
        let names = SecCertificate.AlternativeNames(addresses: [Data(address)])
        #expect(HostName(host).isAmong(names) == matches)
    }

    @Test func `one matching name of several suffices`() {
        let names = SecCertificate.AlternativeNames(
            emailAddresses: ["example.org"], hostNames: ["example.com", "*.example.net"])
        #expect(HostName("www.example.net").isAmong(names))
        #expect(!HostName("example.org").isAmong(names))
    }
}

#endif
