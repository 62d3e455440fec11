// WALChecksum: the checksum of WAL files (file format, 4.2) and the repair of one header field.
//
// The checksum of a frame goes on from the stored checksum of the frame before it. So each frame
// can be held against its predecessor's stored value, and one flipped byte spoils the verdict on
// its own frame and at most the next, not on the rest of the file.

/// The two running sums, over 32-bit words taken in pairs.
struct WALChecksum: Equatable {
    var first: UInt32
    var second: UInt32

    static let zero = WALChecksum(first: 0, second: 0)

    /// Adds `bytes[range]`; the count is a multiple of 8, a shorter rest is left out.
    mutating func add(_ bytes: [UInt8], _ range: Range<Int>, bigEndian: Bool) {
        var position = max(0, range.lowerBound)
        let last = min(range.upperBound, bytes.count) - 8
        while position <= last {
            let word = Self.word(bytes, position, bigEndian: bigEndian)
            let next = Self.word(bytes, position + 4, bigEndian: bigEndian)
            first = first &+ word &+ second
            second = second &+ next &+ first
            position += 8
        }
    }

    private static func word(_ bytes: [UInt8], _ at: Int, bigEndian: Bool) -> UInt32 {
        let value =
            UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]) << 16
            | UInt32(bytes[at + 3]) << 24
        return bigEndian ? value.byteSwapped : value
    }
}

/// Finds the value that a header field of a frame must have for the frame's checksum to hold.
///
/// The sums are linear modulo 2^32 in every word, so a change of one word moves both of them by
/// a fixed weight times the change. Of the two weights, neighbours in the Fibonacci sequence, at
/// least one is odd and can be divided by; the other sum is the proof.
struct FrameFieldRepair {
    private let weight: WALChecksum

    /// The frame header's first word.
    static let pageNumber = FrameFieldRepair(word: 0)
    /// The frame header's second word: the database size of a commit, or 0.
    static let commitSize = FrameFieldRepair(word: 1)

    private init(word: Int) {
        var unit = [UInt8](repeating: 0, count: 8 + PageFormat.pageByteCount)
        unit[word * 4] = 1
        var sum = WALChecksum.zero
        sum.add(unit, 0..<unit.count, bigEndian: false)
        weight = sum
    }

    /// The field's value under which the checksum `stored` would hold, where `computed` is the
    /// checksum with the value `value`; nil if no value of this field alone does it.
    func repaired(
        _ value: UInt32, computed: WALChecksum, stored: WALChecksum, bigEndian: Bool
    ) -> UInt32? {
        let firstError = stored.first &- computed.first
        let secondError = stored.second &- computed.second
        let change =
            weight.first & 1 == 1
            ? firstError &* Self.inverse(weight.first)
            : secondError &* Self.inverse(weight.second)
        guard change != 0, change &* weight.first == firstError,
            change &* weight.second == secondError
        else { return nil }
        // `value` was read big-endian; the checksum takes its words in the WAL's own order.
        return bigEndian ? value &+ change : (value.byteSwapped &+ change).byteSwapped
    }

    /// The inverse of an odd number modulo 2^32. Each Newton step doubles the bits that are right,
    /// starting from 3.
    private static func inverse(_ odd: UInt32) -> UInt32 {
        var inverse = odd
        for _ in 0..<4 {
            inverse = inverse &* (2 &- odd &* inverse)
        }
        return inverse
    }
}
