// LogFormat: the parts of SQLite's write-ahead log that a frame's checksum depends on (the format
// is SQLite's own: https://www.sqlite.org/fileformat2.html, section 4).
//   (1) Header, 32 bytes, big-endian words: magic, version, page size, checkpoint number, salt 1,
//       salt 2, checksum 1, checksum 2 (over bytes 0..<24).
//   (2) Frame k = 1, 2, ... is a header of 24 bytes (page number, database size in pages after a
//       commit or 0, salt 1, salt 2, checksum 1, checksum 2) and a page.
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

// MARK: - For a reader of damaged files, which holds bytes in arrays

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

extension PageProtection {
    /// Whether a page of the database is as it was written.
    func verifies(_ page: [UInt8], number: UInt32) -> Bool {
        guard page.count >= PageFormat.pageByteCount else { return false }
        // SAFETY: the array has as many bytes as a page and lives for the call.
        return unsafe page.withUnsafeBytes { page in
            unsafe page.baseAddress.map { unsafe verifies(pageAt: $0, number: number) } ?? false
        }
    }

    /// Whether the tag of a frame fits.
    func verifies(_ frame: [UInt8], frame number: UInt32, in log: LogHeader) -> Bool {
        guard frame.count >= LogFormat.frameByteCount else { return false }
        // SAFETY: the array has as many bytes as a frame and lives for the call.
        return unsafe frame.withUnsafeBytes { frame in
            unsafe frame.baseAddress.map {
                unsafe verifies(frameAt: $0, number: number, in: log)
            } ?? false
        }
    }
}
