// SectionS: keys and operations with them.

#if !canImport(Darwin)

import Foundation
import KeychainServices
import Testing

private func labelled(_ label: String, _ more: Entries = [:]) -> Entries {
    keys(["labl": label].merging(more) { $1 })
}

private var ellipticCurve: Entries { ["type": "73", "bsiz": 256] }

private func elliptic(_ more: Entries) -> Entries { ellipticCurve.merging(more) { $1 } }

extension Client {
    /// Creates a key for this client. A permanent key is stored in the client's keychain.
    fileprivate func create(_ entries: Entries) throws -> SecKey {
        try withKeychain { try newKey(entries) }
    }

    /// The error code of an attempt to create a key, or `nil` if the attempt succeeds.
    fileprivate func refusal(of entries: Entries) -> Int? {
        code { try create(entries) }
    }
}

/// The error code of a call, or `nil` if the call succeeds.
private func code(
    _ source: SourceLocation = #_sourceLocation, of call: () throws -> Any
) -> Int? {
    do {
        _ = try call()
        return nil
    } catch {
        let refusal = error as? KeyRefusal
        #expect(refusal != nil, "\(error)", sourceLocation: source)
        return refusal?.code
    }
}

private let message = bytes("message")

let sectionS: [Row] = [
    Row(407, "a key that isn't permanent is not in the keychain") { k in
        _ = try k.create(ellipticCurve)
        k.copy(keys()).gives(-25300)
    },
    Row(409, "a key can't be created without a type") { k in
        #expect(k.refusal(of: ["bsiz": 256]) == -50)
    },
    Row(410, "a key that can't be made leaves nothing behind") { k in
        #expect(k.refusal(of: elliptic(["bsiz": 1_000_000, "perm": true, "labl": "L"])) == -50)
        k.copy(labelled("L")).gives(-25300)
    },
    Row(412, "a key that can't be stored leaves nothing behind") { k in
        for own in [[:], ["public": ["perm": true]]] as [Entries] {
            let foreign: Entries = ["perm": true, "labl": "L", "agrp": "nonexistent-access-group"]
            let entries = elliptic(foreign).merging(own) { $1 }
            #expect(k.refusal(of: entries) == -34018)
            k.copy(labelled("L")).gives(-25300)
            k.copy(keys()).gives(-25300)
        }
        // The public key alone could be stored. It isn't, because the private key can't be stored.
        let split: Entries = [
            "perm": true, "public": ["perm": true], "private": ["agrp": "nonexistent"],
        ]
        #expect(k.refusal(of: elliptic(split)) == -34018)
        k.copy(keys()).gives(-25300)
    },
    Row(413, "the two keys of a pair are found and deleted by their own labels") { k in
        let pair = k.generatePair(
            elliptic([
                "perm": true, "private": ["labl": "private"], "public": ["labl": "public"],
            ]))
        #expect(pair.status == 0)
        for (label, made) in [("private", pair.privateKey), ("public", pair.publicKey)] {
            let found = k.copy(labelled(label, ["R.ref": true]))
            #expect(found.result as? SecKey == made)
            #expect(made != nil)
            k.delete(labelled(label)).gives(0)
            k.copy(labelled(label)).gives(-25300)
        }
        k.copy(keys()).gives(-25300)
    },
    Row(415, "either key of a pair is added and deleted by reference") { k in
        for kind in [KnownKey.p256, .rsa2048] {
            let mine = try kind.privateKey()
            for half in [mine, try mine.publicHalf()] {
                k.add(["ref": half]).gives(0)
                k.add(["ref": half]).gives(-25299)
                k.copy(["class": "keys", "ref": half]).gives(0)
                k.delete(["ref": half]).gives(0)
                k.delete(["ref": half]).gives(-25300)
            }
        }
    },
    Row(416, "a private key signs and decrypts and doesn't encrypt or verify") { _ in
        for (kind, type) in [(KnownKey.p256, "73"), (.rsa2048, "42")] {
            let mine = try kind.privateKey()
            let found = try #require(SecKeyCopyAttributes(mine) as? Entries)
            for (name, value) in [
                "encr": false, "decr": true, "sign": true, "vrfy": false, "wrap": false,
                "unwp": true, "modi": true, "sens": false, "extr": true,
            ] {
                #expect(found[name] as? Bool == value, "\(name)")
            }
            #expect(found["kcls"] as? String == "1")
            #expect(found["type"] as? String == type)
            #expect((found["bsiz"] as? NSNumber)?.intValue == kind.bits)
            #expect((found["klbl"] as? Data)?.count == 20)
        }
    },
    Row(418, "an elliptic-curve key can derive and an RSA key can't") { _ in
        for (kind, derives) in [(KnownKey.p256, true), (.rsa2048, false)] {
            let mine = try kind.privateKey()
            for half in [mine, try mine.publicHalf()] {
                let found = try #require(SecKeyCopyAttributes(half) as? Entries)
                #expect(found["drve"] as? Bool == derives)
            }
        }
    },
    Row(419, "the public key of a public key is the same key") { _ in
        for kind in KnownKey.all {
            let mine = try kind.privateKey()
            let half = try mine.publicHalf()
            #expect(try half.publicHalf() == half)
            #expect(mine != half)
        }
    },
    Row(421, "data of a public key are refused as a private key, and the reverse") { _ in
        for kind in [KnownKey.p256, .p384, .p521, .rsa2048] {
            let mine = try kind.privateKey()
            let half = try mine.publicHalf().external()
            #expect(code { try key(kind.kind, .privateKey, half) } == -50)
            let whole = try mine.external()
            #expect(code { try key(kind.kind, .publicKey, whole) } == -50)
        }
    },
    Row(422, "key data with a wrong first byte are refused") { _ in
        for kind in [KnownKey.p256, .p384, .p521, .rsa2048] {
            let mine = try kind.privateKey()
            for (half, whole) in [
                (KeyHalf.privateKey, try mine.external()),
                (.publicKey, try mine.publicHalf().external()),
            ] {
                var data = whole
                data[data.startIndex] ^= 0xFF
                #expect(code { try key(kind.kind, half, data) } == -50)
            }
        }
    },
    Row(427, "a private key verifies no signature") { _ in
        for (kind, name) in signing {
            let mine = try kind.privateKey()
            let signature = try mine.signature(name, message)
            #expect(mine.refusal(name, message, signature) != nil)
            #expect(try mine.publicHalf().refusal(name, message, signature) == nil)
        }
    },
    Row(428, "a signature isn't valid with another algorithm") { _ in
        for (kind, name) in signing {
            let mine = try kind.privateKey()
            let signature = try mine.signature(name, message)
            let half = try mine.publicHalf()
            for other in signing.map(\.1) + ["sign:ECDSA:message-X962:SHA512"] where other != name {
                #expect(half.refusal(other, message, signature) != nil)
            }
        }
    },
    Row(430, "a key doesn't sign with an algorithm of another key type") { _ in
        for (kind, name) in signing {
            for (other, _) in signing where other.kind != kind.kind {
                let mine = try other.privateKey()
                #expect(code { try mine.signature(name, message) } == -50)
            }
        }
    },
    Row(431, "a digest of the wrong size for the hash algorithm is refused") { _ in
        for (kind, family) in [
            (KnownKey.p256, "ECDSA:digest-X962"), (.rsa2048, "RSA:digest-PKCS1v15"),
        ] {
            let mine = try kind.privateKey()
            for count in [0, 20, 31, 33, 64] {
                let digest = Data(repeating: 1, count: count)
                let name = "sign:\(family):SHA256"
                #expect(code { try mine.signature(name, digest) } == -50)
                #expect(try mine.publicHalf().refusal(name, digest, Data(count: 70))?.code == -50)
            }
        }
    },
    Row(433, "a key derivation needs a valid size") { _ in
        let mine = try KnownKey.p256.privateKey()
        let half = try KnownKey.p256.publicKey()
        for name in ["keyexchange:ECDH:KDFX963:SHA256", "keyexchange:ECDHC:KDFX963:SHA1"] {
            #expect(code { try mine.agreed(name, with: half) } == -50)
            for size in [0, -1, .min, .max] {
                #expect(
                    code {
                        try mine.agreed(name, with: half, size: size)
                    } == -50)
            }
            #expect(try mine.agreed(name, with: half, size: 47).count == 47)
        }
    },
    Row(434, "only the right private elliptic-curve key decrypts a message") { _ in
        for kind in [KnownKey.p256, .p384, .p521] {
            let mine = try kind.privateKey()
            let name = "encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV"
            let sealed = try mine.publicHalf().encrypted(name, message)
            #expect(try mine.decrypted(name, sealed) == message)
            let other = try kind.privateKey()
            #expect(code { try other.decrypted(name, sealed) } == -50)
        }
    },
    Row(436, "a private RSA key signs with the padding of PKCS 1") { _ in
        let mine = try KnownKey.rsa2048.privateKey()
        for hash in ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"] {
            #expect(mine.supports(.sign, "sign:RSA:digest-PKCS1v15:\(hash)"))
            #expect(mine.supports(.sign, "sign:RSA:message-PKCS1v15:\(hash)"))
        }
        #expect(mine.supports(.sign, "sign:RSA:digest-PKCS1v15"))
        #expect(mine.supports(.sign, "sign:RSA:raw"))
    },
    Row(437, "a private RSA key doesn't sign with ECDSA") { _ in
        let mine = try KnownKey.rsa2048.privateKey()
        #expect(!mine.supports(.sign, "sign:ECDSA:digest-X962:SHA256"))
        #expect(!mine.supports(.sign, "sign:ECDSA:message-RFC4754:SHA1"))
    },
    Row(439, "a private RSA key doesn't encrypt") { _ in
        let mine = try KnownKey.rsa2048.privateKey()
        for name in ["raw", "PKCS1", "OAEP:SHA1", "OAEP:SHA256", "OAEP:SHA512:AESGCM"] {
            #expect(!mine.supports(.encrypt, "encrypt:RSA:\(name)"))
            #expect(
                code {
                    try mine.encrypted("encrypt:RSA:\(name)", message)
                } == -50)
        }
    },
    Row(440, "an RSA key of 2048 bits encrypts at most 245 bytes with PKCS 1 padding") { _ in
        let half = try KnownKey.rsa2048.publicKey()
        let longest = [UInt8](repeating: 7, count: 245)
        let tooLong = olderKeyFunctions.encrypt(half, .PKCS1, longest + [7], room: 256)
        #expect(tooLong.status == -50)
        let sealed = olderKeyFunctions.encrypt(half, .PKCS1, longest, room: 256)
        #expect(sealed.status == 0)
        let opened = try KnownKey.rsa2048.privateKey()
            .decrypted("encrypt:RSA:PKCS1", Data(sealed.output))
        #expect(opened == Data(longest))
    },
    Row(442, "the paddings of MD2 and MD5 are refused") { _ in
        let mine = try KnownKey.rsa2048.privateKey()
        let digest = [UInt8](repeating: 1, count: 20)
        for padding in [SecPadding.PKCS1MD2, .PKCS1MD5] {
            let answer = olderKeyFunctions.sign(mine, padding, Array(digest[..<16]), room: 256)
            #expect(answer.status == -50)
        }
        #expect(olderKeyFunctions.sign(mine, .PKCS1SHA1, digest, room: 256).status == 0)
    },
    Row(443, "a certificate and a key of another pair don't form an identity") { _ in
        let openSSL = try OpenSSL()
        let mine = try KnownKey.p256.privateKey()
        let pair = try OpenSSLPair(.p256, mine, in: openSSL)
        let der = try openSSL.run([
            "req", "-x509", "-new", "-key", pair.privateFile, "-subj", "/CN=S443",
            "-days", "2", "-outform", "DER",
        ])
        let certificate = try #require(SecCertificateCreateWithData(nil, der as CFData))
        #expect(SecIdentityCreate(nil, certificate, mine) != nil)
        #expect(SecIdentityCreate(nil, certificate, try KnownKey.p256.privateKey()) == nil)
        #expect(SecIdentityCreate(nil, certificate, try KnownKey.rsa2048.privateKey()) == nil)
        #expect(SecIdentityCreate(nil, certificate, try mine.publicHalf()) == nil)
    },
]

/// Keys, each with an algorithm that the key supports.
private let signing: [(KnownKey, String)] = [
    (.p256, "sign:ECDSA:message-X962:SHA256"),
    (.rsa2048, "sign:RSA:message-PKCS1v15:SHA256"),
    (.ed25519, "sign:EdDSA:message-Curve25519:SHA512"),
]

@Suite("S. Keys") struct SectionS {
    @Test(.cases(4 * 23), arguments: Backend.allCases, sectionS)
    func row(on backend: Backend, _ row: Row) throws { try row.run(on: backend) }
}

extension Client {
    func generatePair(
        _ entries: Entries, wanted: Set<KeyHalf> = [.publicKey, .privateKey]
    ) -> GeneratedPair {
        withKeychain { olderKeyFunctions.generate(entries as CFDictionary, wanted: wanted) }
    }
}

#endif
