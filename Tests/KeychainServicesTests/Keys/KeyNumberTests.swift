// KeyNumberTests: operations that this package implements itself, compared with the crypto library
// and published vectors.

#if !canImport(Darwin)

import Foundation
import KeychainAsymmetricKeys
import Testing

@testable import KeychainServices

@Suite struct `RSA numbers and hash functions` {
    /// FIPS 180-4's examples for SHA-224 (NIST's "Examples with Intermediate Values"), and the
    /// known digests of the empty message and of a million times "a".
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

    @Test(arguments: sha224) func `SHA-224 gives the published digests`(
        message: Data, digest: String
    ) {
        let computed = DigestAlgorithm.sha224.hash(message)
        #expect(computed.map { String(format: "%02x", $0) }.joined() == digest)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func `each digest has the size of its algorithm`(algorithm: DigestAlgorithm) {
        #expect(algorithm.hash(Data([1])).count == algorithm.byteCount)
    }

    /// This package implements the raw public operation. The crypto library implements the raw
    /// private operation. The test applies both to small, large and random numbers.
    @Test(arguments: [SampleKey.rsa1024, .rsa2048])
    func `the raw private RSA operation inverts the raw public operation`(
        sample: SampleKey
    ) throws {
        let size = sample.publicKey.shape.blockByteCount
        var numbers = [Data(count: size - 1) + [1], Data(count: size - 1) + [2]]
        numbers.append(Data([0]) + Data(repeating: 0xFF, count: size - 1))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20 {
            numbers.append(
                Data([0])
                    + Data((1..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        }
        var undone = 0
        for number in numbers {
            let raised = try #require(
                SecKeyCalls.encrypt(sample.publicKey, .rsaEncryptionRaw, number).value)
            #expect(
                SecKeyCalls.decrypt(sample.privateKey, .rsaEncryptionRaw, raised).value == number)
            undone += 1
        }
        #expect(undone == 23)
    }

    /// The size of each modulus is not a multiple of 8 or of 64 bits. A modulus of 1025 bits has
    /// one byte more than a PSS block.
    @Test(arguments: [(rsa1025, 1025, 129), (rsa1031, 1031, 129)])
    func `RSA keys of unusual sizes can be imported and used`(text: String, size: Int, block: Int)
        throws
    {
        let data = try #require(Data(base64Encoded: text))
        let key = try #require(SecKeyCalls.read(data, ["type": "42", "kcls": "1"]).value)
        let publicKey = try #require(SecKeyCopyPublicKey(key))
        #expect(key.shape == .rsa(sizeInBits: size))
        #expect(SecKeyCalls.external(key).value == data)
        var count = 0
        for algorithm in SecKeyAlgorithm.all {
            guard SecKeyIsAlgorithmSupported(key, .sign, algorithm),
                case .signature(let meaning) = algorithm.meaning
            else { continue }
            let input = `Operations of keys`.input(meaning, SampleKey.rsa1024)
            let signature = SecKeyCalls.sign(key, algorithm, input).value ?? Data()
            #expect(signature.count == block, "\(algorithm.rawValue)")
            #expect(SecKeyCalls.refusal(publicKey, algorithm, input, signature) == nil)
            count += 1
        }
        // Of the 22 RSA signature algorithms, two are unsupported: PSS with SHA-512 needs a modulus
        // of at least 1034 bits.
        #expect(count == 20)
        for algorithm in SecKeyAlgorithm.all
        where SecKeyIsAlgorithmSupported(key, .decrypt, algorithm) {
            let answer = SecKeyCalls.encrypt(publicKey, algorithm, Data([2]))
            let sealed = try #require(answer.value, "\(algorithm.rawValue)")
            let opened = SecKeyCalls.decrypt(key, algorithm, sealed).value
            #expect(opened?.last == 2, "\(algorithm.rawValue)")
            count += 1
        }
        // Of the 12 RSA encryption algorithms, two are unsupported: OAEP with SHA-512 needs a
        // modulus of at least 130 bytes.
        #expect(count == 30)
    }

    /// A PKCS #1 key of 1025 bits, from OpenSSL 3's `genrsa 1025`.
    static let rsa1025 = [
        "MIICXwIBAAKBgQGy5/NEAjSSJ58aE9oKkitHDOAzgsBiqAR5Q/CkTGIGhps/uft0gg/Eqv0NWDx4cAVt",
        "00tAph2mZfvoO59yXmrABsmFVDEy9pYkH4Q9iHGt/Y1UQKr8W15aFKBx9RhPzC8oout1EjuWClkb8yGa",
        "CqEHR9AWMSIFGZjrUNj+B9+9ZwIDAQABAoGBAPXx4kqFjMFSktEmhNoRi1Pk3i2DNdUU+2Kwnzfq0kyq",
        "dsV1IdTjcJNhtzWCvr/FaeyP3zCyQHZHmkvc2/DLoEVp/gsc9ltuxNP4ajSqqzgqPhT9f29b3ynTGhID",
        "QpfSPNpbC8Ce3TyDApf8Y07yhumc+2WbyHitLOz9/l1w6qqhAkEBwLXWd5yzWFDGhjLZ5WoeAAmn4zzi",
        "YWcz1nVg48zJlHfuXTXCmu10Gaz+d8794OsgAVCzYRUw0ropJBaUfy8IbwJBAPgf1RR20mNZeYYLk3wg",
        "z1khtG+GPl59xo97cldmfzU16wSkToa8uTWShgK9OPl/jjLxXe2Ox+MzLcx5uScoZokCQQDsZSBDTfQS",
        "gCPHCb1QJxL9FBk2F5pwlG1z+8z61qYQqQqUYsFO2/DBoilCN3P7bgQjjT+j0wUwz9Di6V58juvTAkEA",
        "xav+gn4jIFkg8oR4a/RrnBO4/vxQ5dCIBrkPH8gdYdPhtuH7WWYymxZvQvFi2YogTD90WBRe9IdKXlM/",
        "CY4rGQJBAJPL/nZ1mGzvRobyomgViZJI7j/Yj5AiCfwZkzcSWGoNvE3+X6BqRJDFcEO1DOuy1dt+m7so",
        "DjX1QlzuguuqsBU=",
    ].joined()

    /// A PKCS #1 key of 1031 bits, from OpenSSL 3's `genrsa 1031`.
    static let rsa1031 = [
        "MIICXwIBAAKBgWcWOMq6su6W8ARV6FDbkMAECribz5qm7rLGqZkyyK5IFagjmcyt4KCQHg42Y/ueD3Wu",
        "GDHcw4Zk8oY7DFyN1uGgeTMLQVYhy3+AZao9W7rKYzDYllHLbwOG2xXX+O3JbSeSHbYfZ2vILzdC17sB",
        "8vKb1vGBvcborUsKtOIWsiixxwIDAQABAoGBJunRiF2Pm9boRYq0RomLi6A699MBPCzVoDCz5ruv23Ik",
        "krLVpNjiGVotrknD1kClL1QHmBLwz/OdRSRXFz0Hp14pSaHyQ3mL78/nEXfttRuItec99h+kq3vJsXaW",
        "eJ/K5cxdtRJGPvPZgSAj1dcbxZV+EcT2aoBNdQOEIBJ5FaTJAkENxB/FxKVgLd/XcnUxqJgtVVqW0htl",
        "BhsPwyEhKcQxvLAq8dg8H01TVapzrocy/51dQKq/iOwT1uRbbFby9arWjQJBB30K9aSJT8MsR/LklvuC",
        "TJw99yNJVKebAWSpzUE6BcGGMq5PPYiy3fCQdzvuubsQRaiHEkHGUxLXOEeQkO1X7qMCQQrxToxHf2nP",
        "rXI2MoBR0v2eLo9a3pnUW6iQ5IHXEHS015ibe9Z2z2Gh5AdmwWPBmtZotBHihj5TAFzH5unkbHN1AkEF",
        "+Zv5DGQTpKN8dS432k7JWhGHVDx6s5FWtz9Vayok1ZmCbtsDOkOeGwjqWoPM5pnBOwsrYhggyPO5EEEl",
        "ont7CQJBAtlNQ7biyf0F76b0hJtp3I1iLx/ZH2NzYqwHtQS6/DRtUZrzm/ZAhtZNQSWfkvk9BCD1wajK",
        "JJLByAnqq2ym07g=",
    ].joined()
}

#endif
