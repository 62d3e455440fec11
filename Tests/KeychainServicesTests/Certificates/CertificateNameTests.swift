// CertificateNameTests: the normalized form in which distinguished names are compared.

#if !canImport(Darwin)

import Foundation
import KeychainCore
import Testing

@testable import KeychainServices

@Suite struct CertificateNameTests {
    let maker: CertificateMaker

    init() throws {
        maker = try CertificateMaker()
    }

    private func name(_ subject: String, printable: Bool) throws -> Data {
        let certificate = try maker.make("a", subject: subject, printable: printable)
        return try #require(SecCertificateCopyNormalizedSubjectSequence(certificate) as Data?)
    }

    /// Pairs of subjects, and whether they are equal if their texts are printable strings.
    @Test(arguments: [
        ("/CN=Marianne Swanson", "/CN=MARIANNE SWANSON", true),
        ("/CN=  Marianne   Swanson ", "/CN=Marianne Swanson", true),
        ("/CN=Marianne Swanson", "/CN=MarianneSwanson", false),
        ("/C=CH/CN=a", "/CN=a/C=CH", false),
        ("/CN=a", "/O=a", false),
        ("/CN=a+O=b", "/CN=A+O=B", true),
    ])
    func `case and extra spaces are ignored in printable strings`(
        one: String, other: String, areEqual: Bool
    ) throws {
        let names = (
            try name(one, printable: true), try name(other, printable: true)
        )
        #expect((names.0 == names.1) == areEqual)
    }

    @Test func `case is not ignored in other strings`() throws {
        #expect(
            try name("/CN=Marianne", printable: false) != name("/CN=MARIANNE", printable: false))
    }

    /// The expected bytes are written by hand from RFC 5280's structure and Apple's rule, which
    /// changes only printable strings.
    @Test func `the normalized form is DER, with capital letters in printable strings`() throws {
        let expected = "300d310b300906035504030c02613a"
        #expect(try name("/CN=a:", printable: false).hexadecimal == expected)
        // A printable string of two words, with the spaces between them reduced to one.
        #expect(
            try name("/CN= ab   c ", printable: true).hexadecimal
                == "300f310d300b06035504031304" + "41422043")
    }

    @Test func `a certificate item's subject attribute is the content of the normalized name`()
        throws
    {
        let certificate = try maker.make("a", subject: "/CN=Ab", printable: true)
        #expect(
            certificate.itemAttributes[.subject]
                == .data(Data([0x31, 11, 0x30, 9, 6, 3, 0x55, 4, 3, 0x13, 2, 0x41, 0x42])))
        #expect(
            SecCertificateCopyNormalizedIssuerSequence(certificate) as Data?
                == SecCertificateCopyNormalizedSubjectSequence(certificate) as Data?)
    }

    /// The lengths of the DER elements around the name are smaller after normalization.
    @Test func `a name that becomes much shorter is still valid DER`() throws {
        let spaces = String(repeating: " ", count: 55)
        let long = try name("/CN=a\(spaces)b/O=c", printable: true)
        #expect(long == (try name("/CN=a b/O=c", printable: true)))
        #expect(CertificateName(der: long)?.normalizedSequence == long)
        // The length of the whole name takes two bytes before normalization, and one byte after it.
        let longer = "/CN=a\(spaces)b/O=c\(spaces)d/OU=e\(spaces)f"
        #expect(
            try name(longer, printable: true) == name("/CN=a b/O=c d/OU=e f", printable: true))
    }

    @Test func `an empty name is valid, but a malformed name isn't`() throws {
        #expect(CertificateName(der: Data([0x30, 0]))?.normalizedContent == Data())
        #expect(CertificateName(der: Data()) == nil)
        #expect(CertificateName(der: Data([0x31, 0])) == nil)
        #expect(CertificateName(der: Data([0x30, 2, 0x31, 0])) == nil)
    }
}

#endif
