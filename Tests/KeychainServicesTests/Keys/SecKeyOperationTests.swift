// SecKeyOperationTests: every algorithm with every kind of key. The operations are signing and
// verifying, encrypting and decrypting, and both sides of a key agreement. Apple's SecKey.h states
// which algorithms each kind of key supports.

#if !canImport(Darwin)

import Foundation
import KeychainAsymmetricKeys
import Testing

@testable import KeychainServices

@Suite struct `Operations of keys` {
    static let message = Data("There and back again.".utf8)

    /// The input for a signature: the message, or its digest if the algorithm requires that.
    static func input(_ signature: SignatureAlgorithm, _ key: SampleKey) -> Data {
        switch signature {
        case .rsaPKCS1v15(let hash?, .digest), .rsaPSS(let hash, .digest),
            .ecdsa(let hash?, .digest, _):
            Data(hash.hash(message))
        case .ecdsa(nil, _, _), .rsaPKCS1v15(nil, _): Data(DigestAlgorithm.sha256.hash(message))
        default: message
        }
    }

    @Test func `every algorithm in Apple's SecKey.h is implemented, and no other known one is`() {
        let names: [SecKeyAlgorithm] = PublicAlgorithms.all
        #expect(Set(names).count == names.count)
        func isImplemented(_ algorithm: SecKeyAlgorithm) -> Bool {
            switch algorithm.meaning {
            case .notImplemented?, nil: false
            default: true
            }
        }
        for name in names { #expect(isImplemented(name), "\(name.rawValue)") }
        let others = Set(SecKeyAlgorithm.all).subtracting(names)
        for name in others { #expect(!isImplemented(name), "\(name.rawValue)") }
        #expect(
            Set(others.map { $0.rawValue as String }) == [
                "algid:sign:EdDSA:message-Curve448:SHAKE256", "algid:kem:kyber",
                "algid:kem:ML-KEM", "algid:sign:ML-DSA:message",
            ])
    }

    @Test(arguments: SampleKey.all)
    func `a signature verifies only for the signed input`(sample: SampleKey) {
        var counts = (done: 0, refused: 0)
        for algorithm in SecKeyAlgorithm.all {
            guard case .signature(let signature) = algorithm.meaning else { continue }
            let input = Self.input(signature, sample)
            let answer = SecKeyCalls.sign(sample.privateKey, algorithm, input)
            let isSupported = SecKeyIsAlgorithmSupported(sample.privateKey, .sign, algorithm)
            #expect(isSupported == (answer.value != nil), "\(algorithm.rawValue)")
            guard let signed = answer.value else {
                #expect(answer.code == errSecParam)
                counts.refused += 1
                continue
            }
            counts.done += 1
            #expect(SecKeyIsAlgorithmSupported(sample.publicKey, .verify, algorithm))
            #expect(
                SecKeyCalls.refusal(sample.publicKey, algorithm, input, signed) == nil,
                "\(algorithm.rawValue)")
            var other = input
            other[other.startIndex] ^= 1
            #expect(
                SecKeyCalls.refusal(sample.publicKey, algorithm, other, signed)
                    == errSecVerifyFailed)
            var broken = signed
            broken[broken.endIndex - 1] ^= 1
            #expect(
                SecKeyCalls.refusal(sample.publicKey, algorithm, input, broken)
                    == errSecVerifyFailed)
        }
        let expected =
            switch sample.privateKey.shape {
            // PSS with SHA-512 needs more than 1024 bits.
            case .rsa(1024): 20
            case .rsa: 22
            case .elliptic: 23
            case .ed25519: 1
            case .x25519: 0
            }
        #expect(counts.done == expected)
        #expect(counts.done + counts.refused == 46)
    }

    @Test(arguments: [SampleKey.rsa2048, .p256, .p384, .p521])
    func `a signature made from a message verifies with the message's digest, and vice versa`(
        sample: SampleKey
    ) {
        var count = 0
        for algorithm in SecKeyAlgorithm.all {
            let hash: DigestAlgorithm
            switch algorithm.meaning {
            case .signature(.rsaPKCS1v15(let some?, .message)),
                .signature(.rsaPSS(let some, .message)),
                .signature(.ecdsa(let some?, .message, _)):
                hash = some
            default: continue
            }
            guard SecKeyIsAlgorithmSupported(sample.privateKey, .sign, algorithm) else { continue }
            let name = algorithm.rawValue as String
            let ofDigest = SecKeyAlgorithm(
                name: name.replacingOccurrences(of: "message", with: "digest"))
            let digest = Data(hash.hash(Self.message))
            for (maker, made, checker, checked) in [
                (algorithm, Self.message, ofDigest, digest),
                (ofDigest, digest, algorithm, Self.message),
            ] {
                let signature = SecKeyCalls.sign(sample.privateKey, maker, made).value ?? Data()
                #expect(
                    SecKeyCalls.refusal(sample.publicKey, checker, checked, signature) == nil,
                    "\(name)")
            }
            count += 1
        }
        #expect(count == 10)
    }

    @Test(arguments: SampleKey.all)
    func `only the right key and an unchanged ciphertext give the message`(
        sample: SampleKey
    ) throws {
        let attributes = SecKeyCalls.attributes(sample.privateKey)
        let other = try #require(
            SecKeyCalls.create([
                "type": attributes["type"] as Any, "bsiz": attributes["bsiz"] as Any,
            ]).value)
        var count = 0
        for algorithm in SecKeyAlgorithm.all {
            guard case .encryption(let encryption) = algorithm.meaning else { continue }
            let supported = SecKeyIsAlgorithmSupported(sample.publicKey, .encrypt, algorithm)
            #expect(
                supported == SecKeyIsAlgorithmSupported(sample.privateKey, .decrypt, algorithm))
            #expect(!SecKeyIsAlgorithmSupported(sample.privateKey, .encrypt, algorithm))
            let message = Data("sixteen bytes...".utf8)
            let answer = SecKeyCalls.encrypt(sample.publicKey, algorithm, message)
            #expect(supported == (answer.value != nil), "\(algorithm.rawValue)")
            #expect(SecKeyCalls.encrypt(sample.privateKey, algorithm, message).code == errSecParam)
            guard let ciphertext = answer.value else {
                #expect(answer.code == errSecParam)
                continue
            }
            count += 1
            let opened = SecKeyCalls.decrypt(sample.privateKey, algorithm, ciphertext).value
            let byOther = SecKeyCalls.decrypt(other, algorithm, ciphertext).value
            if encryption == .rsaRaw {
                let block = Data(count: sample.publicKey.shape.blockByteCount - message.count)
                #expect(opened == block + message)
                #expect(byOther != block + message)
                continue
            }
            #expect(opened == message, "\(algorithm.rawValue)")
            #expect(byOther != message, "\(algorithm.rawValue)")
            var broken = ciphertext
            broken[broken.endIndex - 1] ^= 1
            let fromBroken = SecKeyCalls.decrypt(sample.privateKey, algorithm, broken)
            #expect(fromBroken.value != message, "\(algorithm.rawValue)")
            // One in about 100000 random blocks has a valid PKCS #1 v1.5 padding, and is decrypted.
            if encryption != .rsaPKCS1 { #expect(fromBroken.code == errSecParam) }
            #expect(
                SecKeyCalls.decrypt(sample.privateKey, algorithm, ciphertext.dropLast()).code
                    == errSecParam)
        }
        let expected =
            switch sample.privateKey.shape {
            // OAEP with SHA-512 needs more than 1024 bits.
            case .rsa(1024): 10
            case .rsa: 12
            case .elliptic: 18
            case .ed25519, .x25519: 0
            }
        #expect(count == expected)
    }

    @Test func `the hybrid algorithms encrypt empty, short and long messages`() {
        for (sample, algorithm) in [
            (SampleKey.p384, SecKeyAlgorithm.eciesEncryptionStandardX963SHA256AESGCM),
            (.p521, .eciesEncryptionCofactorVariableIVX963SHA224AESGCM),
            (.rsa2048, .rsaEncryptionOAEPSHA512AESGCM),
        ] {
            for size in [0, 1, 5000] {
                let message = Data(repeating: 7, count: size)
                let sealed = SecKeyCalls.encrypt(sample.publicKey, algorithm, message).value
                #expect(
                    SecKeyCalls.decrypt(sample.privateKey, algorithm, sealed ?? Data()).value
                        == message)
            }
        }
    }

    /// The sizes are from the descriptions of the algorithms in Apple's SecKey.h.
    @Test func `a message that doesn't fit into an RSA block is refused`() {
        let key = SampleKey.rsa2048.publicKey
        for (algorithm, room) in [
            (SecKeyAlgorithm.rsaEncryptionPKCS1, 245), (.rsaEncryptionOAEPSHA1, 214),
            (.rsaEncryptionOAEPSHA224, 198), (.rsaEncryptionOAEPSHA256, 190),
            (.rsaEncryptionOAEPSHA384, 158), (.rsaEncryptionOAEPSHA512, 126),
        ] {
            #expect(SecKeyCalls.encrypt(key, algorithm, Data(count: room)).value?.count == 256)
            #expect(SecKeyCalls.encrypt(key, algorithm, Data(count: room + 1)).code == errSecParam)
        }
        let tooBig = Data(repeating: 0xFF, count: 256)
        #expect(SecKeyCalls.encrypt(key, .rsaEncryptionRaw, tooBig).code == errSecParam)
        #expect(
            SecKeyCalls.sign(SampleKey.rsa2048.privateKey, .rsaSignatureRaw, tooBig).code
                == errSecParam)
    }

    @Test func `decrypting a raw RSA signature with the public key gives the signed number`() {
        let number = Data(repeating: 0x5A, count: 256)
        let sample = SampleKey.rsa2048
        let signed = SecKeyCalls.sign(sample.privateKey, .rsaSignatureRaw, number).value ?? Data()
        #expect(SecKeyCalls.decrypt(sample.publicKey, .rsaEncryptionRaw, signed).value == number)
        #expect(SecKeyIsAlgorithmSupported(sample.publicKey, .decrypt, .rsaEncryptionRaw))
    }

    @Test(arguments: [SampleKey.p256, .p384, .p521, .x25519])
    func `both parties agree on the same secret`(sample: SampleKey) throws {
        let parameters = ["type": SecKeyCalls.attributes(sample.privateKey)["type"] as Any]
        let size = SecKeyCalls.attributes(sample.privateKey)["bsiz"] as Any
        let peer = try #require(
            SecKeyCalls.create(parameters.merging(["bsiz": size]) { old, _ in old }).value)
        let peerPublic = try #require(SecKeyCopyPublicKey(peer))
        var secrets: Set<Data> = []
        var count = 0
        for algorithm in SecKeyAlgorithm.all {
            guard case .keyExchange(let exchange) = algorithm.meaning else { continue }
            let derives = exchange != .ecdh
            let settings: [String: Any] =
                derives ? ["requestedSize": 80, "sharedInfo": Data("info".utf8)] : [:]
            let ours = SecKeyCalls.exchange(sample.privateKey, algorithm, peerPublic, settings)
            let theirs = SecKeyCalls.exchange(peer, algorithm, sample.publicKey, settings)
            #expect(ours.value == theirs.value && ours.value != nil, "\(algorithm.rawValue)")
            let expected = derives ? 80 : sample.privateKey.shape.blockByteCount
            #expect(ours.value?.count == expected)
            secrets.insert(ours.value ?? Data())
            count += 1
        }
        #expect(count == 12)
        // The algorithms with and without the cofactor give the same secret. Each hash function
        // gives a different secret.
        #expect(secrets.count == 6)
    }

    @Test
    func `an agreement requires a public key on the same curve, and a derivation requires a size`()
    {
        let own = SampleKey.p256.privateKey
        let peer = SampleKey.p256.publicKey
        let derive = SecKeyAlgorithm.ecdhKeyExchangeStandardX963SHA256
        for size: Any in [0, -1, "x", 1 << 40] {
            #expect(
                SecKeyCalls.exchange(own, derive, peer, ["requestedSize": size]).code
                    == errSecParam)
        }
        #expect(SecKeyCalls.exchange(own, derive, peer).code == errSecParam)
        let plain = SecKeyAlgorithm.ecdhKeyExchangeStandard
        #expect(SecKeyCalls.exchange(own, plain, own).code == errSecParam)
        #expect(SecKeyCalls.exchange(peer, plain, peer).code == errSecParam)
        #expect(SecKeyCalls.exchange(own, plain, SampleKey.p384.publicKey).code == errSecParam)
        #expect(SecKeyCalls.exchange(own, plain, SampleKey.x25519.publicKey).code == errSecParam)
        let rsa = SampleKey.rsa2048
        #expect(SecKeyCalls.exchange(rsa.privateKey, plain, rsa.publicKey).code == errSecParam)
    }

    @Test func `the keys of a parameter dictionary can be parameters or their raw values`() {
        let parameters: NSDictionary = [
            SecKeyKeyExchangeParameter.requestedSize.rawValue: 16,
            SecKeyKeyExchangeParameter.sharedInfo.rawValue: NSData(data: Data([1])),
        ]
        let key = SampleKey.p256
        let derive = SecKeyAlgorithm.ecdhKeyExchangeCofactorX963SHA1
        let byRawValue = unsafe SecKeyCalls.answer {
            unsafe SecKeyCopyKeyExchangeResult(
                key.privateKey, derive, key.publicKey, parameters, $0)
        }
        let byParameter = unsafe SecKeyCalls.answer {
            unsafe SecKeyCopyKeyExchangeResult(
                key.privateKey, derive, key.publicKey,
                [
                    SecKeyKeyExchangeParameter.requestedSize: 16,
                    SecKeyKeyExchangeParameter.sharedInfo: Data([1]),
                ] as [SecKeyKeyExchangeParameter: Any] as CFDictionary, $0)
        }
        #expect(byRawValue.value?.length == 16)
        #expect(byRawValue.value == byParameter.value)
    }

    @Test func `digests of a wrong size are refused`() {
        for (sample, algorithm) in [
            (SampleKey.p256, SecKeyAlgorithm.ecdsaSignatureDigestX962SHA256),
            (.p384, .ecdsaSignatureDigestRFC4754SHA384),
            (.rsa2048, .rsaSignatureDigestPKCS1v15SHA512), (.rsa2048, .rsaSignatureDigestPSSSHA1),
        ] {
            for size in [0, 19, 31, 33, 65] {
                let digest = Data(count: size)
                #expect(SecKeyCalls.sign(sample.privateKey, algorithm, digest).code == errSecParam)
                #expect(
                    SecKeyCalls.refusal(sample.publicKey, algorithm, digest, Data(count: 64))
                        == errSecParam)
            }
        }
    }

    @Test func `signing or verifying with the wrong key of a pair is refused`() {
        for sample in [SampleKey.rsa2048, .p256, .ed25519] {
            let algorithm: SecKeyAlgorithm =
                switch sample.privateKey.shape.kind {
                case .rsa: .rsaSignatureMessagePSSSHA256
                case .elliptic: .ecdsaSignatureMessageX962SHA256
                default: .edDSASignatureMessageCurve25519SHA512
                }
            let signature =
                SecKeyCalls.sign(sample.privateKey, algorithm, Self.message).value ?? Data()
            #expect(
                SecKeyCalls.sign(sample.publicKey, algorithm, Self.message).code == errSecParam)
            #expect(
                SecKeyCalls.refusal(sample.privateKey, algorithm, Self.message, signature)
                    == errSecParam)
            #expect(!SecKeyIsAlgorithmSupported(sample.publicKey, .sign, algorithm))
        }
    }

    @Test func `unimplemented algorithms give errSecUnimplemented, unknown ones errSecParam`() {
        for name in [
            "algid:sign:EdDSA:message-Curve448:SHAKE256", "algid:kem:ML-KEM",
            "algid:sign:ML-DSA:message",
        ] {
            let algorithm = SecKeyAlgorithm(rawValue: name as CFString)
            let key = SampleKey.p256.privateKey
            #expect(SecKeyCalls.sign(key, algorithm, Self.message).code == errSecUnimplemented)
            #expect(!SecKeyIsAlgorithmSupported(key, .sign, algorithm))
        }
        let unknown = SecKeyAlgorithm("algid:sign:nothing" as CFString)
        #expect(
            SecKeyCalls.sign(SampleKey.p256.privateKey, unknown, Self.message).code == errSecParam)
    }
}

#endif
