// CryptoService: known answers, properties, and what each wrong input is answered with.

import Crypto
import Foundation
import Testing

@testable import Keychain

/// Bytes of hexadecimal digits.
private func bytes(_ digits: String) -> Data {
    var data = Data()
    var rest = digits[...]
    while !rest.isEmpty {
        data.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
        rest = rest.dropFirst(2)
    }
    return data
}

/// A row of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B, as
/// submitted to NIST: the test cases with 256-bit keys and 96-bit nonces.
struct GCMVector: CustomTestStringConvertible {
    let number: Int
    let key: String
    let nonce: String
    var plaintext = ""
    var associatedData = ""
    var ciphertext = ""
    let tag: String

    var testDescription: String { "test case \(number)" }

    static let key15 = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    static let plaintext15 =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
    static let ciphertext15 =
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"

    static let all = [
        GCMVector(
            number: 13, key: String(repeating: "0", count: 64),
            nonce: String(repeating: "0", count: 24), tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        GCMVector(
            number: 14, key: String(repeating: "0", count: 64),
            nonce: String(repeating: "0", count: 24),
            plaintext: String(repeating: "0", count: 32),
            ciphertext: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        GCMVector(
            number: 15, key: key15, nonce: "cafebabefacedbaddecaf888", plaintext: plaintext15,
            ciphertext: ciphertext15, tag: "b094dac5d93471bdec1a502270e3cc6c"),
        GCMVector(
            number: 16, key: key15, nonce: "cafebabefacedbaddecaf888",
            plaintext: String(plaintext15.dropLast(8)),
            associatedData: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            ciphertext: String(ciphertext15.dropLast(8)),
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]
}

@Suite struct CryptoServiceTests {
    let service = CryptoService()

    @Test func `all known answers are run`() {
        #expect(GCMVector.all.map(\.number) == [13, 14, 15, 16])
    }

    @Test(arguments: GCMVector.all)
    func `known answers come out both ways`(_ vector: GCMVector) throws {
        let key = try service.keyFromData(bytes(vector.key))
        let combined = bytes(vector.nonce + vector.ciphertext + vector.tag)
        #expect(
            try service.encrypt(
                bytes(vector.plaintext), using: key,
                nonce: AES.GCM.Nonce(data: bytes(vector.nonce)),
                authenticating: bytes(vector.associatedData)) == combined)
        #expect(
            try service.decrypt(
                combined, using: key, authenticating: bytes(vector.associatedData))
                == bytes(vector.plaintext))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 255, 1 << 20])
    func `what is encrypted comes back, and is 28 bytes longer meanwhile`(count: Int) throws {
        let key = service.generateKey()
        let plaintext = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        let sealed = try service.encrypt(plaintext, using: key)
        #expect(sealed.count == count + 28)
        #expect(try service.decrypt(sealed, using: key) == plaintext)
        let bound = try service.encrypt(plaintext, using: key, authenticating: Data("a".utf8))
        #expect(try service.decrypt(bound, using: key, authenticating: [0x61]) == plaintext)
        // A part of a larger buffer is as good as a whole one.
        let slice = (Data([1, 2, 3]) + sealed).dropFirst(3)
        #expect(try service.decrypt(slice, using: key) == plaintext)
    }

    @Test func `the same data are never encrypted to the same bytes`() throws {
        let key = service.generateKey()
        let all = try Set((0..<200).map { _ in try service.encrypt(Data("x".utf8), using: key) })
        #expect(all.count == 200)
        #expect(Set(all.map { $0.prefix(12) }).count == 200)
        #expect(Set((0..<50).map { _ in service.generateKey().keychainData }).count == 50)
        #expect(service.generateKey().bitCount == 256)
    }

    @Test func `every changed bit is found`() throws {
        let key = service.generateKey()
        let sealed = try service.encrypt(Data("five5".utf8), using: key)
        for bit in 0..<(sealed.count * 8) {
            var altered = sealed
            altered[bit / 8] ^= 1 << (bit % 8)
            let error = failure { _ = try service.decrypt(altered, using: key) }
            #expect(error?.code == .decryptionFailed, "bit \(bit)")
        }
    }

    @Test func `what is cut off or added is found`() throws {
        let key = service.generateKey()
        let sealed = try service.encrypt(Data("five5".utf8), using: key)
        for count in 0..<sealed.count {
            let error = failure { _ = try service.decrypt(sealed.prefix(count), using: key) }
            #expect(error?.code == (count < 28 ? .invalidData : .decryptionFailed))
            #expect(error?.operation == .decrypt)
        }
        #expect(
            failure { _ = try service.decrypt(sealed + [0], using: key) }?.code
                == .decryptionFailed)
    }

    @Test func `another key or other associated data don't decrypt`() throws {
        let key = service.generateKey()
        let sealed = try service.encrypt(
            Data("x".utf8), using: key, authenticating: Data("a".utf8))
        let errors = [
            failure {
                _ = try service.decrypt(
                    sealed, using: service.generateKey(), authenticating: Data("a".utf8))
            },
            failure { _ = try service.decrypt(sealed, using: key) },
            failure {
                _ = try service.decrypt(sealed, using: key, authenticating: Data("b".utf8))
            },
        ]
        #expect(errors.map { $0?.code } == Array(repeating: .decryptionFailed, count: 3))
    }

    @Test(arguments: [1, 16, 24, 31, 33, 64])
    func `a key of another size is refused everywhere`(count: Int) throws {
        let raw = Data(repeating: 7, count: count)
        let key = SymmetricKey(data: raw)
        let sealed = try service.encrypt(Data(), using: service.generateKey())
        #expect(failure { _ = try service.encrypt(Data(), using: key) }?.code == .invalidKey)
        #expect(failure { _ = try service.decrypt(sealed, using: key) }?.code == .invalidKey)
        #expect(failure { _ = try service.keyToData(key) }?.code == .invalidKey)
        #expect(failure { _ = try service.keyFromData(raw) }?.code == .invalidData)
        #expect(failure { _ = try service.keyFromData(Data()) }?.code == .invalidData)
    }

    @Test func `a key comes back from its bytes`() throws {
        let key = service.generateKey()
        let data = try service.keyToData(key)
        #expect(data.count == 32)
        #expect(try service.keyFromData(data) == key)
    }

    @Test(arguments: Way.allCases)
    func `a key that was generated, saved and loaded decrypts what it encrypted`(
        way: Way
    ) throws {
        let database = try TestDatabase(way)
        let key = service.generateKey()
        let sealed = try service.encrypt(Data("secret".utf8), using: key)
        try database.keychain().save(key, for: .sized)
        let loaded = try #require(try database.keychain().load(.sized))
        #expect(try service.decrypt(sealed, using: loaded) == Data("secret".utf8))
    }
}
