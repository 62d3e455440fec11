// PKCS12ExportTests: OpenSSL reads the containers that `SecItemExport` writes.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

@Suite struct PKCS12ExportTests {
    /// Identities with keys of the given kinds. The first certificate is self-signed. Each other
    /// certificate is signed with the key of the previous identity.
    private func identities(
        _ kinds: [ExternalKeyKind], in openSSL: OpenSSL
    ) throws -> [SecIdentity] {
        var identities: [SecIdentity] = []
        for (index, kind) in kinds.enumerated() {
            let name = "own\(index)"
            try openSSL.makeKey(kind, name)
            try openSSL.makeCertificate(name, signedBy: index == 0 ? nil : "own\(index - 1)")
            let text =
                try openSSL.contents(of: name + ".key")
                + openSSL.contents(of: name + ".pem")
            let result = Imported(text)
            let certificate = try #require(result.certificates.first)
            let key = try #require(result.keys.first)
            identities.append(try #require(SecIdentityCreate(nil, certificate, key)))
        }
        return identities
    }

    private func certificate(of identity: SecIdentity) throws -> SecCertificate {
        var certificate: SecCertificate?
        // SAFETY: the variable outlives the call.
        #expect(unsafe SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess)
        return try #require(certificate)
    }

    @Test(arguments: ExternalKeyKind.signing, ["secret", "", "pässwörd 密"])
    func `OpenSSL reads an exported identity`(_ kind: ExternalKeyKind, _ passphrase: String) throws
    {
        let openSSL = try OpenSSL()
        let identity = try #require(try identities([kind], in: openSSL).first)
        let data = try exported(identity, .formatPKCS12, passphrase: passphrase as NSString)
        try openSSL.write(data, to: "own.p12")
        let read = ["pkcs12", "-in", "own.p12", "-passin", "pass:" + passphrase]
        let key = try openSSL.run(read + ["-nodes", "-nocerts"])
        #expect(String(decoding: key, as: UTF8.self).contains("friendlyName: own0"))
        try openSSL.write(key, to: "read.key")
        #expect(
            try openSSL.publicKey(of: "read.key") == openSSL.publicKey(of: "own0.key"))
        // OpenSSL finds the key's certificate by the identifier that both have.
        let certificates = Imported(try openSSL.run(read + ["-nokeys", "-clcerts"])).certificates
        #expect(certificates == [try certificate(of: identity)])
        let wrong = ["pkcs12", "-in", "own.p12", "-noout", "-passin", "pass:wrong"]
        #expect(try openSSL.runUnchecked(wrong).status != 0)
        let back = Imported(data, passphrase: passphrase as NSString)
        #expect(back.identities == [identity])
        #expect(back.items.count == 1)
    }

    @Test func `an exported container uses current encryption`() throws {
        let openSSL = try OpenSSL()
        let identity = try #require(try identities([.p256], in: openSSL).first)
        try openSSL.write(
            exported(identity, .formatPKCS12, passphrase: "secret" as NSString), to: "own.p12")
        let report = try openSSL.runUnchecked([
            "pkcs12", "-in", "own.p12", "-passin", "pass:secret", "-info", "-noout",
        ])
        #expect(report.status == 0)
        let scheme = "PBES2, PBKDF2, AES-256-CBC, Iteration 100000, PRF hmacWithSHA256"
        for line in [
            "MAC: sha256, Iteration 200000", "PKCS7 Encrypted data: " + scheme,
            "Shrouded Keybag: " + scheme,
        ] {
            #expect(report.complaint.contains(line))
        }
    }

    @Test func `several exported identities can be imported with their chain`() throws {
        let openSSL = try OpenSSL()
        let identities = try identities([.p256, .rsa2048, .p384], in: openSSL)
        let passphrase = "secret" as NSString
        let data = try exported(identities as NSArray, .formatPKCS12, passphrase: passphrase)
        let back = Imported(data, passphrase: passphrase)
        #expect(back.identities == identities)
        #expect(back.items.count == 3)
        try openSSL.write(data, to: "own.p12")
        let read = try openSSL.run(
            ["pkcs12", "-in", "own.p12", "-passin", "pass:secret", "-nodes"])
        let items = Imported(read)
        #expect(items.keys.count == 3)
        #expect(items.certificates.count == 3)
    }

    @Test func `separate keys and certificates can be exported together, and each kind alone`()
        throws
    {
        let openSSL = try OpenSSL()
        let identities = try identities([.p256, .p256], in: openSSL)
        let certificates = try identities.map(certificate(of:))
        var key: SecKey?
        // SAFETY: the variable outlives the call.
        #expect(unsafe SecIdentityCopyPrivateKey(identities[1], &key) == errSecSuccess)
        let own = try #require(key)
        let passphrase = "secret" as NSString
        let parts = [certificates[1], own, certificates[0]] as NSArray
        let together = Imported(
            try exported(parts, .formatPKCS12, passphrase: passphrase), passphrase: passphrase)
        #expect(together.identities == [identities[1]])
        #expect(together.certificates == [certificates[0]])
        let lone = try exported(own, .formatPKCS12, pem: true, passphrase: passphrase)
        #expect(Imported(lone, passphrase: passphrase).keys == [own])
        let data = try exported(
            certificates as NSArray, .formatPKCS12, passphrase: passphrase)
        #expect(Imported(data, passphrase: passphrase).certificates == certificates)
        let list = try openSSL.run(
            ["pkcs12", "-nokeys", "-passin", "pass:secret"], input: data)
        #expect(Imported(list).certificates == certificates)
    }
}

#endif
