// WALIndex: which frames of a WAL belong to its newest generation, and which page each holds.
//   (1) Frames are kept as numbers only; pages are read from the file when they are asked for.
//   (2) A frame whose checksum does not hold stays in the index: its page may be whole. It is
//       marked doubtful, for its page number may be what was damaged.
//   (3) Frames past the last commit are of a transaction that never ended, or that was rolled
//       back and partly overwritten. They are in the index and not committed.
//
// Layout (file format, 4.1, all big-endian):
//
//   Header, 32 bytes                        Frame header, 24 bytes, then the page
//   0   4  magic 0x377F0682 or ...83        0   4  page number
//   4   4  version 3007000                  4   4  commit: database size in pages, else 0
//   8   4  page size                        8   8  salt, a copy of the header's
//   12  4  checkpoint number                16  8  checksum
//   16  8  salt
//   24  8  checksum of the 24 bytes before

/// The frames of a WAL file.
struct WALIndex {
    private(set) var frameCount = 0
    /// The last frame that ends a transaction, -1 without one.
    private(set) var lastCommit = -1
    /// The database size in pages after the last commit, where its frame is not doubtful.
    private(set) var committedPageCount: UInt32?

    private var pageNumbers: [UInt32] = []
    private var doubtful: [Bool] = []
    private var commits: [Int] = []
    private var framesByPage: [UInt32: [Int]] = [:]

    static let headerByteCount = 32
    static let frameHeaderByteCount = 24
    static let frameByteCount = frameHeaderByteCount + PageFormat.pageByteCount

    /// What stands in a frame's header, and how its checksum came out.
    private struct Frame {
        var pageNumber: UInt32
        var commitSize: UInt32
        var salt: UInt64
        var stored: WALChecksum
        var computed: WALChecksum
        var isComplete: Bool
    }

    /// An index without frames.
    init() {}

    /// Reads the WAL once from end to end.
    ///
    /// - Parameters:
    ///   - source: The WAL file.
    ///   - databasePageCount: Pages of the main file, to judge page numbers by.
    init(_ source: any SalvageSource, databasePageCount: UInt32) {
        var header = FormatBytes(count: Self.headerByteCount)
        source.read(at: 0, into: &header.bytes, from: 0)
        let order = Self.checksumOrder(header)
        let frames = Self.readFrames(source, header: header, bigEndian: order.bigEndian)
        let salt = Self.generation(header, isWhole: order.isWhole, frames)
        // A generation overwrites the file from its start, so every frame in front of one of
        // this generation belongs to it, whatever its own salt says. A damaged salt in the last
        // frame still has one half right; two generations share no half.
        guard
            let last = frames.lastIndex(where: {
                $0.salt == salt || $0.salt >> 32 == salt >> 32
                    || UInt32(truncatingIfNeeded: $0.salt) == UInt32(truncatingIfNeeded: salt)
            })
        else { return }
        let plausible = Self.plausiblePageCount(frames[...last], databasePageCount)
        for frame in frames[...last] {
            append(frame, plausible: plausible, bigEndian: order.bigEndian)
        }
    }

    /// The page that a frame holds.
    func pageNumber(ofFrame frame: Int) -> UInt32 {
        pageNumbers[frame]
    }

    /// The highest page number of any frame.
    var pagesInFrames: some Sequence<UInt32> {
        framesByPage.keys
    }

    /// Whether the checksum of a frame speaks against it.
    func isDoubtful(_ frame: Int) -> Bool {
        doubtful[frame]
    }

    /// The newest frame of a page that is not newer than `limit`.
    func frame(ofPage page: UInt32, upTo limit: Int, skippingDoubtful: Bool) -> Int? {
        guard limit >= 0, let frames = framesByPage[page] else { return nil }
        var low = 0
        var high = frames.count
        while low < high {
            let middle = (low + high) / 2
            if frames[middle] <= limit { low = middle + 1 } else { high = middle }
        }
        while low > 0 {
            let frame = frames[low - 1]
            if !skippingDoubtful || !doubtful[frame] { return frame }
            low -= 1
        }
        return nil
    }

    /// The frame that ends the transaction of `frame`; the last frame if nothing ends it.
    func endOfTransaction(of frame: Int) -> Int {
        var low = 0
        var high = commits.count
        while low < high {
            let middle = (low + high) / 2
            if commits[middle] < frame { low = middle + 1 } else { high = middle }
        }
        return low < commits.count ? commits[low] : frameCount - 1
    }

    /// Where the page of a frame stands in the file.
    static func pageOffset(ofFrame frame: Int) -> UInt64 {
        UInt64(headerByteCount + frameHeaderByteCount) + UInt64(frame) * UInt64(frameByteCount)
    }

    private mutating func append(_ frame: Frame, plausible: UInt32, bigEndian: Bool) {
        var pageNumber = frame.pageNumber
        var commitSize = frame.commitSize
        let isDoubtful = frame.stored != frame.computed
        if isDoubtful, frame.isComplete {
            if let repaired = FrameFieldRepair.commitSize.repaired(
                commitSize, computed: frame.computed, stored: frame.stored, bigEndian: bigEndian),
                repaired <= plausible
            {
                commitSize = repaired
            } else if let repaired = FrameFieldRepair.pageNumber.repaired(
                pageNumber, computed: frame.computed, stored: frame.stored, bigEndian: bigEndian),
                repaired > 0, repaired <= plausible
            {
                pageNumber = repaired
            }
        }
        let position = frameCount
        frameCount += 1
        pageNumbers.append(pageNumber)
        doubtful.append(isDoubtful)
        framesByPage[pageNumber, default: []].append(position)
        if commitSize != 0, frame.isComplete {
            commits.append(position)
            lastCommit = position
            committedPageCount = isDoubtful ? nil : commitSize
        }
    }

    /// The byte order of the checksums, and whether the header's own checksum holds.
    private static func checksumOrder(_ header: FormatBytes) -> (bigEndian: Bool, isWhole: Bool) {
        guard let magic = header.uint32(at: 0), magic | 1 == 0x377F_0683,
            let first = header.uint32(at: 24), let second = header.uint32(at: 28)
        else { return (false, false) }
        let bigEndian = magic & 1 == 1
        var sum = WALChecksum.zero
        sum.add(header.bytes, 0..<24, bigEndian: bigEndian)
        let isWhole = sum == WALChecksum(first: first, second: second)
        // A damaged magic must not turn the order: writers use the order of their machine, and
        // that is little-endian wherever this runs.
        return (bigEndian && isWhole, isWhole)
    }

    private static func readFrames(
        _ source: any SalvageSource, header: FormatBytes, bigEndian: Bool
    ) -> [Frame] {
        var frames: [Frame] = []
        var previous = WALChecksum(
            first: header.uint32(at: 24) ?? 0, second: header.uint32(at: 28) ?? 0)
        var buffer = FormatBytes(count: frameByteCount)
        var offset = UInt64(headerByteCount)
        // A frame that was cut off after its header still shows some of its page.
        while offset + UInt64(frameHeaderByteCount) < source.byteCount {
            source.read(at: offset, into: &buffer.bytes, from: 0)
            let stored = WALChecksum(
                first: buffer.uint32(at: 16) ?? 0, second: buffer.uint32(at: 20) ?? 0)
            var sum = checksum(of: buffer, after: previous, bigEndian: bigEndian)
            if sum != stored, let last = frames.last, last.stored != last.computed {
                // A frame that goes on from what the last one should have stored shows that
                // only the checksum was damaged there.
                let other = checksum(of: buffer, after: last.computed, bigEndian: bigEndian)
                if other == stored {
                    frames[frames.count - 1].stored = last.computed
                    sum = other
                }
            }
            frames.append(
                Frame(
                    pageNumber: buffer.uint32(at: 0) ?? 0,
                    commitSize: buffer.uint32(at: 4) ?? 0,
                    salt: buffer.uint64(at: 8) ?? 0, stored: stored, computed: sum,
                    isComplete: offset + UInt64(frameByteCount) <= source.byteCount))
            previous = stored
            offset += UInt64(frameByteCount)
        }
        return frames
    }

    /// What a frame's checksum should be, after that of the frame before it.
    private static func checksum(
        of frame: FormatBytes, after previous: WALChecksum, bigEndian: Bool
    ) -> WALChecksum {
        var sum = previous
        sum.add(frame.bytes, 0..<8, bigEndian: bigEndian)
        sum.add(frame.bytes, frameHeaderByteCount..<frameByteCount, bigEndian: bigEndian)
        return sum
    }

    /// The salt of the newest generation.
    private static func generation(
        _ header: FormatBytes, isWhole: Bool, _ frames: [Frame]
    ) -> UInt64 {
        let salt = header.uint64(at: 16) ?? 0
        // 64 random bits recur in a frame only if both are right.
        if isWhole || frames.contains(where: { $0.salt == salt }) { return salt }
        if let first = frames.first, first.stored == first.computed { return first.salt }
        var counts: [UInt64: Int] = [:]
        for frame in frames { counts[frame.salt, default: 0] += 1 }
        return counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key ?? salt
    }

    /// The page number above which a repaired number is not believed: what the whole frames tell,
    /// and a page more for each frame, as the damaged one may be the one that made the file grow.
    private static func plausiblePageCount(
        _ frames: ArraySlice<Frame>, _ databasePageCount: UInt32
    ) -> UInt32 {
        var most = databasePageCount
        for frame in frames where frame.stored == frame.computed {
            most = max(most, frame.pageNumber, frame.commitSize)
        }
        return UInt32(clamping: UInt64(most) + UInt64(frames.count))
    }
}
