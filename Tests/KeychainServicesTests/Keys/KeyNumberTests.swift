// KeyNumberTests: what is computed here and not in the crypto library, against it and against
// published vectors.

#if !canImport(Darwin)

import Foundation
import KeychainCrypto
import Testing

@testable import KeychainServices

@Suite struct `Numbers and hashes of keys` {
    /// FIPS 180-4's examples for SHA-224 (NIST's "Examples with Intermediate Values"), the empty
    /// message, and one of a million times "a".
    static let sha224: [(Data, String)] = [
        (Data("abc".utf8), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (Data(), "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"),
        (
            Data("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
            "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525"
        ),
        (
            Data(repeating: 0x61, count: 1_000_000),
            "20794655980c91d8bbb4c1ea97618a4bf03f42581948b2ee4ee7ad67"
        ),
    ]

    @Test(arguments: sha224) func `SHA-224 is FIPS 180-4's`(message: Data, digest: String) {
        let computed = DigestAlgorithm.sha224.hash(message)
        #expect(computed.map { String(format: "%02x", $0) }.joined() == digest)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func `a digest has its size`(algorithm: DigestAlgorithm) {
        #expect(algorithm.hash(Data([1])).count == algorithm.byteCount)
    }

    /// The bare public operation is ours, the bare private one the library's: each undoes the
    /// other, for numbers at the edges of what a block can hold.
    @Test(arguments: [SampleKey.rsa1024, .rsa2048])
    func `the public operation undoes the private one`(sample: SampleKey) throws {
        let size = sample.publicKey.shape.blockByteCount
        var numbers = [Data(count: size - 1) + [1], Data(count: size - 1) + [2]]
        numbers.append(Data([0]) + Data(repeating: 0xFF, count: size - 1))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            numbers.append(
                Data([0])
                    + Data((1..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        }
        for number in numbers {
            let raised = try #require(
                SecKeyCalls.encrypt(sample.publicKey, .rsaEncryptionRaw, number).value)
            #expect(
                SecKeyCalls.decrypt(sample.privateKey, .rsaEncryptionRaw, raised).value == number)
        }
        #expect(numbers.count == 23)
    }

    /// Keys whose modulus is no whole number of bytes or of 64-bit limbs can be imported and used.
    @Test func `a modulus of an odd size works`() throws {
        let key = try #require(SecKeyCalls.create(["type": "42", "bsiz": 1096]).value)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        for algorithm in [
            SecKeyAlgorithm.rsaSignatureMessagePSSSHA224, .rsaSignatureMessagePKCS1v15SHA224,
        ] {
            let signature = SecKeyCalls.sign(key, algorithm, Data([1])).value ?? Data()
            #expect(signature.count == 137)
            #expect(SecKeyCalls.refusal(publicKey, algorithm, Data([1]), signature) == nil)
        }
        let sealed = SecKeyCalls.encrypt(publicKey, .rsaEncryptionOAEPSHA384, Data([2])).value
        #expect(
            SecKeyCalls.decrypt(key, .rsaEncryptionOAEPSHA384, sealed ?? Data()).value == Data([2]))
    }
}

#endif
