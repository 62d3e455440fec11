// The age format: the community's test vectors, and files that `AgeWriter` writes.
//
// The vectors are a selection of those in the repository C2SP/CCTV. Left out are the vectors for
// armored files, for types of keys that backups don't use, and for rules that another vector tests.
// A file of more than 64 KiB is stored as its header and a recipe for its chunks.

import Crypto
import Foundation
import KeychainCore
import KeychainCrypto
import Testing

private struct AgeVector: Decodable, Sendable, CustomTestStringConvertible {
    let name: String
    let expect: String
    let identities: [String]
    let passphrases: [String]
    let fileSHA256: String
    let file: Data
    let payloadSHA256: String?
    /// The parts that follow ``file`` in the whole file, with one text for each part. A text of one
    /// digit is a chunk of 65536 bytes, each with that value. An "L" after the digit marks the last
    /// chunk. "E" is an empty last chunk. A longer text consists of hexadecimal digits, whose bytes
    /// are appended without encryption.
    let chunks: [String]?
    let fileKey: String?
    let nonce: String?

    var testDescription: String { name }

    static func all() throws -> [AgeVector] {
        struct File: Decodable { let tests: [AgeVector] }
        let path = (#filePath as NSString).deletingLastPathComponent + "/../AgeVectors/age.json"
        return try JSONDecoder().decode(
            File.self, from: Data(contentsOf: URL(filePath: path))
        ).tests
    }

    /// The whole file.
    func bytes() throws -> Data {
        guard let chunks else { return file }
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes(ofHex: fileKey)), salt: bytes(ofHex: nonce),
            info: Data("payload".utf8), outputByteCount: 32)
        var result = file
        for (number, chunk) in chunks.enumerated() {
            guard chunk == "E" || chunk.count <= 2, let value = UInt8(chunk.prefix(1), radix: 16)
            else {
                result += bytes(ofHex: chunk)
                continue
            }
            let isLast = chunk.hasSuffix("L") || chunk == "E"
            let content = Data(repeating: value, count: chunk == "E" ? 0 : 1 << 16)
            var nonce = Data(count: 12)
            nonce[10] = UInt8(number)
            nonce[11] = isLast ? 1 : 0
            let box = try ChaChaPoly.seal(
                content, using: key, nonce: ChaChaPoly.Nonce(data: nonce))
            result += box.ciphertext + box.tag
        }
        return result
    }

    private func bytes(ofHex text: String?) -> Data {
        var text = (text ?? "")[...]
        var bytes = Data()
        while let byte = UInt8(text.prefix(2), radix: 16) {
            bytes.append(byte)
            text = text.dropFirst(2)
        }
        return bytes
    }

    var allIdentities: [AgeIdentity] {
        identities.compactMap { AgeIdentity(text: Array($0.utf8)) }
            + passphrases.map { .passphrase(SecretBytes(copying: Array($0.utf8))) }
    }
}

/// A temporary file for one test.
private final class ScratchFile {
    let handle: FileHandle
    private let path: String

    init(_ content: Data = Data()) throws {
        path = NSTemporaryDirectory() + "age-test-" + UUID().uuidString
        try content.write(to: URL(filePath: path))
        handle = try #require(FileHandle(forUpdatingAtPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var descriptor: Int32 { handle.fileDescriptor }
    var content: Data { FileManager.default.contents(atPath: path) ?? Data() }
}

@Suite struct `The age format` {
    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The content of a file, or the reason why it can't be decrypted.
    private static func open(
        _ bytes: Data, _ identities: [AgeIdentity]
    ) throws -> Result<Data, AgeFailure> {
        let file = try ScratchFile(bytes)
        do throws(AgeFailure) {
            let reader = try AgeReader(file.descriptor, identities)
            var content = Data()
            while let chunk = try reader.next() { content += chunk }
            return .success(content)
        } catch {
            return .failure(error)
        }
    }

    private static func write(
        _ content: Data, to recipients: [AgeRecipient], cost: PasscodeCost = .cheap
    ) throws -> Data {
        let file = try ScratchFile()
        let writer = try AgeWriter(recipients, to: file.descriptor, cost: cost)
        try writer.write(content)
        try writer.finish()
        return file.content
    }

    @Test func `the community's test vectors give the documented results`() throws {
        let tests = try AgeVector.all()
        var counts: [String: Int] = [:]
        for test in tests {
            let bytes = try test.bytes()
            try #require(Self.hex(SHA256.hash(data: bytes)) == test.fileSHA256, "\(test.name)")
            counts[test.expect, default: 0] += 1
            let result = try Self.open(bytes, test.allIdentities)
            switch (test.expect, result) {
            case ("success", .success(let content)):
                #expect(
                    Self.hex(SHA256.hash(data: content)) == test.payloadSHA256, "\(test.name)")
            case ("no match", .failure(.noMatch)), ("HMAC failure", .failure(.code)),
                ("header failure", .failure(.header)), ("payload failure", .failure(.payload)):
                break
            default: Issue.record("\(test.name): \(test.expect), but \(result)")
            }
        }
        #expect(
            counts == [
                "success": 7, "no match": 4, "HMAC failure": 1, "header failure": 22,
                "payload failure": 2,
            ])
    }

    @Test(arguments: [0, 1, 65535, 65536, 65537, 131_072, 200_000])
    func `a written file is read back, unless it was truncated or extended`(_ count: Int) throws {
        let identity = try #require(AgeIdentity(text: Array(Self.privateKey.utf8)))
        let recipient = try #require(identity.recipient)
        let content = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let bytes = try Self.write(content, to: [recipient])
        #expect(try Self.open(bytes, [identity]) == .success(content))
        // The file can't be decrypted without its last byte, without its last 17 bytes (a tag and
        // one more byte), or without its last 65552 bytes (the size of a whole chunk with its tag).
        for kept in [bytes.count - 1, bytes.count - 17, bytes.count - 65552] where kept > 200 {
            let result = try Self.open(bytes.prefix(kept), [identity])
            #expect(result == .failure(.payload))
        }
        #expect(try Self.open(bytes + [0], [identity]) == .failure(.payload))
    }

    @Test func `a file with a flipped bit in any byte is refused`() throws {
        let identity = try #require(AgeIdentity(text: Array(Self.privateKey.utf8)))
        let bytes = try Self.write(
            Data("content".utf8), to: [try #require(identity.recipient)])
        for position in bytes.indices {
            var flipped = bytes
            flipped[position] ^= 1 << UInt8(position % 8)
            guard case .failure = try Self.open(flipped, [identity]) else {
                Issue.record("bit \(position % 8) of byte \(position)")
                continue
            }
        }
    }

    @Test
    func `only the right passphrase opens a file, and an invalid or excessive cost is refused`()
        throws
    {
        func identity(_ text: String) -> AgeIdentity {
            .passphrase(SecretBytes(copying: Array(text.utf8)))
        }
        let bytes = try Self.write(
            Data("content".utf8), to: [try #require(identity("open").recipient)])
        #expect(try Self.open(bytes, [identity("open")]) == .success(Data("content".utf8)))
        #expect(try Self.open(bytes, [identity("other")]) == .failure(.noMatch))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains(" 4\n"))
        for logN in ["21", "64", "0", "04", "255", "256"] {
            var changed = bytes
            let range = try #require(changed.range(of: Data(" 4\n".utf8)))
            changed.replaceSubrange(range, with: Data(" \(logN)\n".utf8))
            #expect(try Self.open(changed, [identity("open")]) == .failure(.header), "\(logN)")
        }
    }

    @Test func `a file needs a recipient, and a passphrase must be the only recipient`() throws {
        let passphrase = AgeRecipient.passphrase(SecretBytes(copying: [1]))
        let key = try #require(AgeRecipient(text: Self.publicKey))
        let file = try ScratchFile()
        for recipients in [[], [passphrase, passphrase], [passphrase, key], [key, passphrase]] {
            #expect(throws: AgeFailure.header) {
                _ = try AgeWriter(recipients, to: file.descriptor, cost: .cheap)
            }
        }
        #expect(file.content.isEmpty)
    }

    private static let privateKey =
        "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
    private static let publicKey = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj"

    /// This key pair is in the age specification, "The X25519 recipient type".
    @Test func `keys are written and read as text`() throws {
        let identity = try #require(AgeIdentity(text: Array(Self.privateKey.utf8)))
        #expect(identity.recipient?.text == Self.publicKey)
        #expect(AgeRecipient(text: Self.publicKey)?.text == Self.publicKey)
        #expect(AgeRecipient(text: Self.publicKey.uppercased())?.text == Self.publicKey)
        #expect(AgeIdentity(text: Array(Self.privateKey.lowercased().utf8)) != nil)
    }

    @Test func `a public key with one wrong character, and text that is no key, are refused`() {
        for index in Self.publicKey.indices {
            var text = Self.publicKey
            let other = text[index] == "q" ? "p" : "q"
            text.replaceSubrange(index...index, with: other)
            #expect(AgeRecipient(text: text) == nil, "\(text)")
        }
        let mixed = "Age" + Self.publicKey.dropFirst(3)
        for text in ["", "age1", "age", "1", Self.publicKey + "q", mixed] {
            #expect(AgeRecipient(text: text) == nil, "\(text)")
        }
        #expect(AgeIdentity(text: Array(Self.publicKey.utf8)) == nil)
        #expect(AgeRecipient(text: Self.privateKey) == nil)
    }
}

extension PasscodeCost {
    fileprivate static let cheap = PasscodeCost(logN: 4, blockSize: 8, parallelism: 1)
}
