// AgeFile: writes and reads files in the age v1 format, 64 KiB at a time.
//   (1) Each chunk is authenticated together with its number and with whether it is the last one.
//       Readers therefore detect that chunks were removed, repeated, moved or cut off at the end.
//   (2) The last chunk is empty only if the whole content is. Nothing follows it.
//   (3) A reader returns a chunk after checking its tag. Whether the file is complete is known only
//       at its end.

import Crypto
package import FoundationEssentials
import KeychainCore

package enum AgeFile {
    static let fileKeyByteCount = 16
    static let chunkByteCount = 64 << 10
    static let tagByteCount = 16
    static let nonceByteCount = 16

    /// N = 2^18, the default of age itself. It takes 256 MiB of memory.
    package static let passphraseCost = PasscodeCost(logN: 18, blockSize: 8, parallelism: 1)

    static func payloadKey(_ fileKey: SecretBytes, _ nonce: [UInt8]) -> SymmetricKey {
        AgeKeys.derive(from: fileKey, salt: nonce, info: "payload")
    }

    /// The nonce of a chunk: its number in eleven bytes, and a byte that says whether it is the
    /// last one.
    static func nonce(_ number: UInt64, isLast: Bool) -> [UInt8] {
        [0, 0, 0] + bigEndianBytes(number) + [isLast ? 1 : 0]
    }
}

/// Writes an age file to a descriptor.
package final class AgeWriter {
    private let descriptor: Int32
    private let key: SymmetricKey
    private var number: UInt64 = 0
    private var chunk: [UInt8] = []

    /// Starts a file for recipients: one or more keys, or a single passphrase.
    /// - Throws: ``AgeFailure/header`` for any other recipients, or for a key that is a point of
    ///   low order; ``AgeFailure/derivation`` if deriving a key from the passphrase fails;
    ///   ``AgeFailure/read`` if writing fails.
    package init(
        _ recipients: [AgeRecipient], to descriptor: Int32,
        cost: PasscodeCost = AgeFile.passphraseCost
    ) throws(AgeFailure) {
        guard !recipients.isEmpty,
            recipients.count == 1 || !recipients.contains(where: \.isPassphrase)
        else { throw .header }
        let fileKey = SecretBytes.random(byteCount: AgeFile.fileKeyByteCount)
        var stanzas: [AgeStanza] = []
        for recipient in recipients { stanzas.append(try recipient.wrap(fileKey, cost: cost)) }
        let nonce = Bytes16.random().bytes
        key = AgeFile.payloadKey(fileKey, nonce)
        self.descriptor = descriptor
        chunk.reserveCapacity(AgeFile.chunkByteCount)
        try put(AgeHeader(stanzas, fileKey: fileKey).bytes + nonce)
    }

    package func write(_ bytes: some Collection<UInt8>) throws(AgeFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            // A full chunk can be the last one, so it is written only when more follows.
            if chunk.count == AgeFile.chunkByteCount { try seal(isLast: false) }
            let part = rest.prefix(AgeFile.chunkByteCount - chunk.count)
            chunk += part
            rest = rest[part.endIndex...]
        }
    }

    /// Writes the remaining bytes. Without this call the file is incomplete.
    package func finish() throws(AgeFailure) {
        try seal(isLast: true)
    }

    private func seal(isLast: Bool) throws(AgeFailure) {
        defer {
            chunk.erase()
            chunk.removeAll(keepingCapacity: true)
        }
        guard
            let nonce = try? ChaChaPoly.Nonce(data: AgeFile.nonce(number, isLast: isLast)),
            let box = try? ChaChaPoly.seal(chunk, using: key, nonce: nonce)
        else { throw .payload }
        number += 1
        try put(Array(box.ciphertext + box.tag))
    }

    private func put(_ bytes: [UInt8]) throws(AgeFailure) {
        guard Descriptor.write(bytes, to: descriptor) else { throw .read }
    }
}

/// Reads an age file from a descriptor, whose position must be the start of the file.
package final class AgeReader {
    /// An identity that opens this file again.
    package let identity: AgeIdentity
    private var input: AgeInput
    private let key: SymmetricKey
    private var number: UInt64 = 0
    private var isFinished = false

    /// Reads the header and finds an identity that opens the file.
    package init(
        _ descriptor: Int32, _ identities: [AgeIdentity]
    ) throws(AgeFailure) {
        input = AgeInput(descriptor)
        let header = try AgeHeader(&input)
        let fileKey = try Self.fileKey(of: header, identities)
        guard header.isAuthentic(under: fileKey) else { throw .code }
        let nonce = try input.bytes(AgeFile.nonceByteCount)
        guard nonce.count == AgeFile.nonceByteCount else { throw .header }
        key = AgeFile.payloadKey(fileKey, nonce)
        identity = .fileKey(fileKey)
    }

    private static func fileKey(
        of header: AgeHeader, _ identities: [AgeIdentity]
    ) throws(AgeFailure) -> SecretBytes {
        for identity in identities {
            for stanza in header.stanzas {
                if let key = try identity.unwrap(stanza) { return key }
            }
        }
        throw .noMatch
    }

    /// Whether a file is encrypted with a passphrase. The descriptor's position must be the start
    /// of the file. It is moved, and isn't moved back.
    package static func isForPassphrase(_ descriptor: Int32) throws(AgeFailure) -> Bool {
        var input = AgeInput(descriptor)
        return try AgeHeader(&input).stanzas.contains(where: \.isOfPassphrase)
    }

    /// Returns the next part of the content, which the caller must erase; `nil` at the end.
    package func next() throws(AgeFailure) -> Data? {
        guard !isFinished else { return nil }
        let sealed = try input.bytes(AgeFile.chunkByteCount + AgeFile.tagByteCount)
        let isLast = try input.isAtEnd()
        guard sealed.count >= AgeFile.tagByteCount,
            !isLast || number == 0 || sealed.count > AgeFile.tagByteCount,
            let nonce = try? ChaChaPoly.Nonce(data: AgeFile.nonce(number, isLast: isLast)),
            let box = try? ChaChaPoly.SealedBox(
                nonce: nonce, ciphertext: sealed.dropLast(AgeFile.tagByteCount),
                tag: sealed.suffix(AgeFile.tagByteCount)),
            let content = try? ChaChaPoly.open(box, using: key)
        else { throw .payload }
        number += 1
        isFinished = isLast
        return content
    }
}
