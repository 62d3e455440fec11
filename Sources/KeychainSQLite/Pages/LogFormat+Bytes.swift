// LogFormat+Bytes: the log's format for a reader of damaged files, which holds bytes in arrays.

extension LogHeader {
    /// `nil` as for a header in memory, and for fewer than 32 bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount else { return nil }
        // SAFETY: the array has as many bytes as a header and lives for the call. So below.
        let header = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.flatMap { unsafe LogHeader(at: $0) }
        }
        guard let header else { return nil }
        self = header
    }
}

/// A frame of a log, as a reader of a damaged file sees it.
struct LooseFrame {
    /// As it stands, until ``mend(_:bigEndian:isFollowed:)``.
    private(set) var page: UInt32
    /// Pages of the database after the transaction that this frame ends; 0 in all other frames.
    private(set) var databasePageCount: UInt32
    let salts: [UInt32]
    let checksum: LogChecksum
    /// What the checksum should be.
    private let computed: LogChecksum

    /// Whether the frame's checksum goes on from the one before, so that its page is as it was
    /// written.
    var isSound: Bool { computed == checksum }

    /// Reads a frame; `nil` for fewer bytes than one has.
    ///
    /// - Parameters:
    ///   - bytes: The frame with its page.
    ///   - previous: The checksum that stands in the frame before, or in the log's header.
    ///   - bigEndian: Whether the words that are summed up are big-endian.
    init?(_ bytes: [UInt8], after previous: LogChecksum, bigEndian: Bool) {
        guard bytes.count >= LogFormat.frameByteCount else { return nil }
        var sum = previous
        sum.add(bytes, 0..<8, bigEndian: bigEndian)
        sum.add(bytes, LogFrameHeader.byteCount..<LogFormat.frameByteCount, bigEndian: bigEndian)
        // SAFETY: as above, for a frame.
        let header = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe LogFrameHeader(at: $0) }
        }
        guard let header else { return nil }
        page = header.page
        databasePageCount = header.databasePageCount
        salts = [header.salt1, header.salt2]
        checksum = header.checksum
        computed = sum
    }

    /// Finds the byte of the two numbers that was changed: a frame that is taken for another
    /// page's, or that doesn't end its transaction, would cost every item on the page.
    ///
    /// The sums are linear in each word, so a word that is greater by d adds d times a fixed weight.
    /// That both come out by chance has a probability of 2^-53. Only the highest bit of a word and
    /// of a sum can stand for each other. It is the word's where the next frame goes on from the
    /// checksum as it stands; else the numbers are left as they are.
    ///
    /// - Parameters:
    ///   - bytes: The frame.
    ///   - bigEndian: As when it was read.
    ///   - isFollowed: Whether the next frame goes on from this one's checksum.
    mutating func mend(_ bytes: [UInt8], bigEndian: Bool, isFollowed: Bool) {
        for index in 0..<8 {
            let weight = Self.weights[index / 4]
            let shift = UInt32(8 * (bigEndian ? 3 - index % 4 : index % 4))
            for value in UInt8.min...UInt8.max {
                let change = (UInt32(value) &- UInt32(bytes[index])) << shift
                guard computed.first &+ change &* weight.first == checksum.first,
                    computed.second &+ change &* weight.second == checksum.second,
                    isFollowed || change != 1 << 31
                else { continue }
                var head = Array(bytes[..<8])
                head[index] = value
                page = head[..<4].reduce(0) { $0 << 8 | UInt32($1) }
                databasePageCount = head[4...].reduce(0) { $0 << 8 | UInt32($1) }
                return
            }
        }
    }

    /// What one more in the first and in the second word of a frame adds to its sums.
    private static let weights: [LogChecksum] = [0, 4].map { offset in
        var unit = [UInt8](repeating: 0, count: 8 + PageFormat.pageByteCount)
        unit[offset] = 1
        var sum = LogChecksum.zero
        sum.add(unit, unit.indices, bigEndian: false)
        return sum
    }
}

extension LogChecksum {
    fileprivate mutating func add(_ bytes: [UInt8], _ range: Range<Int>, bigEndian: Bool) {
        var sum = self
        // SAFETY: the range is within the array, which lives for the call.
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe sum.add(UnsafeRawBufferPointer(rebasing: bytes[range]), bigEndian: bigEndian)
        }
        self = sum
    }
}

extension PageChecksum {
    /// Whether a page of the database ends in the checksum of its content and number.
    static func verifies(_ page: [UInt8], number: UInt32) -> Bool {
        guard page.count >= PageFormat.pageByteCount else { return false }
        // SAFETY: the array has as many bytes as a page and lives for the call.
        return unsafe page.withUnsafeBytes { page in
            unsafe page.baseAddress.map { unsafe verifies(pageAt: $0, number: number) } ?? false
        }
    }
}
