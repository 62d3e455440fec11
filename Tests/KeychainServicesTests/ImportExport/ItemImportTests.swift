// ItemImportTests: `SecItemImport` of data that OpenSSL writes.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

@Suite struct ItemImportTests {
    /// The form into which OpenSSL converts a private key in PKCS #8, the resulting format, and
    /// whether the result is encrypted with the passphrase "secret".
    struct PrivateForm: CustomTestStringConvertible {
        let arguments: [String]
        let format: SecExternalFormat
        var isSealed = false

        var testDescription: String { arguments.joined(separator: " ") }

        static let all =
            [
                PrivateForm(arguments: ["pkey"], format: .formatOpenSSL),
                PrivateForm(arguments: ["pkey", "-outform", "DER"], format: .formatOpenSSL),
                PrivateForm(arguments: ["pkey", "-traditional"], format: .formatOpenSSL),
                PrivateForm(
                    arguments: ["pkey", "-traditional", "-outform", "DER"], format: .formatOpenSSL),
            ] + sealed
        /// PBES2 with several ciphers and digests, and scrypt.
        static let sealed = sealed([
            ["-v2", "aes-256-cbc"], ["-v2", "aes-192-cbc", "-v2prf", "hmacWithSHA1"],
            ["-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA512", "-outform", "DER"],
            ["-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA384", "-iter", "1"],
            ["-scrypt"],
        ])
        /// Schemes that a package trait enables.
        static let older = sealed([
            ["-v2", "des3"], ["-v1", "PBE-SHA1-3DES"],
            ["-v1", "PBE-SHA1-RC2-40", "-provider", "legacy", "-provider", "default"],
        ])

        private static func sealed(_ arguments: [[String]]) -> [PrivateForm] {
            arguments.map {
                PrivateForm(
                    arguments: ["pkcs8", "-topk8", "-passout", "pass:secret"] + $0,
                    format: .formatWrappedPKCS8, isSealed: true)
            }
        }
    }

    @Test(arguments: ExternalKeyKind.allCases, PrivateForm.all)
    func `a private key is imported from every form`(
        _ kind: ExternalKeyKind, _ form: PrivateForm
    ) throws {
        try expectKey(kind, form)
    }

    private func expectKey(_ kind: ExternalKeyKind, _ form: PrivateForm) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        let isTraditional = form.arguments.contains("-traditional")
        // For a key without a traditional form, the option `-traditional` fails in PEM. In DER, the
        // option has no effect.
        let arguments =
            form.arguments.filter { $0 != "-traditional" }
            + (isTraditional && kind.hasTraditionalForm ? ["-traditional"] : [])
        let data = try openSSL.run(arguments + ["-in", "own.key"])
        let result = Imported(data, passphrase: form.isSealed ? "secret" as NSString : nil)
        #expect(result.status == errSecSuccess)
        #expect(result.format == form.format)
        #expect(result.type == .itemTypePrivateKey)
        let key = try #require(result.keys.first)
        #expect(result.items.count == 1)
        #expect(try key.exportedPublicKey == openSSL.publicKey(of: "own.key"))
    }

    @Test(arguments: PrivateForm.sealed)
    func `an encrypted private key isn't imported without its passphrase`(_ form: PrivateForm)
        throws
    {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let data = try openSSL.run(form.arguments + ["-in", "own.key"])
        #expect(Imported(data).status == errSecPassphraseRequired)
        for wrong in ["Secret", "", "secret "] {
            let result = Imported(data, passphrase: wrong as NSString)
            #expect(result.status == errSecAuthFailed)
            #expect(result.items.isEmpty)
        }
        #expect(Imported(data, passphrase: NSNumber(value: 1)).status == errSecParam)
        let bytes = Data("secret".utf8) as NSData
        #expect(Imported(data, passphrase: bytes).status == errSecSuccess)
    }

    @Test(arguments: ["", "pässwörd", "Пароль 密码 🔑"])
    func `an encrypted private key is imported even if its passphrase is empty or not ASCII`(
        _ passphrase: String
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let data = try openSSL.run([
            "pkcs8", "-topk8", "-in", "own.key", "-passout", "pass:" + passphrase,
        ])
        let result = Imported(data, passphrase: passphrase as NSString)
        #expect(result.status == errSecSuccess)
        #expect(try result.keys.first?.exportedPublicKey == openSSL.publicKey(of: "own.key"))
    }

    #if OlderPKCS12
    @Test(arguments: ExternalKeyKind.allCases.filter(\.hasTraditionalForm), PrivateForm.older)
    func `a private key encrypted with an older cipher is imported`(
        _ kind: ExternalKeyKind, _ form: PrivateForm
    ) throws {
        try expectKey(kind, form)
    }

    @Test(arguments: [ExternalKeyKind.ed25519, .x25519], PrivateForm.older)
    func `an Ed25519 or X25519 key encrypted with an older cipher is refused`(
        _ kind: ExternalKeyKind, _ form: PrivateForm
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        let data = try openSSL.run(form.arguments + ["-in", "own.key"])
        let passphrase = "secret" as NSString
        #expect(Imported(data, passphrase: passphrase).status == errSecUnsupportedFormat)
    }

    /// PBES2 with a digest, a cipher or a combination of both that isn't supported.
    @Test(arguments: [
        ["-v2", "aes-256-cbc", "-v2prf", "hmacWithSHA224"],
        ["-v2", "des3", "-v2prf", "hmacWithSHA512"],
        ["-v2", "aria-256-cbc"],
    ])
    func `an unsupported scheme is reported as an unsupported format`(
        _ arguments: [String]
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let data = try openSSL.run(
            ["pkcs8", "-topk8", "-in", "own.key", "-passout", "pass:secret"] + arguments)
        let passphrase = "secret" as NSString
        #expect(Imported(data, passphrase: passphrase).status == errSecUnsupportedFormat)
    }

    @Test func `an older cipher with a non-ASCII passphrase is refused`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let data = try openSSL.run([
            "pkcs8", "-topk8", "-in", "own.key", "-v1", "PBE-SHA1-3DES", "-passout", "pass:pä",
        ])
        #expect(Imported(data, passphrase: "pä" as NSString).status == errSecUnsupportedFormat)
    }
    #endif

    @Test(arguments: ExternalKeyKind.allCases, ["PEM", "DER"])
    func `a public key is imported from PEM and from DER`(
        _ kind: ExternalKeyKind, _ encoding: String
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        let data = try openSSL.run([
            "pkey", "-in", "own.key", "-pubout", "-outform", encoding,
        ])
        let result = Imported(data)
        #expect(result.status == errSecSuccess)
        #expect(result.format == .formatOpenSSL)
        #expect(result.type == .itemTypePublicKey)
        let key = try #require(result.keys.first)
        #expect(try exported(key, .formatOpenSSL) == openSSL.publicKey(of: "own.key"))
    }

    @Test(arguments: ["PEM", "DER"])
    func `a public key in PKCS 1 is imported`(_ encoding: String) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.rsa2048)
        let data = try openSSL.run([
            "rsa", "-in", "own.key", "-RSAPublicKey_out", "-outform", encoding,
        ])
        let result = Imported(data)
        #expect(result.type == .itemTypePublicKey)
        #expect(try result.keys.first?.exportedPublicKey == openSSL.publicKey(of: "own.key"))
    }

    @Test(arguments: ExternalKeyKind.signing, ["PEM", "DER"])
    func `a certificate is imported from PEM and from DER`(
        _ kind: ExternalKeyKind, _ encoding: String
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        try openSSL.makeCertificate()
        let data = try openSSL.run(["x509", "-in", "own.pem", "-outform", encoding])
        let result = Imported(data)
        #expect(result.format == .formatX509Cert)
        #expect(result.type == .itemTypeCertificate)
        let certificate = try #require(result.certificates.first)
        #expect(try SecCertificateCopyData(certificate) as Data == openSSL.certificate())
    }

    @Test func `the keys and certificates of a PEM text are imported in order`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256, "root")
        try openSSL.makeCertificate("root")
        try openSSL.makeKey(.p384)
        try openSSL.makeCertificate(signedBy: "root")
        var text = Data("Subject: own\r\n".utf8)
        text += try openSSL.contents(of: "own.pem")
        text += Data("\nkey\n".utf8) + (try openSSL.contents(of: "own.key"))
        text += try openSSL.run(["ecparam", "-name", "secp384r1"])
        text += try openSSL.contents(of: "root.pem")
        let result = Imported(text)
        #expect(result.status == errSecSuccess)
        #expect(result.format == .formatPEMSequence)
        #expect(result.type == .itemTypeAggregate)
        #expect(result.items.count == 3)
        let summaries = result.certificates.map {
            SecCertificateCopySubjectSummary($0) as String?
        }
        #expect(summaries == ["own", "root"])
        #expect(result.items[1] is SecKey)
    }

    /// The argument that begins with `#` is the first line of a PEM block that is commented out.
    @Test(arguments: [
        "The certificate -- from BEGINNING to end", "# -----BEGIN CERTIFICATE-----", "-----",
        "---\nCertificate chain", "- END of the list", "THE END",
    ])
    func `text outside PEM blocks is ignored`(_ text: String) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        try openSSL.makeCertificate()
        let block = try openSSL.contents(of: "own.pem")
        let line = Data("\(text)\n".utf8)
        let result = Imported(line + block + line)
        #expect(result.status == errSecSuccess)
        #expect(result.certificates.count == 1)
    }

    @Test(arguments: [
        "----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE----", "------BEGIN CERTIFICATE-----",
        "----- BEGIN CERTIFICATE -----", "BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE",
        "-----BEGIN CERTIFICATE----- one", "> -----BEGIN CERTIFICATE-----",
        "\"-----BEGIN CERTIFICATE-----\\n", "-----END CERTIFICATE-----",
    ])
    func `nothing is imported if a boundary of one PEM block is damaged`(_ line: String) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        try openSSL.makeCertificate()
        let block = String(decoding: try openSSL.contents(of: "own.pem"), as: UTF8.self)
        let begin = "-----BEGIN CERTIFICATE-----"
        #expect(block.hasPrefix(begin + "\n"))
        let damaged = "\(line)\(block.dropFirst(begin.count))"
        for text in [block + damaged, damaged + block] {
            let result = Imported(Data(text.utf8))
            #expect(result.status == errSecDecode)
            #expect(result.items.isEmpty)
        }
    }

    @Test func `long lines and Windows line ends are accepted`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let base64 = try openSSL.run(["pkey", "-in", "own.key", "-outform", "DER"])
            .base64EncodedString()
        let text = "-----BEGIN PRIVATE KEY-----\r\n\(base64)\r\n-----END PRIVATE KEY-----\r\n"
        #expect(Imported(Data(text.utf8)).keys.count == 1)
    }

    @Test(arguments: ["PEM", "DER"])
    func `certificates are imported from PKCS 7`(_ encoding: String) throws {
        let openSSL = try OpenSSL()
        for name in ["one", "two"] {
            try openSSL.makeKey(.p256, name)
            try openSSL.makeCertificate(name)
        }
        let data = try openSSL.run([
            "crl2pkcs7", "-nocrl", "-certfile", "one.pem", "-certfile", "two.pem", "-outform",
            encoding,
        ])
        let result = Imported(data, name: "chain.p7b")
        #expect(result.format == .formatPKCS7)
        #expect(result.type == .itemTypeAggregate)
        let ders = result.certificates.map { SecCertificateCopyData($0) as Data }
        #expect(ders == (try ["one", "two"].map { try openSSL.certificate($0) }))
    }

    @Test func `a DER certificate that contains PEM text is imported as that certificate`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        try openSSL.run([
            "req", "-x509", "-new", "-key", "own.key", "-subj", "/CN=own", "-out", "own.pem",
            "-addext", "nsComment=-----BEGIN CERTIFICATE-----",
        ])
        let data = try openSSL.certificate()
        #expect(data.range(of: Data("-----BEGIN ".utf8)) != nil)
        let result = Imported(data)
        #expect(result.certificates.map { SecCertificateCopyData($0) as Data } == [data])
        #expect(result.format == .formatX509Cert)
        #expect(Imported(data, format: .formatPEMSequence).status == errSecDecode)
    }

    @Test func `importing more than one private key can be refused`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256, "one")
        try openSSL.makeKey(.p256, "two")
        let text = try openSSL.contents(of: "one.key") + openSSL.contents(of: "two.key")
        #expect(Imported(text).keys.count == 2)
        #expect(Imported(text, flags: .importOnlyOne).status == errSecMultiplePrivKeys)
        let one = try openSSL.contents(of: "one.key")
        #expect(Imported(one, flags: .importOnlyOne).status == errSecSuccess)
    }

    // MARK: - Formats

    @Test(arguments: [
        SecExternalFormat.formatSSH, .formatBSAFE, .formatWrappedOpenSSL, .formatWrappedSSH,
        .formatWrappedLSH, .formatNetscapeCertSequence, .formatSSHv2,
    ])
    func `an unsupported format is reported as such`(_ format: SecExternalFormat) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let data = try openSSL.contents(of: "own.key")
        #expect(Imported(data, format: format).status == errSecUnsupportedFormat)
        let key = try #require(Imported(data).keys.first)
        #expect(throws: ExportFailure(status: errSecUnsupportedFormat)) {
            try exported(key, format)
        }
    }

    @Test func `a format given by the caller must be the format of the data`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        let data = try openSSL.run(["pkey", "-in", "own.key", "-outform", "DER"])
        for format in [
            SecExternalFormat.formatX509Cert, .formatPKCS7, .formatPKCS12, .formatWrappedPKCS8,
        ] {
            let result = Imported(data, format: format)
            #expect(result.status == errSecUnknownFormat)
            #expect(result.format == format)
        }
        #expect(Imported(data, format: .formatPEMSequence).status == errSecDecode)
        #expect(Imported(data, format: .formatOpenSSL).status == errSecSuccess)
    }

    @Test(arguments: [
        "", "hello", "\u{30}\u{3}\u{2}\u{1}\u{5}", "-----BEGIN", "BEGIN CERTIFICATE",
    ])
    func `data in an unknown format is reported as such`(_ text: String) {
        #expect(Imported(Data(text.utf8)).status == errSecUnknownFormat)
        #expect(Imported(Data(text.utf8), name: "a.p12").status == errSecDecode)
        #expect(Imported(Data(text.utf8), name: "a.txt").status == errSecUnknownFormat)
    }

    @Test func `PEM blocks of an unsupported kind are reported as such`() throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.rsa2048)
        let older = try openSSL.run([
            "rsa", "-in", "own.key", "-traditional", "-aes128", "-passout", "pass:secret",
        ])
        #expect(String(decoding: older, as: UTF8.self).contains("Proc-Type"))
        #expect(
            Imported(older, passphrase: "secret" as NSString).status == errSecUnsupportedFormat)
        let request = try openSSL.run(["req", "-new", "-key", "own.key", "-subj", "/CN=a"])
        #expect(Imported(request).status == errSecUnsupportedFormat)
        let requestBytes = try openSSL.run([
            "req", "-new", "-key", "own.key", "-subj", "/CN=a", "-outform", "DER",
        ])
        #expect(Imported(requestBytes).status == errSecUnknownFormat)
    }

    /// Kinds of keys that the keychain doesn't support.
    @Test(arguments: [
        ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
        ["-algorithm", "ED448"], ["-algorithm", "X448"],
    ])
    func `a key of an unsupported kind can't be decoded`(
        _ arguments: [String]
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.run(["genpkey"] + arguments + ["-out", "own.key"])
        #expect(Imported(try openSSL.contents(of: "own.key")).status == errSecDecode)
        let publicKey = try openSSL.publicKey(of: "own.key")
        #expect(Imported(publicKey).status == errSecDecode)
    }

    // MARK: - Raw keys

    @Test(arguments: ExternalKeyKind.allCases)
    func `a raw key is recognized by its content, unless two kinds of key look the same`(
        _ kind: ExternalKeyKind
    ) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        let key = try #require(Imported(openSSL.contents(of: "own.key")).keys.first)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        for (one, type) in [
            (key, SecExternalItemType.itemTypePrivateKey), (publicKey, .itemTypePublicKey),
        ] {
            let raw = try exported(one, .formatRawKey)
            let external = SecKeyCopyExternalRepresentation(one, nil) as Data?
            #expect(raw == external)
            for hint in [type, .itemTypeUnknown] {
                let result = Imported(raw, format: .formatRawKey, type: hint)
                if [.ed25519, .x25519].contains(kind) {
                    // The raw keys of these two kinds look the same.
                    #expect(result.status == errSecDecode)
                } else {
                    #expect(result.keys == [one])
                    #expect(result.type == type)
                }
            }
        }
        let secret = Imported(
            Data(count: 16), format: .formatRawKey, type: .itemTypeSessionKey)
        #expect(secret.status == errSecUnimplemented)
    }

    // MARK: - Damage

    @Test(arguments: [ExternalKeyKind.rsa2048, .p256, .ed25519])
    func `truncated data gives an error and never a trap`(_ kind: ExternalKeyKind) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        try openSSL.makeCertificate()
        let whole = [
            try openSSL.run(["pkey", "-in", "own.key", "-outform", "DER"]),
            try openSSL.run(["pkey", "-in", "own.key", "-traditional", "-outform", "DER"]),
            try openSSL.run([
                "pkcs8", "-topk8", "-in", "own.key", "-iter", "1", "-passout", "pass:secret",
                "-outform", "DER",
            ]),
            try openSSL.publicKey(of: "own.key"), try openSSL.certificate(),
            try openSSL.run(["crl2pkcs7", "-nocrl", "-certfile", "own.pem", "-outform", "DER"]),
        ]
        var count = 0
        var statuses: Set<OSStatus> = []
        for data in whole {
            // RSA keys are long, so the test tries only every seventh length. For other keys, the
            // test tries all lengths.
            for length in stride(from: 0, to: data.count, by: kind == .rsa2048 ? 7 : 1) {
                let result = Imported(data.prefix(length), passphrase: "secret" as NSString)
                statuses.insert(result.status)
                count += 1
            }
        }
        #expect(statuses == [errSecUnknownFormat])
        #expect(count > 500)
        let text = try openSSL.contents(of: "own.pem")
        // Without the last line end, the text is still complete.
        statuses = Set((0..<(text.count - 1)).map { Imported(text.prefix($0)).status })
        #expect(statuses == [errSecUnknownFormat, errSecDecode])
    }

    @Test(arguments: [ExternalKeyKind.rsa2048, .p256, .ed25519])
    func `flipped bits never cause a trap`(_ kind: ExternalKeyKind) throws {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(kind)
        try openSSL.makeCertificate()
        let whole = [
            try openSSL.run(["pkey", "-in", "own.key", "-outform", "DER"]),
            try openSSL.run([
                "pkcs8", "-topk8", "-in", "own.key", "-iter", "1", "-passout", "pass:secret",
                "-outform", "DER",
            ]),
            try openSSL.publicKey(of: "own.key"), try openSSL.certificate(),
            try openSSL.run(["crl2pkcs7", "-nocrl", "-certfile", "own.pem", "-outform", "DER"]),
        ]
        let expected: Set<OSStatus> = [
            errSecSuccess, errSecUnknownFormat, errSecDecode, errSecAuthFailed,
            errSecUnsupportedFormat, errSecPkcs12VerifyFailure,
        ]
        var statuses: Set<OSStatus> = []
        var count = 0
        for data in whole {
            for index in stride(from: 0, to: data.count, by: kind == .rsa2048 ? 11 : 1) {
                var damaged = data
                damaged[index] ^= 1 << UInt8(index % 8)
                let result = Imported(damaged, passphrase: "secret" as NSString)
                statuses.insert(result.status)
                if result.items.isEmpty != (result.status != errSecSuccess) {
                    Issue.record("\(result.status) at byte \(index)")
                }
                count += 1
            }
        }
        #expect(statuses.isSubset(of: expected))
        #expect(count > 250)
    }
}

#endif
