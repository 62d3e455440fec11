// ByteReader and ByteWriter: read and write big-endian numbers and strings of bytes, of which the
// files, blobs and synchronized data consist. Bytes16: sixteen bytes as one value.
//   (1) A read past the end returns `nil` and doesn't move the position. No input traps.

/// Reads fields from the front of a byte array.
package struct ByteReader {
    private let source: [UInt8]
    package private(set) var position = 0

    package init(_ source: [UInt8]) {
        self.source = source
    }

    package var isAtEnd: Bool { position == source.count }
    package var remainingCount: Int { source.count - position }

    /// Reads the next `count` bytes. Returns `nil` if fewer are left or `count` is negative.
    package mutating func bytes(_ count: Int) -> [UInt8]? {
        slice(count).map { Array($0) }
    }

    /// Reads the next `count` bytes like ``bytes(_:)``, but without copying them.
    package mutating func slice(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= remainingCount else { return nil }
        defer { position += count }
        return source[position..<position + count]
    }

    // Reads the next number, in big-endian order. There is one method per width because other
    // modules would call a generic method unspecialized, which costs more than the rest of decoding
    // a row.
    package mutating func number() -> UInt8? { fixedWidth() }
    package mutating func number() -> UInt16? { fixedWidth() }
    package mutating func number() -> UInt32? { fixedWidth() }
    package mutating func number() -> UInt64? { fixedWidth() }
    package mutating func number() -> Int64? { fixedWidth() }

    /// Reads the next 16 bytes as one value.
    package mutating func bytes16() -> Bytes16? {
        guard remainingCount >= 16, let high: UInt64 = number(), let low: UInt64 = number() else {
            return nil
        }
        return Bytes16(high: high, low: low)
    }

    private mutating func fixedWidth<Number: FixedWidthInteger>() -> Number? {
        let width = Number.bitWidth / 8
        guard width <= remainingCount else { return nil }
        var value: UInt64 = 0
        for index in position..<position + width {
            value = value << 8 | UInt64(source[index])
        }
        position += width
        return Number(truncatingIfNeeded: value)
    }
}

/// Appends fields to a byte array.
package struct ByteWriter {
    package private(set) var result: [UInt8] = []

    package init(capacity: Int = 0) {
        result.reserveCapacity(capacity)
    }

    package mutating func bytes(_ bytes: [UInt8]) {
        result.append(contentsOf: bytes)
    }

    package mutating func bytes(_ bytes: some Sequence<UInt8>) {
        result.append(contentsOf: bytes)
    }

    // Appends a number in big-endian order. One method per width, as in the reader.
    package mutating func number(_ value: UInt8) { result.append(value) }
    package mutating func number(_ value: UInt16) { result.append(bigEndian: value) }
    package mutating func number(_ value: UInt32) { result.append(bigEndian: value) }
    package mutating func number(_ value: UInt64) { result.append(bigEndian: value) }
    package mutating func number(_ value: Int64) { result.append(bigEndian: value) }
}

/// Sixteen bytes as a value, which is compared, hashed and copied without an allocation.
package struct Bytes16: Hashable, Sendable {
    /// The first eight bytes as a big-endian number.
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Returns: `nil` unless there are exactly 16 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 {
                words.0 = words.0 << 8 | UInt64(byte)
            } else {
                words.1 = words.1 << 8 | UInt64(byte)
            }
        }
        self.init(high: words.0, low: words.1)
    }

    /// Returns new bytes from the system's random number generator.
    package static func random() -> Bytes16 {
        let words = SystemMemory.randomWords()
        return Bytes16(high: words.0, low: words.1)
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 16)
        write(to: &writer)
        return writer.result
    }

    package func write(to writer: inout ByteWriter) {
        writer.number(high)
        writer.number(low)
    }
}
