// Identifiers: the values by which entries refer to machines, circles, keys and each other.

package import KeychainCore
import KeychainCrypto

/// A SHA-256 digest.
package struct Digest: Hashable, Sendable {
    package static let byteCount = 32
    /// Stands for a missing digest.
    package static let zero = Digest(
        Bytes16(high: 0, low: 0), Bytes16(high: 0, low: 0))

    private let first: Bytes16
    private let second: Bytes16

    private init(_ first: Bytes16, _ second: Bytes16) {
        self.first = first
        self.second = second
    }

    /// - Returns: `nil` unless there are exactly 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount, let first = Bytes16(bytes.prefix(16)),
            let second = Bytes16(bytes.dropFirst(16))
        else { return nil }
        self.init(first, second)
    }

    init?(reading reader: inout ByteReader) {
        guard let first = reader.bytes16(), let second = reader.bytes16() else { return nil }
        self.init(first, second)
    }

    func write(to writer: inout ByteWriter) {
        first.write(to: &writer)
        second.write(to: &writer)
    }

    package var bytes: [UInt8] { first.bytes + second.bytes }
}

extension Digest: Comparable {
    package static func < (a: Digest, b: Digest) -> Bool {
        (a.first, a.second) < (b.first, b.second)
    }
}

extension Bytes16: Comparable {
    /// Compares the bytes from the first to the last.
    package static func < (a: Bytes16, b: Bytes16) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

/// The identifier of a machine: the first 16 bytes of a digest of its public keys, so that no other
/// machine can claim it.
package struct MachineID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let bytes: Bytes16

    package init(_ bytes: Bytes16) { self.bytes = bytes }

    package static func < (a: MachineID, b: MachineID) -> Bool { a.bytes < b.bytes }

    /// 32 hexadecimal digits.
    package var description: String { Hexadecimal.text(bytes.bytes) }
}

/// The identifier of a circle: the digest of its founding entry.
package struct CircleID: Hashable, Sendable, CustomStringConvertible {
    package let digest: Digest

    package init(_ digest: Digest) { self.digest = digest }

    /// 64 hexadecimal digits.
    package var description: String { Hexadecimal.text(digest.bytes) }
}

/// How far a log goes: the index of its last entry, and that entry's digest. A log without entries
/// has index 0 and a digest of zeros.
package struct LogHead: Hashable, Sendable {
    package let index: UInt64
    package let digest: Digest

    package init(index: UInt64, digest: Digest) {
        self.index = index
        self.digest = digest
    }

    /// The greatest index that is accepted, so that sums with indexes don't overflow. Real logs are
    /// far shorter.
    static let indexLimit: UInt64 = 1 << 53

    package static let empty = LogHead(index: 0, digest: .zero)

    init?(reading reader: inout ByteReader) {
        guard let index: UInt64 = reader.number(), index <= Self.indexLimit,
            let digest = Digest(reading: &reader), index > 0 || digest == .zero
        else { return nil }
        self.init(index: index, digest: digest)
    }

    func write(to writer: inout ByteWriter) {
        writer.number(index)
        digest.write(to: &writer)
    }
}

/// The heads of the logs of several machines.
package typealias LogHeads = [MachineID: LogHead]
