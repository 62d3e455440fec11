// LogFormat: the parts of SQLite's write-ahead log that a frame's checksum depends on
// (the format is SQLite's own: https://www.sqlite.org/fileformat2.html, section 4).
//   (1) Header, 32 bytes, big-endian words: magic, version, page size, checkpoint number,
//       salt 1, salt 2, checksum 1, checksum 2 (over bytes 0..<24).
//   (2) Frame k = 1, 2, ... is a header of 24 bytes (page number, database size in pages after
//       a commit or 0, salt 1, salt 2, checksum 1, checksum 2) and a page.
//   (3) A frame's checksum goes on from the one of the frame before it, or from the header's, and
//       covers the first 8 bytes of the frame's header and the page.
//   (4) The lowest bit of the magic says whether the words that are summed up are big-endian.

/// The two sums of a write-ahead log's checksum.
struct LogChecksum: Hashable {
    var first: UInt32
    var second: UInt32

    static let zero = LogChecksum(first: 0, second: 0)

    /// Goes on with more bytes, in words of the given byte order.
    ///
    /// - Parameters:
    ///   - bytes: A multiple of 8 bytes.
    ///   - bigEndian: Whether the words that are summed up are big-endian.
    mutating func add(_ bytes: UnsafeRawBufferPointer, bigEndian: Bool) {
        guard let base = bytes.baseAddress else { return }
        let byteCount = bytes.count
        precondition(byteCount % 8 == 0, "A log's checksum covers pairs of words.")
        var sum1 = first
        var sum2 = second
        var offset = 0
        while offset < byteCount {
            // SAFETY: byteCount is a multiple of 8, so offset + 8 <= byteCount.
            let word1 = unsafe base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let word2 = unsafe base.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            sum1 &+= (bigEndian ? word1.bigEndian : word1.littleEndian) &+ sum2
            sum2 &+= (bigEndian ? word2.bigEndian : word2.littleEndian) &+ sum1
            offset += 8
        }
        first = sum1
        second = sum2
    }
}

/// A write-ahead log's header, as far as frames are verified against it.
struct LogHeader {
    static let byteCount = 32

    let bigEndian: Bool
    let salt1: UInt32
    let salt2: UInt32
    let checksum: LogChecksum

    /// Reads a header; `nil` if it is none, if its checksum is wrong, or if the log's pages have
    /// another size than ours.
    ///
    /// - Parameter bytes: The first of 32 readable bytes.
    init?(at bytes: UnsafeRawPointer) {
        // SAFETY: all offsets are below 32, which the caller vouches for.
        let magic = unsafe LogFormat.word(bytes, 0)
        guard magic & ~1 == 0x377F_0682,
            unsafe LogFormat.word(bytes, 8) == UInt32(PageFormat.pageByteCount)
        else { return nil }
        let bigEndian = magic & 1 == 1
        var sum = LogChecksum.zero
        unsafe sum.add(UnsafeRawBufferPointer(start: bytes, count: 24), bigEndian: bigEndian)
        guard sum.first == (unsafe LogFormat.word(bytes, 24)),
            sum.second == (unsafe LogFormat.word(bytes, 28))
        else { return nil }
        self.bigEndian = bigEndian
        self.salt1 = unsafe LogFormat.word(bytes, 16)
        self.salt2 = unsafe LogFormat.word(bytes, 20)
        self.checksum = sum
    }
}

/// A frame's header.
struct LogFrameHeader {
    static let byteCount = 24

    let page: UInt32
    /// Pages of the database after the transaction that this frame ends; 0 in all other frames.
    let databasePageCount: UInt32
    let salt1: UInt32
    let salt2: UInt32
    let checksum: LogChecksum

    /// - Parameter bytes: The first of 24 readable bytes.
    init(at bytes: UnsafeRawPointer) {
        // SAFETY: all offsets are below 24, which the caller vouches for.
        page = unsafe LogFormat.word(bytes, 0)
        databasePageCount = unsafe LogFormat.word(bytes, 4)
        salt1 = unsafe LogFormat.word(bytes, 8)
        salt2 = unsafe LogFormat.word(bytes, 12)
        checksum = unsafe LogChecksum(
            first: LogFormat.word(bytes, 16), second: LogFormat.word(bytes, 20))
    }

    func belongs(to log: LogHeader) -> Bool {
        salt1 == log.salt1 && salt2 == log.salt2
    }
}

enum LogFormat {
    static let frameByteCount = LogFrameHeader.byteCount + PageFormat.pageByteCount

    /// Where a frame starts; the first frame is 1.
    static func offset(ofFrame frame: UInt32) -> Int64 {
        Int64(LogHeader.byteCount) + (Int64(frame) - 1) * Int64(frameByteCount)
    }

    /// The frame that a byte of the log belongs to and the byte's place in it; `nil` for the log's
    /// header and for offsets no log reaches.
    static func position(ofOffset offset: Int64) -> (frame: UInt32, inFrame: Int)? {
        let (index, inFrame) = (offset - Int64(LogHeader.byteCount))
            .quotientAndRemainder(dividingBy: Int64(frameByteCount))
        guard offset >= Int64(LogHeader.byteCount), let frame = UInt32(exactly: index + 1)
        else { return nil }
        return (frame, Int(inFrame))
    }

    /// Whether a frame belongs to the log and goes on from the checksum before it.
    ///
    /// - Parameters:
    ///   - frame: The first of `frameByteCount` readable bytes.
    ///   - previous: The checksum of the frame before, or of the log's header.
    ///   - log: The header of the log.
    /// - Returns: Whether it does both.
    static func verifies(
        frameAt frame: UnsafeRawPointer, after previous: LogChecksum, in log: LogHeader
    ) -> Bool {
        // SAFETY: the caller vouches for a whole frame; both parts lie in it.
        let header = unsafe LogFrameHeader(at: frame)
        guard header.page != 0, header.belongs(to: log) else { return false }
        var sum = previous
        unsafe sum.add(UnsafeRawBufferPointer(start: frame, count: 8), bigEndian: log.bigEndian)
        unsafe sum.add(
            UnsafeRawBufferPointer(
                start: frame + LogFrameHeader.byteCount, count: PageFormat.pageByteCount),
            bigEndian: log.bigEndian)
        return sum == header.checksum
    }

    /// The big-endian word at an offset.
    static func word(_ bytes: UnsafeRawPointer, _ offset: Int) -> UInt32 {
        // SAFETY: the caller keeps offset + 4 within the bytes it vouches for.
        unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
