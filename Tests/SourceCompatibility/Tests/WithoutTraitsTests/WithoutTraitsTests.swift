// WithoutTraitsTests: input that requires the package's trait OlderPKCS12, in a build without this
// trait. The package's own tests are built with the trait, so they can't test such a build.

import Foundation
import Security
import Testing

@Suite struct `Without the trait for older ciphers` {
    /// A P-256 key and its certificate, encrypted with the passphrase "secret" by OpenSSL 3:
    /// `pkcs12 -export -legacy`.
    private static let container = """
        MIIDcgIBAzCCAzgGCSqGSIb3DQEHAaCCAykEggMlMIIDITCCAhcGCSqGSIb3DQEHBqCCAggwggIEAgEAMIIB\
        /QYJKoZIhvcNAQcBMBwGCiqGSIb3DQEMAQYwDgQITeby9SI697cCAggAgIIB0FnO8HZ7ZB1ejMDeNYO0Wm/z\
        7+DajpvrdSIuJ0wFtarX4qfJwanp8r2dTkDOGfmBE9RvhSHPtwVetw8JYu71DGDSy5vXFIelbDkOq7VkKr9r\
        e5ejDbJ2hfIEIEPd+4EQ3Ww9FKBsG/2bi4KN7OhrPzyBWyEE9eo2x39bLyE6kj9qLaQ6n7BvGYDZS4QRxlmI\
        DGoG2RvYTmkjaZgCFo/ayTdvukisIRE9IjaOFmsPsz7vBi5l0ZJCQeaEvHPhjvVxskUcXwED0s2hi382trw1\
        vgyz0rZDe186BRcVLT5Gg3T/wkaXRU4SRrdvHAzP+TJNPrE1Ezf1nvMxvbGCuzvfMPknakL8i9UgY8Vhoj1x\
        e1NBpDahczkYf/0buDd6J6QPYDj+b0rwLOTNs8excTHS59jwYp0NXiSyM6RASv61oVgbbazBVbugTSCgEl4d\
        G0GEq00F+zOUm72MlFbUcEykvKdTQA8lE4Fj096tZbbwn1/b38yywj9GJpEcIddWQtPg5cxd6832NZ72/Q1j\
        NxdCJbdhtM5k8F0uqWudyDxqL4emJvoweFY3bIFE2d1IyODU37kb/QY/iZO1hC4B5hN60qGgl65iMa1MtrJd\
        pqKIhEi+MIIBAgYJKoZIhvcNAQcBoIH0BIHxMIHuMIHrBgsqhkiG9w0BDAoBAqCBtDCBsTAcBgoqhkiG9w0B\
        DAEDMA4ECF25l1O0fdkGAgIIAASBkHIWoZtDps6FQkaglDC68IW4pRn35BlR+P4UgTxduUSkzdn/ciJwbHvw\
        q46kYisCy/mPfLzA12STLhTPUP4JBSVLslVTGj7TRH8rfXULT8xS3hDFWEymqau4L1qPL28q1guT5GuPPj4D\
        eGLjORokG/ICPfjS11YMV0uaN/9IlAS7q43CQmsyg+DKOjCwmkYx/DElMCMGCSqGSIb3DQEJFTEWBBTv++bY\
        0BlCEqKFTwza82onFExkpjAxMCEwCQYFKw4DAhoFAAQUx0C6zp9dMCoddag9t6pLEaRmuCkECG09Wwb1gsGA\
        AgIIAA==
        """

    /// The same key, from OpenSSL 3: `pkcs8 -topk8 -v1 PBE-SHA1-3DES -outform DER`.
    private static let privateKey = """
        MIGxMBwGCiqGSIb3DQEMAQMwDgQI7UVeMk35Mh8CAggABIGQvmPuNwyQyLw6imJJC6hqELfZzqIMtDMCCvr9\
        isX04UpgGXLZ3fz+jcIM6NoFLizLHRQqU15Ggt1V1KwJ8iEwTjFNvCGWLw/WaO2Jw3adMUdlxNhgn/5dE2K4\
        EcIzuEAV4nlliYbg6TDkaI6TEc1cU/njFymwTiItPGzH7O3tdab/ufWMbK02Pi7qt+VQKD1b
        """

    @Test func `an older cipher and a wrong passphrase give different errors`() throws {
        let data = try #require(Data(base64Encoded: Self.container))
        func status(_ passphrase: String) -> OSStatus {
            var items: CFArray?
            let options = [kSecImportExportPassphrase: passphrase] as CFDictionary
            return SecPKCS12Import(data as CFData, options, &items)
        }
        #expect(status("secret") == errSecUnimplemented)
        #expect(status("wrong") == errSecAuthFailed)
    }

    @Test func `a private key encrypted with an older cipher can't be imported`() throws {
        let data = try #require(Data(base64Encoded: Self.privateKey))
        #expect(imported(data) == errSecUnimplemented)
    }

    @Test func `a cipher unsupported even with the trait gives errSecUnsupportedFormat`() throws {
        var data = [UInt8](try #require(Data(base64Encoded: Self.privateKey)))
        // Triple DES becomes 128-bit RC2 (RFC 7292, appendix C).
        let end = 16
        try #require(data[end - 9...end].elementsEqual([42, 134, 72, 134, 247, 13, 1, 12, 1, 3]))
        data[end] = 5
        #expect(imported(Data(data)) == errSecUnsupportedFormat)
    }

    /// Tries to import a private key, checks that no item is returned, and returns the status.
    private func imported(_ data: Data) -> OSStatus {
        var parameters = SecItemImportExportKeyParameters()
        let passphrase: CFTypeRef = "secret" as NSString
        parameters.passphrase = Unmanaged.passUnretained(passphrase)
        var items: CFArray?
        let status = withExtendedLifetime(passphrase) {
            SecItemImport(data as CFData, nil, nil, nil, [], &parameters, nil, &items)
        }
        #expect(items == nil)
        return status
    }
}
