// One-time codes: the test vectors of the RFCs, and the syntax of otpauth: URIs.

import KeychainCrypto
import Testing

@testable import KeychainTool

@Suite struct `One-time codes` {
    // From RFC 4226, appendix D.
    @Test func `counter-based one-time codes match RFC 4226`() {
        let codes = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583",
            "399871", "520489",
        ]
        let secret = Array("12345678901234567890".utf8)
        for (counter, code) in codes.enumerated() {
            #expect(
                OneTimeCode.code(of: secret, counter: UInt64(counter), digits: 6, by: .sha1) == code
            )
        }
        #expect(codes.count == 10)
    }

    // From RFC 6238, appendix B, with keys as long as the hash, as in the RFC's program.
    @Test(
        arguments: [
            (59, "94287082", "46119246", "90693936"),
            (1_111_111_109, "07081804", "68084774", "25091201"),
            (1_111_111_111, "14050471", "67062674", "99943326"),
            (1_234_567_890, "89005924", "91819424", "93441116"),
            (2_000_000_000, "69279037", "90698825", "38618901"),
            (20_000_000_000, "65353130", "77737706", "47863826"),
        ] as [(UInt64, String, String, String)])
    func `time-based one-time codes match RFC 6238`(
        _ moment: UInt64, _ sha1: String, _ sha256: String, _ sha512: String
    ) throws {
        let digits = String(repeating: "1234567890", count: 7)
        for (algorithm, size, code) in [
            ("SHA1", 20, sha1), ("SHA256", 32, sha256), ("SHA512", 64, sha512),
        ] {
            let secret = try OneTimeSecret(
                base32: Base32.encode(Array(digits.utf8.prefix(size))), label: "a",
                parameters: [("algorithm", algorithm), ("digits", "8")])
            #expect(secret.code(at: moment) == code)
        }
    }

    // From RFC 4648, section 10.
    @Test(
        arguments: [
            ("f", "MY======"), ("fo", "MZXQ===="), ("foo", "MZXW6==="), ("foob", "MZXW6YQ="),
            ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI======"),
        ])
    func `Base32 is encoded and decoded as in RFC 4648`(_ text: String, _ encoded: String) {
        let plain = encoded.filter { $0 != "=" }
        #expect(Base32.encode(Array(text.utf8)) == plain)
        for form in [encoded, plain, plain.lowercased()] {
            #expect(Base32.decode(form) == Array(text.utf8))
        }
    }

    @Test(arguments: ["", "=", "M", "MZX", "MZXW6Y", "MY=A", "MY1A", "MÝ", "M Y"])
    func `text that isn't Base32 is refused as a key`(_ text: String) {
        #expect(Base32.decode(text) == nil)
    }

    // The example and the default values of the Key URI Format. Some parameters of the example are
    // changed.
    @Test func `a URI's parameters are read, and absent parameters have default values`() throws {
        let uri =
            "otpauth://totp/ACME%20Co:john.doe@email.com?secret=HXDMVJECJJWSRB3HWIZR4IFUGFTMXBOZ"
            + "&issuer=ACME%20Co&algorithm=sha256&digits=7&period=60&image=x"
        let secret = try OneTimeSecret(uri)
        #expect(secret.kind == .time(period: 60) && secret.digits == 7)
        #expect(secret.algorithm == .sha256 && secret.uri == uri && secret.advanced == nil)
        let least = try OneTimeSecret("otpauth://totp/a?secret=MY")
        #expect(least.kind == .time(period: 30) && least.digits == 6 && least.algorithm == .sha1)
    }

    @Test func `a parameter's value can't add another parameter to the URI`() throws {
        let secret = try OneTimeSecret(
            base32: "MY", label: "a", parameters: [("issuer", "A & B=é"), ("digits", "7")])
        #expect(secret.uri == "otpauth://totp/a?secret=MY&issuer=A%20%26%20B%3D%C3%A9&digits=7")
        for (name, value) in [
            ("algorithm", "SHA1&issuer=x"), ("digits", "6&period=60"), ("period", "30#"),
        ] {
            #expect(throws: OneTimeSecret.Problem.self, "\(name)") {
                try OneTimeSecret(base32: "MY", label: "a", parameters: [(name, value)])
            }
        }
    }

    @Test func `advancing the counter changes only the counter in the URI`() throws {
        let uri = "otpauth://hotp/a?image=counter=1&counter=009&secret=MY&xcounter=3"
        let next = try #require(OneTimeSecret(uri).advanced)
        #expect(next.uri == "otpauth://hotp/a?image=counter=1&counter=10&secret=MY&xcounter=3")
        #expect(next.kind == .counter(10))
        let last = try OneTimeSecret("otpauth://hotp/a?secret=MY&counter=18446744073709551614")
        #expect(last.advanced == nil)
    }

    @Test(
        arguments: [
            "", "otpauth://", "https://totp/a?secret=MY", "otpauth://totp?secret=MY",
            "otpauth://totp/?secret=MY", "otpauth://motp/a?secret=MY", "otpauth://totp/a",
            "otpauth://totp/a?secret=", "otpauth://totp/a?secret=1", "otpauth://totp/a?secret=MY%3",
            "otpauth://totp/a%FF?secret=MY", "otpauth://totp/a?secret=MY&secret=MY",
            "otpauth://totp/a?secret=MY&x", "otpauth://totp/a b?secret=MY",
            "otpauth://totp/a?secret=MY\n", "otpauth://totp/é?secret=MY",
            "otpauth://totp/a?secret=MY#x", "otpauth://totp/a?secret=MY&algorithm=MD5",
            "otpauth://totp/a?secret=MY&digits=5", "otpauth://totp/a?secret=MY&digits=9",
            "otpauth://totp/a?secret=MY&digits=+6", "otpauth://totp/a?secret=MY&period=0",
            "otpauth://totp/a?secret=MY&period=-1", "otpauth://totp/a?secret=MY&period=99999",
            "otpauth://hotp/a?secret=MY", "otpauth://hotp/a?secret=MY&counter=x",
            "otpauth://hotp/a?secret=MY&counter=18446744073709551615",
        ])
    func `an invalid URI is refused, and the error doesn't repeat the URI`(_ text: String) throws {
        let problem = try #require(throws: OneTimeSecret.Problem.self) { try OneTimeSecret(text) }
        #expect(!problem.text.contains("MY") && !problem.text.contains("a?"))
    }
}
