// HostileContainerTests: PKCS #12 containers that no program writes, and the limits on the work
// that an import can cause. The authentication codes of the containers are correct, so an import
// reads their contents.

#if !canImport(Darwin)

import Crypto
import Foundation
import KeychainAsymmetricKeys
import KeychainServices
import SwiftASN1
import Testing

@Suite struct HostileContainerTests {
    private static let data: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 1]
    private static let encryptedData: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 6]
    private static let keyBag: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 1]
    private static let certificateBag: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 3]
    private static let shroudedBag: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 2]
    private static let nestedBag: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 10, 1, 6]
    private static let x509: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 22, 1]
    private static let tripleDES: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 12, 1, 3]

    /// A container with these parts and the passphrase "secret".
    private func container(_ parts: [DERValue]) throws -> Data {
        let safe = DERValue.sequence(parts).bytes
        let code = try #require(
            PasswordHash.sha256.pkcs12Code(
                of: safe, password: "secret".bigEndianUTF16 + [0, 0], salt: [1], rounds: 1))
        return Data(
            DERValue.sequence([
                .integer(3), content(Self.data, .octets(safe)),
                .sequence([
                    .sequence([
                        .sequence([.identifier(PasswordHash.sha256.digestIdentifier), .null]),
                        .octets(code),
                    ]),
                    .octets([1]),
                ]),
            ]).bytes)
    }

    private func content(_ type: ASN1ObjectIdentifier, _ value: DERValue) -> DERValue {
        .sequence([.identifier(type), .tagged(0, value)])
    }

    private func plain(_ bags: [DERValue]) -> DERValue {
        content(Self.data, .octets(DERValue.sequence(bags).bytes))
    }

    /// Encrypts bytes with triple DES. OpenSSL provides the cipher and the key derivation.
    private func older(_ bytes: [UInt8], in openSSL: OpenSSL) throws -> DERValue {
        let password = ("secret".bigEndianUTF16 + [0, 0]).map(Self.hexadecimal).joined()
        func derived(_ purpose: Int, _ count: Int) throws -> String {
            let output = try openSSL.run([
                "kdf", "-keylen", "\(count)", "-kdfopt", "digest:SHA1", "-kdfopt",
                "hexpass:" + password, "-kdfopt", "hexsalt:01", "-kdfopt", "iter:1", "-kdfopt",
                "id:\(purpose)", "-provider", "legacy", "-provider", "default", "PKCS12KDF",
            ])
            return String(decoding: output, as: UTF8.self)
                .filter(\.isHexDigit)
        }
        let ciphertext = try openSSL.run(
            ["enc", "-des-ede3-cbc", "-K", derived(1, 24), "-iv", derived(2, 8)],
            input: Data(bytes))
        return content(
            Self.encryptedData,
            .sequence([
                .integer(0),
                .sequence([
                    .identifier(Self.data),
                    .sequence([
                        .identifier(Self.tripleDES),
                        .sequence([.octets([1]), .integer(1)]),
                    ]),
                    .implicit(0, Array(ciphertext)),
                ]),
            ]))
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private func bag(_ type: ASN1ObjectIdentifier, _ value: DERValue) -> DERValue {
        .sequence([.identifier(type), .tagged(0, value)])
    }

    /// OpenSSL with the files of a key and its certificate, and both of these as PKCS #12 bags.
    private func fixture() throws -> (openSSL: OpenSSL, key: DERValue, certificate: DERValue) {
        let openSSL = try OpenSSL()
        try openSSL.makeKey(.p256)
        try openSSL.makeCertificate()
        let key = try openSSL.run([
            "pkcs8", "-topk8", "-nocrypt", "-in", "own.key", "-outform", "DER",
        ])
        let certificate = DERValue.sequence([
            .identifier(Self.x509), .tagged(0, .octets(Array(try openSSL.certificate()))),
        ])
        return (
            openSSL, bag(Self.keyBag, .encoded(Array(key))), bag(Self.certificateBag, certificate)
        )
    }

    private func imported(_ data: Data) -> Imported {
        Imported(data, passphrase: "secret" as NSString)
    }

    @Test func `valid entries of a hand-made container are read`() throws {
        let (_, key, certificate) = try fixture()
        let good = [
            [plain([key, certificate])], [plain([key]), plain([certificate])],
            [plain([bag(Self.nestedBag, .sequence([key, certificate]))])],
        ]
        for parts in good {
            #expect(imported(try container(parts)).identities.count == 1)
        }
        #expect(imported(try container([])).status == errSecSuccess)
        #expect(imported(try container([plain([])])).items.isEmpty)
        let twice = imported(try container([plain([key, certificate, key, certificate])]))
        #expect(twice.identities.count == 2)
    }

    #if OlderPKCS12
    @Test func `under an older cipher, entries other than certificates are refused`() throws {
        let (openSSL, key, certificate) = try fixture()
        let contents: [[UInt8]] = [
            DERValue.sequence([key]).bytes, DERValue.sequence([key, certificate]).bytes,
            DERValue.sequence([certificate, key]).bytes, [], Array("no ASN.1".utf8),
            DERValue.sequence([certificate]).bytes + [0], DERValue.sequence([.null]).bytes,
            DERValue.sequence([bag(Self.certificateBag, .null)]).bytes,
        ]
        for bytes in contents {
            let data = try container([try older(bytes, in: openSSL)])
            #expect(imported(data).status == errSecUnsupportedFormat)
        }
        let good = try container([
            try older(DERValue.sequence([certificate]).bytes, in: openSSL), plain([key]),
        ])
        #expect(imported(good).identities.count == 1)
        let none = try container([try older(DERValue.sequence([]).bytes, in: openSSL)])
        #expect(imported(none).status == errSecSuccess)
        #expect(imported(none).items.isEmpty)
    }
    #endif

    @Test func `a container with an invalid entry is refused`() throws {
        let (_, key, certificate) = try fixture()
        var deep = bag(Self.nestedBag, .sequence([key]))
        for _ in 0..<8 { deep = bag(Self.nestedBag, .sequence([deep])) }
        let parts: [[DERValue]] = [
            [plain([key, .null])], [plain([certificate, .sequence([])])],
            [plain([bag(Self.keyBag, .null)])], [plain([bag(Self.keyBag, .sequence([]))])],
            [plain([bag(Self.certificateBag, .sequence([.identifier(Self.x509), .null]))])],
            [
                plain([
                    bag(
                        Self.certificateBag,
                        .sequence([.identifier(Self.x509), .tagged(0, .octets([1, 2, 3]))]))
                ])
            ],
            [plain([deep])], [content(Self.data, .octets([0x30, 0x84]))],
            [content(Self.encryptedData, .null)], [content(Self.encryptedData, .sequence([]))],
        ]
        for part in parts {
            #expect(imported(try container(part)).status == errSecDecode)
        }
        let unknown = try container([content([1, 2, 840, 113549, 1, 7, 3], .sequence([]))])
        #expect(imported(unknown).status == errSecUnsupportedFormat)
    }

    // MARK: Work

    /// A new private key, encrypted with PBES2 as in an export by this package.
    private func sealedKey() throws -> DERValue {
        try EncryptedPrivateKey.seal(
            Array(P256.Signing.PrivateKey().derRepresentation), password: Array("secret".utf8))
    }

    @Test func `the total work for the keys of a container or a PEM text is limited`() throws {
        let keys = try [sealedKey(), sealedKey()]
        let text = keys.map {
            PEMDocument(type: "ENCRYPTED PRIVATE KEY", derBytes: $0.bytes).pemString
        }.joined(separator: "\n")
        let needed = 2 * (PBES2.writtenRounds + WorkBudget.roundsPerKey)
        let container = try container([plain(keys.map { bag(Self.shroudedBag, $0) })])
        // A container also needs one round for its authentication code.
        for (data, needed) in [(container, needed + 1), (Data(text.utf8), needed)] {
            WorkBudget.$initialRounds.withValue(needed) {
                #expect(imported(data).keys.count == 2)
            }
            for less in [needed - 1, PBES2.writtenRounds - 1] {
                WorkBudget.$initialRounds.withValue(less) {
                    #expect(imported(data).status == errSecUnsupportedFormat)
                }
            }
        }
    }

    #if OlderPKCS12
    @Test func `a key that requires too much memory is refused`() {
        // scrypt needs 8 GiB if N = 2^23 and r = 8.
        let algorithm = DERValue.sequence([
            .identifier(PBES2.identifier),
            .sequence([
                .sequence([
                    .identifier([1, 3, 6, 1, 4, 1, 11591, 4, 11]),
                    .sequence([.octets([1]), .integer(1 << 23), .integer(8), .integer(1)]),
                ]),
                .sequence([
                    .identifier([2, 16, 840, 1, 101, 3, 4, 1, 42]),
                    .octets([UInt8](repeating: 0, count: 16)),
                ]),
            ]),
        ])
        let key = DERValue.sequence([algorithm, .octets([UInt8](repeating: 0, count: 64))])
        #expect(imported(Data(key.bytes)).status == errSecUnsupportedFormat)
    }
    #endif

    @Test func `data with too many elements or missing bytes is refused, and BER is accepted`() {
        func nulls(_ count: Int) -> [UInt8] {
            DERValue.sequence([
                .encoded((0..<count).flatMap { _ in [0x05, 0x00] as [UInt8] })
            ]).bytes
        }
        #expect(ASN1Node(encoded: nulls(ASN1Node.elementLimit)) == nil)
        #expect(ASN1Node(encoded: nulls(1000))?.sequence?.count == 1000)
        // BER with indefinite lengths, a long tag, and a length with a leading zero.
        let ber: [UInt8] = [
            0x30, 0x80, 0x24, 0x80, 0x04, 0x82, 0x00, 0x01, 0x2A, 0x00, 0x00, 0x9F, 0x81, 0x00,
            0x01,
            0x07, 0x00, 0x00,
        ]
        let parts = ASN1Node(encoded: ber)?.sequence
        #expect(parts?.first?.octets == [0x2A])
        #expect(parts?.last?.isTagged(128) == true)
        for count in ber.indices {
            #expect(ASN1Node(encoded: ber.prefix(count)) == nil)
        }
    }

    /// A bag with a certificate that has an empty signature. The certificate can be read, but its
    /// trust can't be evaluated.
    private func certificate(_ subject: String, by issuer: String, of key: Data) -> DERValue {
        func name(_ text: String) -> DERValue {
            .sequence([.set([.sequence([.identifier([2, 5, 4, 3]), .bmpString(text)])])])
        }
        let algorithm = DERValue.sequence([.identifier([1, 2, 840, 10045, 4, 3, 2])])
        let body = DERValue.sequence([
            .integer(1), algorithm, name(issuer),
            .sequence([.utcTime("200101000000Z"), .utcTime("200101000000Z")]), name(subject),
            .encoded(Array(key)),
        ])
        let certificate = DERValue.sequence([body, algorithm, .bits([0])])
        return bag(
            Self.certificateBag,
            .sequence([.identifier(Self.x509), .tagged(0, .octets(certificate.bytes))]))
    }

    @Test func `a chain in an import's result has at most a hundred certificates`() throws {
        let key = P256.Signing.PrivateKey()
        let other = P256.Signing.PrivateKey().publicKey.derRepresentation
        let names = (0..<150).map { "\($0)" }
        var bags = [certificate("0", by: "1", of: key.publicKey.derRepresentation)]
        for (name, next) in zip(names, names.dropFirst()).dropFirst() {
            bags.append(certificate(name, by: next, of: other))
        }
        bags.append(bag(Self.keyBag, .encoded(Array(key.derRepresentation))))
        let data = try container([plain(bags)])
        var items: CFArray?
        let options: NSDictionary = [kSecImportExportPassphrase: "secret"]
        // SAFETY: the variable outlives the call.
        let status = unsafe SecPKCS12Import(data as NSData, options, &items)
        #expect(status == errSecSuccess)
        let results = try #require(items as? [NSDictionary])
        let counts = results.map { ($0[kSecImportItemCertChain] as? [SecCertificate])?.count }
        // The other 49 certificates are in a separate result.
        #expect(counts == [100, 49])
    }
}

#endif
