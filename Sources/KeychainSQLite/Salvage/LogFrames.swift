// LogFrames: which frames of a log belong to its newest generation, and which page each holds.
//   (1) Frames are kept as numbers only; pages are read from the file when they are asked for.
//   (2) A frame whose checksum doesn't hold counts all the same: SQLite gives up all frames behind
//       a flipped byte, yet their pages are whole.
//   (3) Frames behind the last commit are of a transaction that never ended, or of an older
//       generation. No page is looked up among them.

struct LogFrames: Sendable {
    /// For each frame of the file, counted from 0, the page that it holds.
    private(set) var pages: [UInt32] = []
    private var soundness: [Bool] = []
    /// The last frame that ends a transaction of the newest generation; -1 without one.
    private(set) var lastCommit = -1
    private var newest: [UInt32: Int] = [:]

    /// A log without frames.
    init() {}

    /// Reads the log once from end to end.
    init(_ log: any SalvageSource) {
        var bytes = [UInt8](repeating: 0, count: LogHeader.byteCount)
        log.read(at: 0, into: &bytes, from: 0)
        let header = LogHeader(bytes)
        // Writers sum up in the order of their machine, which is little-endian wherever this runs.
        let bigEndian = header?.bigEndian ?? false
        var previous = header?.checksum ?? .zero
        // Each generation overwrites the file from its start, so the first frame is of the newest.
        var salts = header.map { [$0.salt1, $0.salt2] }
        var commits: [Bool] = []
        var last = -1
        bytes = [UInt8](repeating: 0, count: LogFormat.frameByteCount)
        var following = bytes
        while Self.offset(of: pages.count) + UInt64(LogFormat.frameByteCount) <= log.byteCount {
            log.read(at: Self.offset(of: pages.count), into: &bytes, from: 0)
            guard var frame = LooseFrame(bytes, after: previous, bigEndian: bigEndian) else {
                break
            }
            if !frame.isSound {
                log.read(at: Self.offset(of: pages.count + 1), into: &following, from: 0)
                let next = LooseFrame(following, after: frame.checksum, bigEndian: bigEndian)
                frame.mend(bytes, bigEndian: bigEndian, isFollowed: next?.isSound == true)
            }
            previous = frame.checksum
            let own = salts ?? frame.salts
            salts = own
            // A damaged one still has one half right, and two generations share none. What stands
            // in front of a frame of this generation belongs to it.
            if frame.salts[0] == own[0] || frame.salts[1] == own[1] { last = pages.count }
            pages.append(frame.page)
            soundness.append(frame.isSound)
            commits.append(frame.databasePageCount != 0)
        }
        lastCommit = commits[..<(last + 1)].lastIndex(of: true) ?? -1
        for frame in 0..<(lastCommit + 1) { newest[pages[frame]] = frame }
    }

    /// The last committed frame of a page.
    func newest(ofPage page: UInt32) -> Int? { newest[page] }

    func isSound(_ frame: Int) -> Bool { soundness[frame] }

    /// Where the page of a frame stands in the file.
    static func pageOffset(of frame: Int) -> UInt64 {
        offset(of: frame) + UInt64(LogFrameHeader.byteCount)
    }

    private static func offset(of frame: Int) -> UInt64 {
        UInt64(LogFormat.offset(ofFrame: UInt32(clamping: frame + 1)))
    }
}
