// FormatBytes: numbers of the SQLite file format out of bytes that may hold anything.
//   (1) Numbers are big-endian (file format, 1.3 and 4.1).
//   (2) A reading that leaves the bytes is nil. Nothing here traps.

/// A stretch of a database or WAL file.
struct FormatBytes {
    var bytes: [UInt8]

    init(count: Int) {
        bytes = [UInt8](repeating: 0, count: count)
    }

    var count: Int {
        bytes.count
    }

    func uint8(at offset: Int) -> Int? {
        guard offset >= 0, offset < bytes.count else { return nil }
        return Int(bytes[offset])
    }

    func uint16(at offset: Int) -> Int? {
        guard offset >= 0, offset <= bytes.count - 2 else { return nil }
        return Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    }

    func uint32(at offset: Int) -> UInt32? {
        guard offset >= 0, offset <= bytes.count - 4 else { return nil }
        return UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16
            | UInt32(bytes[offset + 2]) << 8 | UInt32(bytes[offset + 3])
    }

    /// A variable-length integer (file format, 1.6): 7 bits a byte, high bit set on all but the
    /// last, the ninth byte whole.
    func varint(at offset: Int, limit: Int) -> (value: UInt64, end: Int)? {
        let limit = min(limit, bytes.count)
        guard offset >= 0 else { return nil }
        var value: UInt64 = 0
        var position = offset
        while position < limit {
            let byte = bytes[position]
            position += 1
            if position - offset == 9 {
                return (value << 8 | UInt64(byte), position)
            }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return (value, position) }
        }
        return nil
    }

    /// How many bytes SQLite writes for a value: it always takes the shortest form.
    static func varintByteCount(_ value: UInt64) -> Int {
        var count = 1
        var rest = value >> 7
        while rest > 0, count < 9 {
            count += 1
            rest >>= 7
        }
        return count
    }

    /// Whether the four bytes of `magic` stand at `offset`.
    func holds(_ magic: UInt32, at offset: Int) -> Bool {
        uint32(at: offset) == magic
    }

    /// The offsets below `limit` at which all four bytes of `magic` stand, at most `most`.
    ///
    /// Magics here begin with a byte that does not recur in them, so hits do not overlap.
    func offsets(of magic: UInt32, below limit: Int, most: Int) -> [Int] {
        let first = UInt8(magic >> 24)
        let second = UInt8(truncatingIfNeeded: magic >> 16)
        let last = min(limit, bytes.count) - 4
        var found: [Int] = []
        var position = 0
        while position <= last {
            if bytes[position] == first, bytes[position + 1] == second,
                holds(magic, at: position)
            {
                found.append(position)
                if found.count == most { break }
            }
            position += 1
        }
        return found
    }
}
