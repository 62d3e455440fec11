// SecCertificateTests: certificates made by OpenSSL, and the values read from them.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import TestPrograms
import Testing

@testable import KeychainServices

@Suite struct SecCertificateTests {
    let maker: CertificateMaker

    init() throws {
        maker = try CertificateMaker()
    }

    @Test func `a certificate returns the bytes it was made from`() throws {
        try maker.make("a", subject: "/CN=A")
        let der = try maker.der("a")
        let one = try #require(SecCertificateCreateWithData(nil, der as CFData))
        let other = try #require(SecCertificateCreateWithData(kCFAllocatorDefault, der as CFData))
        #expect(SecCertificateCopyData(one) as Data == der)
        #expect(one == other)
        #expect(one.hash == other.hash)
        #expect(one != (try maker.make("b", subject: "/CN=A")))
        #expect(CFGetTypeID(one) == SecCertificateGetTypeID())
        #expect(CFGetTypeID(one) != SecPolicyGetTypeID())
    }

    /// A subject in OpenSSL's notation, alternative names, and the summary according to Apple's
    /// rule.
    static let summaries: [(subject: String, names: String?, summary: String?)] = [
        ("/CN=Alice", nil, "Alice"),
        ("/C=CH/O=Org/CN=Alice", nil, "Alice"),
        ("/CN=Outer/CN=Inner", nil, "Inner, Outer"),
        ("/CN=Alice/description=the first", nil, "Alice (the first)"),
        ("/O=Org/OU=Unit", nil, "Unit"),
        ("/O=Org/OU=One/OU=Two/OU=Three", nil, "Three, Two, One"),
        ("/C=CH/O=Org", nil, "Org"),
        ("/C=CH/L=Bern", nil, "Bern, CH"),
        ("/O=Org/description=text", nil, "Org"),
        ("/O=Org", "email:a@example.com,DNS:example.com", "a@example.com"),
        ("/O=Org", "DNS:example.com,DNS:example.org", "example.com"),
        ("/O=Org/emailAddress=b@example.com", nil, "b@example.com"),
        ("/CN=Alice", "email:a@example.com", "Alice"),
        ("/CN=Zoë Müller 山田", nil, "Zoë Müller 山田"),
        ("/", nil, nil),
        ("/", "DNS:example.com", "example.com"),
    ]

    @Test(arguments: summaries)
    func `the summary follows Apple's order of preference`(
        subject: String, names: String?, summary: String?
    ) throws {
        let certificate = try maker.make(
            "a", subject: subject, extensions: names.map { ["subjectAltName=\($0)"] } ?? [])
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == summary)
        #expect(certificate.subjectSummary == summary)
    }

    @Test func `the common name is the last of several common names`() throws {
        let certificate = try maker.make("a", subject: "/CN=Outer/O=Org/CN=Inner")
        var name: CFString?
        #expect(unsafe SecCertificateCopyCommonName(certificate, &name) == errSecSuccess)
        #expect(name as String? == "Inner")
    }

    @Test func `reading a common name that doesn't exist fails and sets no name`() throws {
        let certificate = try maker.make("a", subject: "/O=Org")
        var name: CFString? = "untouched"
        #expect(unsafe SecCertificateCopyCommonName(certificate, &name) == errSecInternal)
        #expect(name as String? == "untouched")
    }

    @Test func `mail addresses are those of the alternative names, then those of the subject`()
        throws
    {
        let certificate = try maker.make(
            "a", subject: "/CN=A/emailAddress=c@example.com",
            extensions: ["subjectAltName=email:a@example.com,DNS:x.example.com,email:b@example.com"]
        )
        var addresses: CFArray?
        #expect(unsafe SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == ["a@example.com", "b@example.com", "c@example.com"])
        let without = try maker.make("b", subject: "/CN=B")
        #expect(unsafe SecCertificateCopyEmailAddresses(without, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == [])
    }

    /// A number for OpenSSL, and the bytes of the integer in two's complement.
    @Test(arguments: [
        ("1", "01"), ("0", "00"), ("127", "7f"), ("128", "0080"), ("-1", "ff"), ("-129", "ff7f"),
        (
            "0x7fffffffffffffffffffffffffffffffffffffff",
            "7fffffffffffffffffffffffffffffffffffffff"
        ),
        (
            "0xffffffffffffffffffffffffffffffffffffffff",
            "00ffffffffffffffffffffffffffffffffffffffff"
        ),
    ])
    func `the serial number is returned as the integer's bytes in two's complement`(
        number: String, bytes: String
    ) throws {
        let certificate = try maker.make(
            "a", subject: "/CN=A", arguments: ["-set_serial", number])
        let serial = SecCertificateCopySerialNumberData(certificate, nil)
        #expect((serial as Data?)?.hexadecimal == bytes)
        #expect(certificate.itemAttributes[.serialNumber] == .data(try #require(serial as Data?)))
    }

    @Test(arguments: [30, 36_500])
    func `the validity dates are those that OpenSSL reads`(days: Int) throws {
        let certificate = try maker.make("a", subject: "/CN=A", days: days)
        let text = String(
            decoding: try maker.openSSL.run([
                "x509", "-in", "a.pem", "-noout", "-dates", "-dateopt", "iso_8601",
            ]), as: UTF8.self)
        let formatter = ISO8601DateFormatter()
        let dates = text.split(separator: "\n").compactMap { line in
            line.split(separator: "=").last.flatMap {
                formatter.date(from: String($0.replacing(" ", with: "T", maxReplacements: 1)))
            }
        }
        #expect(dates.count == 2)
        #expect(SecCertificateCopyNotValidBeforeDate(certificate) as Date? == dates.first)
        #expect(SecCertificateCopyNotValidAfterDate(certificate) as Date? == dates.last)
    }

    @Test func `the attributes of an item are taken from the certificate`() throws {
        let certificate = try maker.make(
            "a", subject: "/CN=A", extensions: CertificateMaker.authority)
        let attributes = certificate.itemAttributes
        #expect(attributes[.certificateType] == .number(3))
        #expect(attributes[.certificateEncoding] == .number(3))
        #expect(attributes[.subject] == attributes[.issuer])
        #expect(attributes[.label] == nil)
        // A certificate of version 1. Whether `openssl x509 -req` makes one depends on the release.
        let bytes = try #require(
            Data(
                base64Encoded: """
                    MIIBFDCBuwIUDh9Tda/BWYF2OVwNMS2CFOZkeoYwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBQjAg
                    Fw0yNjExMjgwOTEyMzhaGA8yMTI2MTEwNDA5MTIzOFowDDEKMAgGA1UEAwwBQjBZMBMGByqGSM49
                    AgEGCCqGSM49AwEHA0IABIfvxKATA0zajDDDGpE8gU6k6NxUkPpe0/Q13UtewbfxtoI9PbLCwkaQ
                    5P2W8SScMrJ4KwS1RVF9Z/bABqw54YYwCgYIKoZIzj0EAwIDSAAwRQIgXue1Q5QHvW+zGqODIN2q
                    CxHNjjuBtM/P9ablcplrT6MCIQCR/PdgwchDcbxXCXRPFLBiabtC/q7EIz1tNBCOexkbLA==
                    """, options: .ignoreUnknownCharacters))
        let old = try #require(SecCertificateCreateWithData(nil, bytes as CFData))
        #expect(old.itemAttributes[.certificateType] == .number(1))
        #expect(old.itemAttributes[.subjectKeyID] == nil)
    }

    /// OpenSSL computes the subject key identifier as the SHA-1 of the key's bits.
    @Test(
        arguments: [
            .curve("P-256"), .curve("P-384"), .curve("P-521"), .curve("secp256k1"),
            .curve("brainpoolP256r1"), .rsa(2048), .ed25519,
        ] as [CertificateMaker.KeyKind])
    func `the hash of the public key is the SHA-1 of the key's bits`(
        key: CertificateMaker.KeyKind
    ) throws {
        let certificate = try maker.make(
            "a", subject: "/CN=A", extensions: ["subjectKeyIdentifier=hash"], key: key)
        let attributes = certificate.itemAttributes
        #expect(attributes[.publicKeyHash] == attributes[.subjectKeyID])
        #expect(certificate.publicKeyHash.count == 20)
    }

    @Test func `a certificate with an unsupported signature algorithm can be read`() throws {
        let certificate = try maker.make(
            "a", subject: "/CN=PSS", key: .rsa(2048),
            arguments: ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"])
        #expect(certificate.subjectSummary == "PSS")
    }

    // MARK: - Invalid certificates

    @Test func `only the bytes of exactly one certificate are accepted`() throws {
        try maker.make("a", subject: "/CN=A", extensions: CertificateMaker.authority)
        let der = try maker.der("a")
        for count in 0..<der.count {
            #expect(SecCertificateCreateWithData(nil, der.prefix(count) as CFData) == nil)
        }
        #expect(SecCertificateCreateWithData(nil, (der + [0]) as CFData) == nil)
        #expect(SecCertificateCreateWithData(nil, (der + der) as CFData) == nil)
        #expect(
            SecCertificateCreateWithData(nil, try maker.openSSL.contents(of: "a.pem") as CFData)
                == nil)
        let key = try maker.openSSL.run(["pkey", "-in", "a.key", "-outform", "DER"])
        #expect(SecCertificateCreateWithData(nil, key as CFData) == nil)
        let request = try maker.openSSL.run(["req", "-in", "a.csr", "-outform", "DER"])
        #expect(SecCertificateCreateWithData(nil, request as CFData) == nil)
    }

    @Test func `changed bytes never cause a trap`() throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        try maker.make(
            "a", subject: "/C=CH/O=Org/CN=Alice/emailAddress=a@example.com", key: .rsa(2048),
            printable: true,
            arguments: [])
        try maker.certify(
            "a", subject: "/C=CH/O=Org/CN=Alice/emailAddress=a@example.com",
            extensions: CertificateMaker.authority + [
                "extendedKeyUsage=serverAuth", "subjectAltName=DNS:example.com,IP:10.0.0.1",
            ], printable: true)
        let der = try maker.der("a")
        var readCount = 0
        for _ in 0..<1500 {
            var bytes = der
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] =
                    UInt8.random(in: .min ... .max, using: &generator)
            }
            guard let certificate = SecCertificate(der: bytes) else { continue }
            readCount += 1
            Self.readAll(certificate)
        }
        // Most changes are in the key or the signature, which `SecCertificate(der:)` doesn't parse.
        #expect(readCount > 300, "seed \(seed)")
    }

    /// Calls functions that read from a certificate.
    private static func readAll(_ certificate: SecCertificate) {
        _ = certificate.itemAttributes
        _ = certificate.subjectSummary
        _ = certificate.emailAddresses
        _ = certificate.description
        _ = SecCertificateCopyNormalizedIssuerSequence(certificate)
        for policy in [
            SecPolicyCreateBasicX509(), SecPolicyCreateSSL(true, "example.com" as CFString),
            SecPolicyCreateSSL(false, nil), SecPolicy(.mail(address: "a@example.com")),
        ] {
            _ = policy.failure(of: certificate)
        }
        _ = TrustEvaluation(
            leaf: certificate, anchors: [certificate], policies: [SecPolicyCreateBasicX509()],
            date: Date()
        ).outcome()
        _ = TrustEvaluation(
            leaf: certificate, policies: [SecPolicyCreateBasicX509()], date: Date()
        ).outcome()
    }
}

extension Data {
    var hexadecimal: String {
        map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

#endif
