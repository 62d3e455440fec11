// PKCS12ImportTests: `SecPKCS12Import` and `SecItemImport` of containers made by OpenSSL.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import KeychainTesting
import Testing

@Suite struct PKCS12ImportTests {
    /// The options with which OpenSSL encrypts a container.
    static let schemes: [[String]] =
        [
            [], ["-keypbe", "NONE"], ["-certpbe", "NONE"],
            ["-keypbe", "aes-128-cbc", "-certpbe", "aes-192-cbc", "-macalg", "sha512"],
            ["-macalg", "sha384", "-noiter", "-nomaciter"],
        ] + olderSchemes

    // Containers of these schemes can be read only with the package trait OlderPKCS12. The error
    // without this trait is tested in Tests/SourceCompatibility, which is built without traits.
    #if OlderPKCS12
    static let olderSchemes: [[String]] = [
        ["-legacy"], ["-descert"],
        ["-keypbe", "PBE-SHA1-3DES", "-certpbe", "PBE-SHA1-3DES", "-macalg", "sha1"],
    ]
    static let bothAges = [[], ["-legacy"]]
    #else
    static let olderSchemes: [[String]] = []
    static let bothAges: [[String]] = [[]]
    #endif

    /// Every kind of key with current encryption, every encryption with P-256, and the older
    /// schemes also with RSA.
    static let combinations =
        ExternalKeyKind.signing.map { ($0, [String]()) } + schemes.map { (.p256, $0) }
        + olderSchemes.map { (.rsa2048, $0) }

    /// A folder of OpenSSL with files of a root certificate, an intermediate certificate, and an
    /// end-entity certificate and its key.
    private func chain(_ kind: ExternalKeyKind = .p256) throws -> OpenSSL {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256, "root")
        try openSSL.makeCertificate("root")
        try openSSL.makeKey(.p256, "middle")
        try openSSL.makeCertificate("middle", signedBy: "root", isAuthority: true)
        try openSSL.makeKey(kind)
        try openSSL.makeCertificate(signedBy: "middle")
        try openSSL.write(
            openSSL.contents(of: "root.pem") + openSSL.contents(of: "middle.pem"),
            to: "others.pem")
        return openSSL
    }

    private func container(
        _ openSSL: OpenSSL, passphrase: String = "secret", _ arguments: [String] = []
    ) throws -> Data {
        try openSSL.run(
            ["pkcs12", "-export", "-inkey", "own.key", "-in", "own.pem", "-passout"]
                + ["pass:" + passphrase] + arguments)
    }

    /// The result of `SecPKCS12Import`.
    private func imported(
        _ data: Data, _ passphrase: Any? = "secret", _ options: [CFString: Any] = [:]
    ) -> (status: OSStatus, items: [NSDictionary]) {
        var options = options
        options[kSecImportExportPassphrase] = passphrase
        var items: CFArray?
        // SAFETY: the variable outlives the call.
        let status = unsafe SecPKCS12Import(data as NSData, options as NSDictionary, &items)
        #expect((items != nil) == (status == errSecSuccess))
        return (status, items as? [NSDictionary] ?? [])
    }

    private func ders(_ certificates: [SecCertificate]) -> [Data] {
        certificates.map { SecCertificateCopyData($0) as Data }
    }

    @Test(arguments: combinations)
    func `an identity is imported from a container of every encryption scheme`(
        _ kind: ExternalKeyKind, _ scheme: [String]
    ) throws {
        let openSSL = try chain(kind)
        let data = try container(
            openSSL, ["-certfile", "others.pem", "-name", "Grüße"] + scheme)
        let (status, items) = imported(data)
        #expect(status == errSecSuccess)
        let item = try #require(items.first)
        #expect(items.count == 1)
        let identity = try #require(item[kSecImportItemIdentity] as? SecIdentity)
        var certificate: SecCertificate?
        var key: SecKey?
        #expect(unsafe SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess)
        #expect(unsafe SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess)
        let ownCertificate = try #require(certificate)
        let ownKey = try #require(key)
        #expect(try ders([ownCertificate]) == [openSSL.certificate()])
        #expect(try ownKey.exportedPublicKey == openSSL.publicKey(of: "own.key"))
        let chain = try #require(item[kSecImportItemCertChain] as? [SecCertificate])
        #expect(
            ders(chain) == (try ["own", "middle", "root"].map { try openSSL.certificate($0) }))
        #expect(item[kSecImportItemLabel] as? String == "Grüße")
        let attributes = try #require(SecKeyCopyAttributes(ownKey))
        #expect(
            item[kSecImportItemKeyID] as? Data == attributes[kSecAttrApplicationLabel] as? Data)
        let trust = try #require(item[kSecImportItemTrust] as? SecTrust)
        let root = try #require(chain.last)
        #expect(SecTrustSetAnchorCertificates(trust, [root] as NSArray) == errSecSuccess)
        let isTrusted = SecTrustEvaluateWithError(trust, nil)
        #expect(isTrusted)
        // `SecItemImport` gives the same result.
        let other = Imported(data, name: "own.p12", passphrase: "secret" as NSString)
        #expect(other.format == .formatPKCS12)
        #expect(other.type == .itemTypeAggregate)
        #expect(other.identities == [identity])
        #expect(Set(other.certificates) == Set(chain.dropFirst()))
    }

    @Test(arguments: bothAges)
    func `a wrong passphrase and invalid data give different statuses`(_ scheme: [String]) throws {
        let openSSL = try chain()
        let data = try container(openSSL, scheme)
        for wrong in ["Secret", "", "secret\0", "sécret"] {
            #expect(imported(data, wrong).status == errSecAuthFailed)
            #expect(
                Imported(data, passphrase: wrong as NSString).status
                    == errSecPkcs12VerifyFailure)
        }
        #expect(imported(data, nil).status == errSecAuthFailed)
        #expect(imported(data, NSNumber(value: 1)).status == errSecParam)
        #expect(Imported(data).status == errSecPassphraseRequired)
        #expect(imported(Data("secret".utf8)).status == errSecDecode)
        #expect(imported(Data()).status == errSecDecode)
        #expect(imported(try openSSL.certificate()).status == errSecDecode)
    }

    @Test(arguments: bothAges)
    func `an empty passphrase and no passphrase are the same`(_ scheme: [String]) throws {
        let data = try container(chain(), passphrase: "", scheme)
        #expect(imported(data, "").items.count == 1)
        #expect(imported(data, nil).items.count == 1)
        #expect(imported(data, "secret").status == errSecAuthFailed)
    }

    @Test(arguments: ["pässwörd", "Пароль 密码", "🔑"])
    func `a passphrase can be in any script`(_ passphrase: String) throws {
        let openSSL = try chain()
        let data = try container(openSSL, passphrase: passphrase)
        #expect(imported(data, passphrase).items.count == 1)
    }

    #if OlderPKCS12
    @Test(arguments: ["pässwörd", "🔑"])
    func `an older cipher with a non-ASCII passphrase is refused`(
        _ passphrase: String
    ) throws {
        let openSSL = try chain()
        let older = try container(openSSL, passphrase: passphrase, ["-legacy"])
        #expect(imported(older, passphrase).status == errSecUnsupportedFormat)
        #expect(imported(older, passphrase + " ").status == errSecAuthFailed)
        // A container with certificates alone can be read if all characters of the passphrase are
        // in the Basic Multilingual Plane of Unicode.
        let certificates = try openSSL.run([
            "pkcs12", "-export", "-legacy", "-nokeys", "-in", "others.pem", "-passout",
            "pass:" + passphrase,
        ])
        let result = Imported(certificates, passphrase: passphrase as NSString)
        if passphrase == "🔑" {
            #expect(result.status == errSecUnsupportedFormat)
        } else {
            #expect(result.certificates.count == 2)
        }
    }

    @Test func `an Ed25519 key encrypted with an older cipher is refused`() throws {
        let data = try container(chain(.ed25519), ["-legacy"])
        #expect(imported(data).status == errSecUnsupportedFormat)
    }
    #endif

    @Test(arguments: bothAges)
    func `certificates without a key are imported as certificates`(_ scheme: [String]) throws {
        let openSSL = try chain()
        let data = try openSSL.run(
            [
                "pkcs12", "-export", "-nokeys", "-in", "others.pem", "-passout", "pass:secret",
            ] + scheme)
        let (status, items) = imported(data)
        #expect(status == errSecSuccess)
        #expect(items.count == 1)
        #expect(items.first?.allKeys as? [String] == [kSecImportItemCertChain as String])
        let expected = try ["root", "middle"].map { try openSSL.certificate($0) }
        let chain = items.first?[kSecImportItemCertChain] as? [SecCertificate]
        #expect(ders(chain ?? []) == expected)
        let other = Imported(data, passphrase: "secret" as NSString)
        #expect(ders(other.certificates) == expected)
    }

    @Test(arguments: bothAges)
    func `a key without its certificate is imported only by SecItemImport`(_ scheme: [String])
        throws
    {
        let openSSL = try chain()
        let data = try openSSL.run(
            [
                "pkcs12", "-export", "-nocerts", "-inkey", "own.key", "-passout", "pass:secret",
            ] + scheme)
        #expect(imported(data).status == errSecSuccess)
        #expect(imported(data).items.isEmpty)
        let keys = Imported(data, passphrase: "secret" as NSString).keys
        #expect(keys.count == 1)
        #expect(try keys.first?.exportedPublicKey == openSSL.publicKey(of: "own.key"))
    }

    @Test(arguments: bothAges)
    func `a key with another key's certificate isn't an identity`(_ scheme: [String]) throws {
        let openSSL = try chain()
        let data = try openSSL.run(
            [
                "pkcs12", "-export", "-nocerts", "-inkey", "own.key", "-certfile", "root.pem",
                "-passout", "pass:secret",
            ] + scheme)
        let (status, items) = imported(data)
        #expect(status == errSecSuccess)
        #expect(items.first?.allKeys as? [String] == [kSecImportItemCertChain as String])
        let other = Imported(data, passphrase: "secret" as NSString)
        #expect(other.identities.isEmpty)
        #expect(try other.keys.first?.exportedPublicKey == openSSL.publicKey(of: "own.key"))
        #expect(try ders(other.certificates) == [openSSL.certificate("root")])
    }

    @Test func `a container without an authentication code is refused`() throws {
        let data = try container(chain(), ["-nomac"])
        #expect(imported(data).status == errSecDecode)
    }

    @Test func `a container with excessive derivation cost is refused`() throws {
        let openSSL = try chain()
        let data = try container(openSSL, ["-iter", "3"])
        // The authentication code is at the end of the container. Its last element is the number of
        // rounds, INTEGER 3.
        #expect(data.suffix(3) == Data([2, 1, 3]))
        var costly = data.dropLast(3) + Data([2, 4, 0x7F, 0xFF, 0xFF, 0xFF])
        // The two sequences that contain this number become longer, too.
        costly = Self.lengthened(Data(costly), by: 3)
        #expect(imported(costly).status == errSecUnsupportedFormat)
    }

    /// Increases the length of the outermost sequence and of the last sequence inside it.
    private static func lengthened(_ data: Data, by count: Int) -> Data {
        var bytes = Array(data)
        // The container begins with 30 82 hh ll, because it has more than 255 bytes.
        let outer = Int(bytes[2]) << 8 | Int(bytes[3]) + count
        (bytes[2], bytes[3]) = (UInt8(outer >> 8), UInt8(outer & 0xFF))
        // Then come the version (02 01 03), the contents (30 82 hh ll and hhll bytes), and the
        // authentication code (30 ll and ll bytes).
        let contents = Int(bytes[9]) << 8 | Int(bytes[10])
        bytes[11 + contents + 1] += UInt8(count)
        return Data(bytes)
    }

    // MARK: - Damage

    @Test(arguments: bothAges)
    func `a truncated container is refused`(_ scheme: [String]) throws {
        let data = try container(chain(), ["-iter", "1"] + scheme)
        let statuses = Set((0..<data.count).map { imported(data.prefix($0)).status })
        #expect(statuses == [errSecDecode])
    }

    @Test(arguments: bothAges)
    func `a flipped bit gives an error or changes nothing`(_ scheme: [String]) throws {
        let data = try container(chain(), ["-iter", "1"] + scheme)
        let identity = imported(data).items.first?[kSecImportItemIdentity]
        let whole = try #require(identity as? SecIdentity)
        var statuses: [OSStatus: Int] = [:]
        for index in data.indices {
            var damaged = data
            damaged[index] ^= 1 << UInt8(index % 8)
            let (status, items) = imported(damaged)
            statuses[status, default: 0] += 1
            guard status == errSecSuccess else { continue }
            #expect(items.first?[kSecImportItemIdentity] as? SecIdentity == whole)
        }
        // A few bytes have no effect, such as the parameters of a digest.
        #expect(statuses[errSecSuccess, default: 0] < 16)
        #expect(statuses[errSecAuthFailed, default: 0] > data.count / 2)
        let expected: Set<OSStatus> = [
            errSecSuccess, errSecAuthFailed, errSecDecode, errSecUnsupportedFormat,
        ]
        #expect(Set(statuses.keys).isSubset(of: expected))
    }

    // MARK: - Keychain

    private func itemCount(_ itemClass: CFString) -> Int {
        var result: CFTypeRef?
        let query: NSDictionary = [
            kSecClass: itemClass, kSecMatchLimit: kSecMatchLimitAll, kSecReturnRef: true,
        ]
        // SAFETY: the variable outlives the call.
        let status = unsafe SecItemCopyMatching(query, &result)
        #expect([errSecSuccess, errSecItemNotFound].contains(status))
        return (result as? [AnyObject])?.count ?? 0
    }

    @Test func `an import adds items to the keychain only if the options request it`() throws {
        let openSSL = try chain()
        let data = try container(openSSL, ["-certfile", "others.pem", "-name", "Mine"])
        TestKeychain().withSecItem {
            #expect(imported(data).status == errSecSuccess)
            let memory: [CFString: Any] = [
                kSecUseDataProtectionKeychain: true, kSecImportToMemoryOnly: true,
            ]
            #expect(imported(data, "secret", memory).status == errSecSuccess)
            #expect(itemCount(kSecClassKey) == 0)
            #expect(itemCount(kSecClassCertificate) == 0)
            let add: [CFString: Any] = [kSecUseDataProtectionKeychain: true]
            // On a second import, existing items are not a failure.
            for _ in 0..<2 {
                let (status, items) = imported(data, "secret", add)
                #expect(status == errSecSuccess)
                #expect(itemCount(kSecClassKey) == 1)
                #expect(itemCount(kSecClassCertificate) == 3)
                #expect(itemCount(kSecClassIdentity) == 1)
                #expect(items.count == 1)
            }
            #expect(imported(data, "wrong", add).status == errSecAuthFailed)
        }
    }

    @Test func `a failed import doesn't change the keychain`() throws {
        let data = try container(chain(), ["-certfile", "others.pem"])
        let keychain = TestKeychain()
        keychain.withSecItem {
            // Keys have an application tag, and certificates don't. The key is added first.
            let options: [CFString: Any] = [
                kSecUseDataProtectionKeychain: true, kSecAttrApplicationTag: Data([1]) as NSData,
            ]
            #expect(imported(data, "secret", options).status == errSecNoSuchAttr)
            #expect(itemCount(kSecClassKey) == 0)
            #expect(itemCount(kSecClassCertificate) == 0)
        }
    }

    /// Imports a container into an empty keychain with these faults, and expects that the import
    /// adds nothing and can be repeated.
    /// - Returns: The status of the import with the faults.
    private func statusOfFailedImport(_ data: Data, _ faults: TestKeychain.Fault...) -> OSStatus {
        let keychain = TestKeychain()
        for fault in faults { keychain.inject(fault, times: 1) }
        var status = errSecSuccess
        keychain.withSecItem {
            let options: [CFString: Any] = [kSecUseDataProtectionKeychain: true]
            status = imported(data, "secret", options).status
            #expect(itemCount(kSecClassKey) == 0)
            #expect(itemCount(kSecClassCertificate) == 0)
            keychain.removeFaults()
            #expect(imported(data, "secret", options).status == errSecSuccess)
            #expect(itemCount(kSecClassIdentity) == 1)
        }
        return status
    }

    @Test func `an import that is stopped after any of its steps has no effect`() throws {
        let data = try container(chain(), ["-certfile", "others.pem"])
        var step = 0
        var status = errSecIO
        while status == errSecIO, step < 100 {
            // If the import has fewer than `step` steps, both faults are due before its commit.
            // Then `diskFull` occurs, because it was injected first.
            status = statusOfFailedImport(data, .diskFull, .stop(.afterStep(step)))
            step += 1
        }
        #expect(status == errSecDiskFull)
        // The faults after steps 0 to 4 stop the import, because the key and the three certificates
        // are written in at least one step each.
        #expect(step > 5)
    }

    @Test func `an import that is stopped before its commit has no effect`() throws {
        let data = try container(chain(), ["-certfile", "others.pem"])
        #expect(statusOfFailedImport(data, .stop(.beforeCommit)) == errSecIO)
    }
}

#endif
