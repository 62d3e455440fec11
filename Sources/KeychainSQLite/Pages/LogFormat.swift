// LogFormat: the parts of SQLite's write-ahead log that a frame's checksum depends on. The format
// is defined by SQLite: https://www.sqlite.org/fileformat2.html, section 4.
//   (1) Header, 32 bytes, big-endian words: magic, version, page size, checkpoint number, salt 1,
//       salt 2, checksum 1, checksum 2 (over bytes 0..<24).
//   (2) Frame k = 1, 2, ... is a header of 24 bytes (page number, database size in pages after a
//       commit or 0, salt 1, salt 2, checksum 1, checksum 2) and a page.
//   (3) A frame's checksum continues the checksum of the previous frame, or of the header, and
//       covers the first 8 bytes of the frame's header and the page.
//   (4) The lowest bit of the magic is 1 if the checksum is computed over big-endian words.

/// The two sums of a write-ahead log's checksum.
struct LogChecksum: Hashable {
    var first: UInt32
    var second: UInt32

    static let zero = LogChecksum(first: 0, second: 0)

    /// Continues the checksum with more bytes, as words of the given byte order.
    ///
    /// - Parameters:
    ///   - bytes: A multiple of 8 bytes.
    ///   - bigEndian: Whether the words are big-endian.
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

/// The fields of a write-ahead log's header that are needed to verify frames.
struct LogHeader {
    static let byteCount = 32

    let bigEndian: Bool
    let salt1: UInt32
    let salt2: UInt32
    let checksum: LogChecksum

    /// The only version of the format so far. SQLite doesn't open a log of any other version.
    private static let version: UInt32 = 3_007_000

    /// Reads a header; `nil` if its magic, its version or its checksum is wrong, or if its page
    /// size differs from `PageFormat.pageByteCount`.
    ///
    /// - Parameter bytes: The first of 32 readable bytes.
    init?(at bytes: UnsafeRawPointer) {
        // SAFETY: all offsets are below 32, as the caller guarantees.
        let magic = unsafe LogFormat.word(bytes, 0)
        guard magic & ~1 == 0x377F_0682,
            unsafe LogFormat.word(bytes, 4) == Self.version,
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
    /// The size of the database in pages after the transaction that this frame ends; 0 in all other
    /// frames.
    let databasePageCount: UInt32
    let salt1: UInt32
    let salt2: UInt32
    let checksum: LogChecksum

    /// - Parameter bytes: The first of 24 readable bytes.
    init(at bytes: UnsafeRawPointer) {
        // SAFETY: all offsets are below 24, as the caller guarantees.
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

    /// The offset of a frame; the first frame is 1.
    static func offset(ofFrame frame: UInt32) -> Int64 {
        Int64(LogHeader.byteCount) + (Int64(frame) - 1) * Int64(frameByteCount)
    }

    /// The frame that contains an offset of the log, and the position within the frame; `nil` for
    /// the log's header and for offsets beyond the largest possible log.
    static func position(ofOffset offset: Int64) -> (frame: UInt32, inFrame: Int)? {
        let (index, inFrame) = (offset - Int64(LogHeader.byteCount))
            .quotientAndRemainder(dividingBy: Int64(frameByteCount))
        guard offset >= Int64(LogHeader.byteCount), let frame = UInt32(exactly: index + 1)
        else { return nil }
        return (frame, Int(inFrame))
    }

    /// Whether a frame belongs to the log and its checksum continues the previous one.
    ///
    /// - Parameters:
    ///   - frame: The first of `frameByteCount` readable bytes.
    ///   - previous: The checksum of the previous frame, or of the log's header.
    ///   - log: The header of the log.
    /// - Returns: Whether both are true.
    static func verifies(
        frameAt frame: UnsafeRawPointer, after previous: LogChecksum, in log: LogHeader
    ) -> Bool {
        // SAFETY: the caller guarantees a whole frame; both parts are in it.
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
        // SAFETY: the caller keeps offset + 4 within the bytes that it guarantees.
        unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

// MARK: - Reading damaged files into arrays

extension LogHeader {
    /// Reads a header from an array; `nil` in the same cases as for a pointer, and for fewer than
    /// 32 bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.byteCount else { return nil }
        // SAFETY: the array has as many bytes as a header and lives for the call.
        let header = unsafe bytes.withUnsafeBytes { bytes in
            unsafe bytes.baseAddress.flatMap { unsafe LogHeader(at: $0) }
        }
        guard let header else { return nil }
        self = header
    }
}

/// A frame of a damaged log.
struct LooseFrame {
    /// The page number as stored, or corrected by ``mend(_:bigEndian:isFollowed:)``.
    private(set) var page: UInt32
    /// The size of the database in pages after the transaction that this frame ends; 0 in all other
    /// frames.
    private(set) var databasePageCount: UInt32
    let salts: [UInt32]
    let checksum: LogChecksum
    /// The checksum computed from the frame's bytes and the previous checksum.
    private let computed: LogChecksum

    /// Whether the frame's checksum continues the previous one, so that its page is undamaged.
    var isSound: Bool { computed == checksum }

    /// Reads a frame; `nil` if there are fewer bytes than a frame has.
    ///
    /// - Parameters:
    ///   - bytes: The frame with its page.
    ///   - previous: The checksum stored in the previous frame, or in the log's header.
    ///   - bigEndian: Whether the checksum is computed over big-endian words.
    init?(_ bytes: [UInt8], after previous: LogChecksum, bigEndian: Bool) {
        guard bytes.count >= LogFormat.frameByteCount else { return nil }
        var sum = previous
        sum.add(bytes, 0..<8, bigEndian: bigEndian)
        sum.add(bytes, LogFrameHeader.byteCount..<LogFormat.frameByteCount, bigEndian: bigEndian)
        // SAFETY: the array has as many bytes as a frame and lives for the call.
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

    /// Finds and corrects a single changed byte in the frame's page number or database size.
    /// Otherwise the frame would be assigned to another page, or not be recognized as the end of
    /// its transaction, and the items on its page would be lost.
    ///
    /// The sums are linear in each word, so a word that is greater by d adds d times a fixed
    /// weight. The probability that both sums match by chance for any of the 2^11 values that are
    /// tried is 2^-53. The only ambiguity is between the highest bit of a word and the highest bit
    /// of a sum. In this case, the word is corrected only if the next frame continues the checksum
    /// as stored.
    ///
    /// - Parameters:
    ///   - bytes: The frame.
    ///   - bigEndian: The same value as when the frame was read.
    ///   - isFollowed: Whether the next frame continues this frame's checksum.
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

    /// The amounts by which the sums grow if the first or the second word of a frame grows by one.
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
    /// Whether a page of the database is undamaged.
    func verifies(_ page: [UInt8], number: UInt32) -> Bool {
        guard page.count >= PageFormat.pageByteCount else { return false }
        // SAFETY: the array has as many bytes as a page and lives for the call.
        return unsafe page.withUnsafeBytes { page in
            unsafe page.baseAddress.map { unsafe verifies(pageAt: $0, number: number) } ?? false
        }
    }

    /// Whether the tag of a frame is valid.
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
