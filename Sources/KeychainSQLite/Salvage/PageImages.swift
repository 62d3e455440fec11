// PageImages: every image of every page, in the database file and in its log.
//   (1) A page's current image is its last committed frame, else its page in the database file.
//   (2) Images are read when asked for. Frames are kept as numbers only, so memory grows with their
//       number only.
//   (3) A frame whose checksum or tag doesn't hold counts all the same: SQLite gives up all frames
//       behind a flipped byte, yet their pages are whole.
//   (4) What an attacker appended or exchanged is such a frame, too. So a second reading of the log passes
//       over all that nothing vouches for; the caller's digest tells which reading is right.
//   (5) Frames behind the last commit are of a transaction that never ended, or of an older
//       generation. No page is looked up among them.

/// One image of one page.
struct PageImage: Hashable {
    let page: UInt32
    /// The frame that holds it, counted from 0; nil for the database file.
    let frame: Int?

    /// How an image stands to the last commit.
    enum Standing {
        case current
        /// A newer committed image replaced it.
        case superseded
        /// It is of a transaction that did not end, or of a log before this one.
        case uncommitted
    }
}

struct PageImages: Sendable {
    private let database: any SalvageSource
    private let log: (any SalvageSource)?
    private var frames: LogFrames
    /// What the files were written as.
    let format: SalvageFormat
    /// Pages of the database file, the last one possibly cut off.
    private let pageCount: UInt32

    init(database: any SalvageSource, log: (any SalvageSource)?, _ format: SalvageFormat) {
        self.database = database
        self.log = log
        self.format = format
        let size = UInt64(PageFormat.pageByteCount)
        pageCount = UInt32(clamping: (database.byteCount + size - 1) / size)
        frames = log.map { LogFrames($0, format) } ?? LogFrames()
    }

    /// The same without the frames of the log that nothing vouches for; nil: there are none.
    var passingOverUnsoundFrames: PageImages? {
        guard let sound = frames.passingOverUnsound else { return nil }
        var images = self
        images.frames = sound
        return images
    }

    /// How many images there are.
    var count: Int { Int(pageCount) + frames.pages.count }

    /// The current image of a page, nil if it has none.
    func current(_ page: UInt32) -> PageImage? {
        if let frame = frames.newest(ofPage: page) { return PageImage(page: page, frame: frame) }
        return page > 0 && page <= pageCount ? PageImage(page: page, frame: nil) : nil
    }

    /// Calls `visit` with every image, the newest first.
    func forEach(_ visit: (PageImage, PageImage.Standing) throws -> Void) rethrows {
        for frame in frames.pages.indices.reversed() {
            let image = PageImage(page: frames.pages[frame], frame: frame)
            try visit(image, frame > frames.lastCommit ? .uncommitted : standing(of: image))
        }
        var page: UInt32 = 0
        while page < pageCount {
            page += 1
            let image = PageImage(page: page, frame: nil)
            try visit(image, standing(of: image))
        }
    }

    private func standing(of image: PageImage) -> PageImage.Standing {
        current(image.page) == image ? .current : .superseded
    }

    /// Replaces the contents of `buffer`, which has the size of a page, with an image.
    func read(_ image: PageImage, into buffer: inout FormatBytes) {
        if let frame = image.frame {
            log?.read(at: LogFrames.pageOffset(of: frame), into: &buffer.bytes, from: 0)
        } else {
            let offset = UInt64(image.page - 1) * UInt64(PageFormat.pageByteCount)
            database.read(at: offset, into: &buffer.bytes, from: 0)
        }
    }

    /// Whether a checksum or a tag says that an image, which `bytes` are, is as it was written.
    func isSound(_ image: PageImage, _ bytes: FormatBytes) -> Bool {
        image.frame.map(frames.isSound)
            ?? format.protection?.verifies(bytes.bytes, number: image.page) ?? false
    }
}

// MARK: - Frames of the log

struct LogFrames: Sendable {
    /// For each frame of the file, counted from 0, the page that it holds.
    private(set) var pages: [UInt32] = []
    private var soundness: [Bool] = []
    private var commits: [Bool] = []
    /// The last frame that ends a transaction of the newest generation; -1 without one.
    private(set) var lastCommit = -1
    private var newest: [UInt32: Int] = [:]

    /// A log without frames.
    init() {}

    /// Reads the log once from end to end.
    init(_ log: any SalvageSource, _ format: SalvageFormat) {
        var bytes = [UInt8](repeating: 0, count: LogHeader.byteCount)
        log.read(at: 0, into: &bytes, from: 0)
        let header = LogHeader(bytes)
        // Writers sum up in the order of their machine, which is little-endian wherever this runs.
        let bigEndian = header?.bigEndian ?? false
        var previous = header?.checksum ?? .zero
        // Each generation overwrites the file from its start, so the first frame is of the newest.
        var salts = header.map { [$0.salt1, $0.salt2] }
        var last = -1
        bytes = [UInt8](repeating: 0, count: LogFormat.frameByteCount)
        var following = bytes
        while Self.offset(of: pages.count) + UInt64(LogFormat.frameByteCount) <= log.byteCount {
            log.read(at: Self.offset(of: pages.count), into: &bytes, from: 0)
            // Without the salt, which the database alone has, the checksum has to do.
            let number = UInt32(clamping: pages.count + 1)
            let isAuthentic =
                header.flatMap { format.protection?.verifies(bytes, frame: number, in: $0) } ?? true
            format.hide(frame: &bytes)
            guard var frame = LooseFrame(bytes, after: previous, bigEndian: bigEndian) else {
                break
            }
            if !frame.isSound {
                log.read(at: Self.offset(of: pages.count + 1), into: &following, from: 0)
                format.hide(frame: &following)
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
            soundness.append(frame.isSound && isAuthentic)
            commits.append(frame.databasePageCount != 0)
        }
        lastCommit = commits[..<(last + 1)].lastIndex(of: true) ?? -1
        for frame in 0..<(lastCommit + 1) { newest[pages[frame]] = frame }
    }

    var passingOverUnsound: LogFrames? {
        guard soundness.contains(false) else { return nil }
        var sound = self
        sound.lastCommit = commits.indices.last { commits[$0] && soundness[$0] } ?? -1
        sound.newest = [:]
        for frame in 0..<(sound.lastCommit + 1) where soundness[frame] {
            sound.newest[pages[frame]] = frame
        }
        return sound
    }

    /// The last committed frame of a page.
    func newest(ofPage page: UInt32) -> Int? { newest[page] }

    func isSound(_ frame: Int) -> Bool { soundness[frame] }

    /// Where the page of a frame stands in the file.
    static func pageOffset(of frame: Int) -> UInt64 {
        offset(of: frame) + UInt64(LogFrameHeader.byteCount)
    }

    static func offset(of frame: Int) -> UInt64 {
        UInt64(LogFormat.offset(ofFrame: UInt32(clamping: frame + 1)))
    }
}
