// SecKeyDataTests: the encodings of keys, their attributes, and equality.

#if !canImport(Darwin)

import Foundation
import KeychainAsymmetricKeys
import KeychainCrypto
import SwiftASN1
import Testing

@testable import KeychainServices

@Suite struct `Keys as data` {
    @Test(arguments: SampleKey.all)
    func `a key is unchanged after writing and reading it`(sample: SampleKey) throws {
        for key in [sample.privateKey, sample.publicKey] {
            let data = try #require(SecKeyCalls.external(key).value)
            let attributes: [String: Any] = [
                "type": SecKeyCalls.attributes(key)["type"] as Any,
                "kcls": key.isPrivate ? "1" : "0",
            ]
            let read = try #require(SecKeyCalls.read(data, attributes).value)
            #expect(read == key)
            #expect(read.hash == key.hash)
            #expect(SecKeyCalls.external(read).value == data)
            // The same data is not a key of the other class.
            let other = attributes.merging(["kcls": key.isPrivate ? "0" : "1"]) { $1 }
            switch key.shape {
            case .ed25519, .x25519: break  // Any 32 bytes are a key of either class.
            default: #expect(SecKeyCalls.read(data, other).code == errSecParam)
            }
        }
    }

    @Test(arguments: SampleKey.all)
    func `bytes that aren't a key are refused`(sample: SampleKey) throws {
        for key in [sample.privateKey, sample.publicKey] {
            let data = try #require(SecKeyCalls.external(key).value)
            let type = SecKeyCalls.attributes(key)["type"] as Any
            let attributes = ["type": type, "kcls": key.isPrivate ? "1" : "0"]
            for broken in [Data(), Data(data.dropLast()), data + [0], Data(count: data.count - 1)] {
                #expect(SecKeyCalls.read(broken, attributes).code == errSecParam)
            }
            guard key.shape.kind == .rsa || key.shape.kind == .elliptic else { continue }
            var flipped = data
            flipped[flipped.startIndex] ^= 1
            #expect(SecKeyCalls.read(flipped, attributes).code == errSecParam)
        }
    }

    @Test func `a private key with another key's public point is refused`() throws {
        let one = try #require(SecKeyCalls.external(SampleKey.p256.privateKey).value)
        let two = try #require(SecKeyCalls.create(["type": "73"]).value)
        let other = try #require(SecKeyCalls.external(two).value)
        let mixed = other.prefix(65) + one.suffix(32)
        #expect(
            SecKeyCalls.read(Data(mixed), ["type": "73", "kcls": "1"]).code == errSecParam)
    }

    @Test func `a valid class and type must be given`() throws {
        let data = try #require(SecKeyCalls.external(SampleKey.p256.publicKey).value)
        for attributes in [
            [:], ["type": "73"], ["kcls": "0"], ["type": "73", "kcls": "3"],
            ["type": "43", "kcls": "0"],
        ] {
            #expect(SecKeyCalls.read(data, attributes).code == errSecParam)
        }
        #expect(
            SecKeyCalls.read(data, ["type": "73", "kcls": "2"]).code == errSecUnimplemented)
        #expect(SecKeyCalls.read(data, ["type": 73, "kcls": 0]).value == SampleKey.p256.publicKey)
    }

    @Test func `external representations of elliptic-curve keys have Apple's sizes`() {
        for (sample, privateSize, publicSize) in [
            (SampleKey.p256, 97, 65), (.p384, 145, 97), (.p521, 199, 133), (.ed25519, 32, 32),
            (.x25519, 32, 32),
        ] {
            #expect(SecKeyCalls.external(sample.privateKey).value?.count == privateSize)
            #expect(SecKeyCalls.external(sample.publicKey).value?.count == publicSize)
        }
    }

    @Test(arguments: SampleKey.all)
    func `both keys of a pair have the same public key and public key hash`(
        sample: SampleKey
    ) throws {
        let external = try #require(SecKeyCalls.external(sample.publicKey).value)
        let hash = Data(Fingerprint.sha1(of: Array(external)))
        #expect(sample.privateKey.publicKeyHash == hash)
        #expect(sample.publicKey.publicKeyHash == hash)
        #expect(SecKeyCopyPublicKey(sample.privateKey) == sample.publicKey)
        #expect(SecKeyCopyPublicKey(sample.publicKey) == sample.publicKey)
        #expect(sample.privateKey != sample.publicKey)
        #expect(!sample.privateKey.isEqual("text"))
    }

    @Test(arguments: SampleKey.all)
    func `keys in PKCS 8 and SubjectPublicKeyInfo are read`(sample: SampleKey) throws {
        guard case .privateKey(let key) = sample.privateKey.material else {
            Issue.record("not a private key")
            return
        }
        let pkcs8 = key.pkcs8Representation
        let read = try #require(AsymmetricPrivateKey(pkcs8: pkcs8))
        #expect(read.externalRepresentation == key.externalRepresentation)
        #expect(AsymmetricPrivateKey(pkcs8: pkcs8.dropLast()) == nil)
        #expect(AsymmetricPrivateKey(pkcs8: pkcs8 + [0]) == nil)
        let info = key.publicKey.subjectPublicKeyInfo
        #expect(AsymmetricPublicKey(subjectPublicKeyInfo: info) == key.publicKey)
        #expect(AsymmetricPublicKey(subjectPublicKeyInfo: info.dropLast()) == nil)
        #expect(AsymmetricPublicKey(subjectPublicKeyInfo: info + [0]) == nil)
        #expect(AsymmetricPrivateKey(pkcs8: info) == nil)
        #expect(AsymmetricPublicKey(subjectPublicKeyInfo: pkcs8) == nil)
        // Apple's external representation of a public key is not a SubjectPublicKeyInfo.
        let external = key.publicKey.externalRepresentation
        #expect(AsymmetricPublicKey(subjectPublicKeyInfo: external) == nil)
    }

    /// RFC 5480: the algorithm identifier states the permitted use of a key, and the parameters of
    /// the identifier state the curve.
    @Test func `a point is accepted only under its own algorithm and curve`() {
        let point = Array(SampleKey.p256.publicKey.publicKey.externalRepresentation)
        func info(_ identifiers: [ASN1ObjectIdentifier]) -> Data {
            let algorithm = DERValue.sequence(identifiers.map { .identifier($0) })
            return Data(DERValue.sequence([algorithm, .bits(point)]).bytes)
        }
        let curve: ASN1ObjectIdentifier = [1, 2, 840, 10045, 3, 1, 7]
        #expect(AsymmetricPublicKey(subjectPublicKeyInfo: info([.ellipticCurve, curve])) != nil)
        let others: [[ASN1ObjectIdentifier]] = [
            // In this order: P-384, secp256k1, no curve, X25519, ECDH only (SEC 1), SM2.
            [.ellipticCurve, [1, 3, 132, 0, 34]], [.ellipticCurve, [1, 3, 132, 0, 10]],
            [.ellipticCurve], [.x25519], [[1, 3, 132, 1, 12], curve],
            [.ellipticCurve, [1, 2, 156, 10197, 1, 301]],
        ]
        for other in others {
            #expect(AsymmetricPublicKey(subjectPublicKeyInfo: info(other)) == nil)
        }
    }

    // MARK: Attributes

    /// The expected values are from Apple's regression tests si-40 and si-41, and from SecKey.m.
    @Test(arguments: SampleKey.all)
    func `the attributes of a key state its kind and permitted uses`(sample: SampleKey) {
        for key in [sample.privateKey, sample.publicKey] {
            let attributes = SecKeyCalls.attributes(key)
            let isRSA = key.shape.kind == .rsa
            let expected: [String: Bool] = [
                "perm": true, "priv": key.isPrivate, "modi": true, "sens": false, "asen": false,
                "extr": true, "next": false, "encr": !key.isPrivate,
                "decr": key.isPrivate || isRSA, "sign": key.isPrivate, "vrfy": !key.isPrivate,
                "snrc": false, "vyrc": false, "wrap": !key.isPrivate, "unwp": key.isPrivate,
                "drve": key.shape.kind == .elliptic || key.shape.kind == .x25519,
            ]
            for (name, value) in expected {
                #expect(attributes[name] as? Bool == value, "\(sample.name) \(name)")
                #expect((attributes[name] as? NSNumber)?.isBoolean ?? true)
            }
            #expect(attributes["kcls"] as? String == (key.isPrivate ? "1" : "0"))
            #expect(attributes["type"] as? String == String(key.shape.kind.keyType))
            #expect(attributes["bsiz"] as? Int == key.shape.sizeInBits)
            #expect(attributes["esiz"] as? Int == key.shape.sizeInBits)
            #expect(attributes["klbl"] as? Data == key.publicKeyHash)
            #expect(attributes["class"] as? String == "keys")
            #expect((attributes["v_Data"] == nil) == key.isPrivate)
        }
    }

    /// Apple doesn't enforce these attributes of software keys either.
    @Test func `the permitted uses of a key are stored and not enforced`() throws {
        let said = ["extr": false, "sens": true, "sign": false]
        var parameters: [String: Any] = said
        parameters["type"] = "73"
        let key = try #require(SecKeyCalls.create(parameters).value)
        for (name, value) in said {
            #expect(SecKeyCalls.attributes(key)[name] as? Bool == value, "\(name)")
        }
        #expect(SecKeyCalls.external(key).value != nil)
        let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
        #expect(SecKeyCalls.sign(key, algorithm, Data([1])).value != nil)
    }

    @Test func `the block size of a key is the size of its modulus or of a coordinate`() {
        for (sample, size) in [
            (SampleKey.rsa1024, 128), (.rsa2048, 256), (.p256, 32), (.p384, 48), (.p521, 66),
            (.ed25519, 32), (.x25519, 32),
        ] {
            #expect(SecKeyGetBlockSize(sample.privateKey) == size)
            #expect(SecKeyGetBlockSize(sample.publicKey) == size)
        }
    }

    @Test func `a key has the type identifier of SecKey, and a string doesn't`() {
        #expect(CFGetTypeID(SampleKey.p256.privateKey) == SecKeyGetTypeID())
        #expect(CFGetTypeID("text" as CFString) != SecKeyGetTypeID())
    }

    @Test(arguments: SampleKey.all)
    func `a key's description doesn't contain the secret`(sample: SampleKey) throws {
        guard case .privateKey(let key) = sample.privateKey.material else { return }
        let secret = key.externalRepresentation.suffix(16)
        let hex = secret.map { String(format: "%02x", $0) }.joined()
        // Base64 encodes bytes in groups of three, and the secret can begin anywhere in a group.
        let base64 = (0..<3).map { start in
            secret.dropFirst(start).base64EncodedString().prefix((16 - start) / 3 * 4)
        }
        let whole = key.externalRepresentation.base64EncodedString()
        #expect(base64.contains { whole.contains($0) })
        let attributes = SecKeyCalls.attributes(sample.privateKey)
        for text in [
            sample.privateKey.description, sample.privateKey.debugDescription, "\(attributes)",
            String(reflecting: sample.privateKey),
        ] {
            #expect(!text.lowercased().contains(hex))
            for encoded in base64 { #expect(!text.contains(encoded)) }
        }
        #expect(sample.privateKey.description.hasPrefix("<SecKey: private key, "))
    }
}

#endif
