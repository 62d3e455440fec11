// AuditPosition: the position of an audit, as stored in its anchor: the number and key of the next
// record.
//   (1) The anchor is overwritten in place, within one disk sector, so that the file no longer
//       contains the earlier key. A disk or file system that keeps old blocks may still have it.
//   (2) An anchor passes verification only if it contains the key of the record that it says is
//       next. Only a process that had this key can write such an anchor.

import Glibc
package import KeychainCore

package struct AuditPosition: Sendable {
    package let chain: Bytes16
    /// The number of the next record.
    package private(set) var next: UInt64
    /// The key of the next record.
    package private(set) var key: AuditKey
    package let itemKey: SecretBytes
    /// The hash over all records before the next one.
    package private(set) var head: AuditHead
    /// The number of the first record in the file that the next record goes to.
    package private(set) var fileFirst: UInt64
    /// The offset in that file at which the records end.
    package private(set) var offset: Int64

    /// The position of an audit without records.
    package init(_ origin: AuditOrigin) {
        chain = origin.chain
        next = 1
        key = origin.firstKey
        itemKey = origin.itemKey
        head = .none
        fileFirst = 1
        offset = 0
    }

    /// Advances past a record of `byteCount` bytes that was written.
    package mutating func advance(over tag: [UInt8], byteCount: Int) {
        next += 1
        key = key.next()
        head = head.following(tag)
        offset += Int64(byteCount)
    }

    /// Starts a new file for the next record, after a header of `offset` bytes.
    package mutating func beginFile(offset: Int) {
        fileFirst = next
        self.offset = Int64(offset)
    }

    // MARK: The anchor

    package static let byteCount = 160
    private static let magic = Array("KCAU".utf8)
    private static let checksumByteCount = 16

    /// The bytes of the anchor.
    package var encoded: SecretBytes {
        var front = ByteWriter()
        front.bytes(Self.magic)
        front.number(UInt32(1))
        front.bytes(chain.bytes)
        front.number(next)
        var back = ByteWriter()
        back.bytes(head.bytes)
        back.number(fileFirst)
        back.number(offset)
        let body = SecretBytes(joining: [
            SecretBytes(copying: front.result), key.bytes, itemKey,
            SecretBytes(copying: back.result),
        ])
        return body.appending(
            SecretBytes(copying: body.sha256.prefix(Self.checksumByteCount)))
    }

    /// - Returns: `nil` if the bytes are not an anchor.
    package init?(_ bytes: SecretBytes) {
        let end = Self.byteCount - Self.checksumByteCount
        guard bytes.count == Self.byteCount else { return nil }
        let body = bytes.slice(0..<end)
        var front = ByteReader(bytes.slice(0..<32).plainBytes)
        var back = ByteReader(bytes.slice(96..<end).plainBytes)
        guard
            bytes.slice(end..<Self.byteCount).plainBytes
                == Array(body.sha256.prefix(Self.checksumByteCount)),
            front.bytes(4) == Self.magic, let version: UInt32 = front.number(), version == 1,
            let chain = front.bytes(16).flatMap({ Bytes16($0) }), let next: UInt64 = front.number(),
            let head = back.bytes(AuditHead.byteCount), let fileFirst: UInt64 = back.number(),
            let offset: Int64 = back.number(), next > 0, next < .max, offset >= 0
        else { return nil }
        self.chain = chain
        self.next = next
        key = AuditKey(bytes.slice(32..<64))
        itemKey = bytes.slice(64..<96)
        self.head = AuditHead(bytes: Array(head))
        self.fileFirst = fileFirst
        self.offset = offset
    }
}

extension AuditFolder {
    /// Reads the anchor. Returns `nil` if there is none, or if the file is empty.
    /// - Throws: `ioError` if the anchor is damaged.
    package func position() throws(KeychainFailure) -> AuditPosition? {
        guard let descriptor = Files.open(anchorPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            if errno == ENOENT { return nil }
            throw Self.failure("read \(anchorPath)")
        }
        return try Self.position(in: descriptor)
    }

    package static func position(
        in descriptor: OwnedDescriptor
    ) throws(KeychainFailure) -> AuditPosition? {
        let bytes = try? SecretBytes(
            readingFrom: descriptor.number, atMost: AuditPosition.byteCount)
        // EFBIG means that the file is longer than an anchor. It is reported as damaged below.
        if bytes == nil, errno != EFBIG { throw failure("read the audit's anchor") }
        if bytes?.count == 0 { return nil }
        guard let position = bytes.flatMap({ AuditPosition($0) }) else {
            throw failure("read the audit's anchor, which is damaged", code: EIO)
        }
        return position
    }
}
