// ByteReader and ByteWriter: fixed-size big-endian fields, the base of every format here.
//   (1) A read that goes past the end gives nil and moves nothing; no input traps.

/// Reads fields off the front of some bytes.
package struct ByteReader {
    private let source: [UInt8]
    package private(set) var position = 0

    package init(_ source: [UInt8]) {
        self.source = source
    }

    package var isAtEnd: Bool { position == source.count }
    package var remainingCount: Int { source.count - position }

    /// The next `count` bytes. `count` is 0 or more.
    package mutating func bytes(_ count: Int) -> [UInt8]? {
        guard count >= 0, count <= remainingCount else { return nil }
        defer { position += count }
        return Array(source[position..<position + count])
    }

    /// The next number, most significant byte first.
    package mutating func number<Number: FixedWidthInteger>() -> Number? {
        let width = Number.bitWidth / 8
        guard width <= remainingCount else { return nil }
        var value: Number = 0
        for byte in source[position..<position + width] {
            value = Number.bitWidth == 8 ? Number(truncatingIfNeeded: byte)
                : value << 8 | Number(truncatingIfNeeded: byte)
        }
        position += width
        return value
    }
}

/// Appends fields.
package struct ByteWriter {
    package private(set) var result: [UInt8] = []

    package init(capacity: Int = 0) {
        result.reserveCapacity(capacity)
    }

    package mutating func bytes(_ bytes: some Sequence<UInt8>) {
        result.append(contentsOf: bytes)
    }

    /// A number, most significant byte first.
    package mutating func number<Number: FixedWidthInteger>(_ value: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) {
            result.append(UInt8(truncatingIfNeeded: value >> Number(shift)))
        }
    }
}
