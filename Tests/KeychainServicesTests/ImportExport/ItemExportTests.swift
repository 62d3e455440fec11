// ItemExportTests: OpenSSL reads what `SecItemExport` writes.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

@Suite struct ItemExportTests {
    /// A key made by OpenSSL, with its public key as OpenSSL writes it.
    private func key(
        _ kind: ExternalKeyKind, in openSSL: OpenSSL
    ) throws -> (key: SecKey, publicKey: Data) {
        try openSSL.makeKey(kind)
        let key = try #require(Imported(openSSL.contents(of: "own.key")).keys.first)
        return (key, try openSSL.publicKey(of: "own.key"))
    }

    @Test(arguments: ExternalKeyKind.allCases)
    func `OpenSSL reads a private key that was exported unencrypted`(_ kind: ExternalKeyKind) throws
    {
        let openSSL = try OpenSSL()
        let (key, publicKey) = try key(kind, in: openSSL)
        for format in [SecExternalFormat.formatUnknown, .formatOpenSSL] {
            try openSSL.write(exported(key, format), to: "key.der")
            #expect(try openSSL.publicKey(of: "key.der", ["-inform", "DER"]) == publicKey)
        }
        let text = try exported(key, .formatOpenSSL, pem: true)
        #expect(text == (try exported(key, .formatPEMSequence)))
        let begin = "-----BEGIN \(kind.traditionalLabel)-----\n"
        #expect(String(decoding: text, as: UTF8.self).hasPrefix(begin))
        try openSSL.write(text, to: "key.pem")
        #expect(try openSSL.publicKey(of: "key.pem") == publicKey)
        // The text is byte for byte what OpenSSL itself writes.
        let form = kind.hasTraditionalForm ? ["-traditional"] : []
        #expect(text == (try openSSL.run(["pkey", "-in", "own.key"] + form)))
    }

    @Test(arguments: ExternalKeyKind.allCases)
    func `OpenSSL reads a private key that was exported with a passphrase`(_ kind: ExternalKeyKind)
        throws
    {
        let openSSL = try OpenSSL()
        let (key, publicKey) = try key(kind, in: openSSL)
        let passphrase = "sécret 密" as NSString
        let right = ["-passin", "pass:sécret 密"]
        let wrong = ["pkey", "-in", "key.pem", "-noout", "-passin", "pass:secret"]
        try openSSL.write(
            exported(key, .formatWrappedPKCS8, passphrase: passphrase), to: "key.der")
        #expect(try openSSL.publicKey(of: "key.der", ["-inform", "DER"] + right) == publicKey)
        for text in [
            try exported(key, .formatWrappedPKCS8, pem: true, passphrase: passphrase),
            try exported(key, .formatPEMSequence, passphrase: passphrase),
        ] {
            #expect(
                String(decoding: text, as: UTF8.self)
                    .hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
            try openSSL.write(text, to: "key.pem")
            #expect(try openSSL.publicKey(of: "key.pem", right) == publicKey)
            #expect(try openSSL.runUnchecked(wrong).status != 0)
            #expect(Imported(text, passphrase: passphrase).keys == [key])
        }
    }

    @Test(arguments: ExternalKeyKind.allCases)
    func `an exported public key is the same as OpenSSL's`(_ kind: ExternalKeyKind) throws {
        let openSSL = try OpenSSL()
        let (key, publicKey) = try key(kind, in: openSSL)
        let half = try #require(SecKeyCopyPublicKey(key))
        #expect(try exported(half, .formatUnknown) == publicKey)
        let text = try exported(half, .formatPEMSequence)
        #expect(text == (try openSSL.run(["pkey", "-in", "own.key", "-pubout"])))
    }

    @Test func `one certificate is exported in DER or PEM, several in PEM or PKCS 7`() throws {
        let openSSL = try OpenSSL()
        var certificates: [SecCertificate] = []
        for name in ["one", "two"] {
            try openSSL.makeKey(.p256, name)
            try openSSL.makeCertificate(name)
            certificates += Imported(try openSSL.contents(of: name + ".pem")).certificates
        }
        let first = try #require(certificates.first)
        #expect(try exported(first, .formatUnknown) == openSSL.certificate("one"))
        let single = try exported(first, .formatX509Cert, pem: true)
        #expect(single == (try openSSL.contents(of: "one.pem")))
        let both = try exported(certificates as NSArray, .formatUnknown)
        #expect(
            both == (try openSSL.contents(of: "one.pem") + openSSL.contents(of: "two.pem")))
        for pem in [true, false] {
            let message = try exported(certificates as NSArray, .formatPKCS7, pem: pem)
            let read = try openSSL.run(
                ["pkcs7", "-print_certs", "-inform", pem ? "PEM" : "DER"], input: message)
            #expect(Imported(read).certificates == certificates)
            #expect(Imported(message).certificates == certificates)
        }
    }

    @Test func `in the default format, an identity is exported as its certificate and its key`()
        throws
    {
        let openSSL = try OpenSSL()
        let (key, _) = try key(.p256, in: openSSL)
        try openSSL.makeCertificate()
        let certificate = try #require(
            Imported(openSSL.contents(of: "own.pem")).certificates.first)
        let identity = try #require(SecIdentityCreate(nil, certificate, key))
        let result = Imported(try exported(identity, .formatUnknown))
        #expect(result.items.count == 2)
        #expect(result.certificates == [certificate])
        #expect(result.keys == [key])
    }

    @Test func `an item that a format can't contain is refused, and so is a missing passphrase`()
        throws
    {
        let openSSL = try OpenSSL()
        let (key, _) = try key(.p256, in: openSSL)
        let half = try #require(SecKeyCopyPublicKey(key))
        try openSSL.makeCertificate()
        let certificate = try #require(
            Imported(openSSL.contents(of: "own.pem")).certificates.first)
        let passphrase = "secret" as NSString
        let refused: [(AnyObject, SecExternalFormat)] = [
            ([key, half] as NSArray, .formatOpenSSL), (certificate, .formatOpenSSL),
            (key, .formatX509Cert), (certificate, .formatWrappedPKCS8),
            (half, .formatWrappedPKCS8), (half, .formatPKCS12), (key, .formatPKCS7),
            ([] as NSArray, .formatPEMSequence), ("text" as NSString, .formatUnknown),
            ([certificate, "text"] as NSArray, .formatUnknown),
        ]
        for (items, format) in refused {
            #expect(throws: ExportFailure(status: errSecParam)) {
                try exported(items, format, passphrase: passphrase)
            }
        }
        for format in [SecExternalFormat.formatWrappedPKCS8, .formatPKCS12] {
            #expect(throws: ExportFailure(status: errSecPassphraseRequired)) {
                try exported(key, format)
            }
        }
    }
}

#endif
