// SecKeyLegacyTests: Apple's key functions that are older than SecKeyAlgorithm.

#if !canImport(Darwin)

import Foundation
import KeychainRuntime
import KeychainAsymmetricKeys
import KeychainEngine
import KeychainCore
import KeychainTesting
import Testing

@testable import KeychainServices

@Suite struct `Older functions on keys` {
    private let old = olderKeyFunctions

    /// Each entry: a key, a padding, the size of a digest in bytes, and the algorithm for them. The
    /// algorithm is equivalent to the one that Apple's SecKey.m selects.
    static let signatures: [(SampleKey, SecPadding, Int, SecKeyAlgorithm)] = [
        (.rsa2048, .PKCS1, 30, .rsaSignatureDigestPKCS1v15Raw),
        (.rsa2048, .PKCS1SHA1, 20, .rsaSignatureDigestPKCS1v15SHA1),
        (.rsa2048, .PKCS1SHA224, 28, .rsaSignatureDigestPKCS1v15SHA224),
        (.rsa2048, .PKCS1SHA256, 32, .rsaSignatureDigestPKCS1v15SHA256),
        (.rsa2048, .PKCS1SHA384, 48, .rsaSignatureDigestPKCS1v15SHA384),
        (.rsa2048, .PKCS1SHA512, 64, .rsaSignatureDigestPKCS1v15SHA512),
        (.rsa2048, [], 200, .rsaSignatureRaw),
        (.p256, .PKCS1, 32, .ecdsaSignatureDigestX962),
        (.p384, [], 20, .ecdsaSignatureDigestX962),
        (.p521, .sigRaw, 64, .ecdsaSignatureDigestRFC4754),
    ]

    @Test func `each padding signs and verifies with the corresponding algorithm`() {
        for (sample, padding, size, algorithm) in Self.signatures {
            let digest = [UInt8](repeating: 5, count: size)
            let (status, signature) = old.sign(sample.privateKey, padding, digest, room: 512)
            #expect(status == errSecSuccess)
            #expect(
                SecKeyCalls.refusal(sample.publicKey, algorithm, Data(digest), Data(signature))
                    == nil, "\(algorithm.rawValue)")
            #expect(old.verify(sample.publicKey, padding, digest, signature) == errSecSuccess)
            var broken = signature
            broken[broken.count - 1] ^= 1
            #expect(old.verify(sample.publicKey, padding, digest, broken) == errSecVerifyFailed)
            #expect(old.verify(sample.privateKey, padding, digest, signature) == errSecParam)
        }
    }

    @Test func `MD2, MD5 and paddings that don't suit the key are refused`() {
        for padding in [SecPadding.PKCS1MD2, .PKCS1MD5, .sigRaw, SecPadding(rawValue: 77)] {
            let key = SampleKey.rsa2048.privateKey
            let (status, buffer) = old.sign(key, padding, [1, 2, 3], room: 256)
            #expect(status == errSecParam)
            #expect(buffer.allSatisfy { $0 == 0xEE })
        }
        let curve = SampleKey.ed25519.privateKey
        #expect(old.sign(curve, .PKCS1, [1], room: 64).0 == errSecParam)
        #expect(old.encrypt(SampleKey.p256.publicKey, .PKCS1, [1], room: 512).0 == errSecParam)
    }

    @Test func `a result that doesn't fit into the buffer isn't written`() {
        let sample = SampleKey.rsa2048
        let digest = [UInt8](repeating: 5, count: 32)
        let (status, buffer) = old.sign(sample.privateKey, .PKCS1SHA256, digest, room: 255)
        #expect(status == errSecParam)
        #expect(buffer.count == 255 && buffer.allSatisfy { $0 == 0xEE })
        let (_, block) = old.encrypt(sample.publicKey, .PKCS1, [1, 2, 3], room: 256)
        let (short, message) = old.decrypt(sample.privateKey, .PKCS1, block, room: 2)
        #expect(short == errSecParam)
        #expect(message == [0xEE, 0xEE])
    }

    @Test func `single blocks are encrypted and decrypted`() {
        let sample = SampleKey.rsa2048
        for (padding, room) in [(SecPadding.PKCS1, 245), (.OAEP, 214), ([], 255)] {
            let message = [UInt8](repeating: 9, count: room)
            let (status, block) = old.encrypt(sample.publicKey, padding, message, room: 256)
            #expect(status == errSecSuccess && block.count == 256)
            let (opened, result) = old.decrypt(sample.privateKey, padding, block, room: 256)
            #expect(opened == errSecSuccess)
            #expect(result == message)
        }
        let tooLong = [UInt8](repeating: 9, count: 246)
        #expect(old.encrypt(sample.publicKey, .PKCS1, tooLong, room: 256).0 == errSecParam)
    }

    @Test func `both keys of a pair are stored if the top level of the parameters requests it`()
        throws
    {
        let keychain = TestKeychain()
        try KeychainContext.$connection.withValue(keychain.connection) {
            let parameters: [String: Any] = [
                "type": "73", "bsiz": 256, "perm": true, "private": ["labl": "private half"],
                "public": ["labl": "public half"],
            ]
            let pair = old.generate(
                parameters as CFDictionary, wanted: [.publicKey, .privateKey])
            #expect(pair.status == errSecSuccess)
            #expect(try SecKeyCopyPublicKey(#require(pair.privateKey)) == pair.publicKey)
            let items = try keychain.connection.handler.perform(
                FindItems(ItemQuery(itemClass: .key), Retrieval(limit: nil)),
                as: keychain.connection.caller)
            #expect(
                items.map { $0.attributes[.label] } == [
                    .string("public half"), .string("private half"),
                ])
        }
    }

    @Test func `only the requested keys of a pair are returned`() {
        let pair = old.generate(["type": "73"] as CFDictionary, wanted: [.privateKey])
        #expect(pair.status == errSecSuccess)
        #expect(pair.publicKey == nil)
        #expect(pair.privateKey != nil)
        let none = old.generate(
            ["type": "99"] as CFDictionary, wanted: [.publicKey, .privateKey])
        #expect(none.status == errSecParam)
        #expect(none.publicKey == nil && none.privateKey == nil)
    }
}

#endif
