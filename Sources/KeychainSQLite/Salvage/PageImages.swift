// PageImages: every image of every page. An image is one stored version of a page: the page in the
// database file, or a frame of the log.
//   (1) A page's current image is its last committed frame, or else its page in the database file.
//   (2) Images are read on demand. For the frames, only numbers and flags are kept in memory, so
//       memory use depends only on the number of frames.
//   (3) Frames whose checksum or tag is invalid are included: after a flipped byte, SQLite drops
//       all later frames, although their pages are undamaged.
//   (4) Frames that an attacker appended or replaced are therefore included, too.
//       `passingOverUnsoundFrames` omits the frames whose checksum or tag is invalid. The caller
//       tries the images with these frames, then those without them, and uses the images whose
//       rows have the digest in the store's header.
//   (5) Frames after the last commit belong to an uncommitted transaction or an older generation of
//       the log. They are not used to look up pages.

/// One image of one page.
struct PageImage: Hashable {
    let page: UInt32
    /// The frame that holds it, counted from 0; `nil` for the database file.
    let frame: Int?

    /// The relation of an image to the last commit.
    enum Standing {
        case current
        /// A newer committed image has replaced it.
        case superseded
        /// It belongs to an uncommitted transaction, or to an earlier generation of the log.
        case uncommitted
    }
}

struct PageImages: Sendable {
    private let database: any SalvageSource
    private let log: (any SalvageSource)?
    private var frames: LogFrames
    /// The format of the files.
    let format: SalvageFormat
    /// The number of pages of the database file. The last one may be incomplete.
    private let pageCount: UInt32

    init(database: any SalvageSource, log: (any SalvageSource)?, _ format: SalvageFormat) {
        self.database = database
        self.log = log
        self.format = format
        let size = UInt64(PageFormat.pageByteCount)
        pageCount = UInt32(clamping: (database.byteCount + size - 1) / size)
        frames = log.map { LogFrames($0, format) } ?? LogFrames()
    }

    /// The images without the frames whose checksum or tag is invalid; `nil` if there are no such
    /// frames.
    var passingOverUnsoundFrames: PageImages? {
        guard let sound = frames.passingOverUnsound else { return nil }
        var images = self
        images.frames = sound
        return images
    }

    /// The number of images.
    var count: Int { Int(pageCount) + frames.pages.count }

    /// The current image of a page; `nil` if it has none.
    func current(_ page: UInt32) -> PageImage? {
        if let frame = frames.newest(ofPage: page) { return PageImage(page: page, frame: frame) }
        return page > 0 && page <= pageCount ? PageImage(page: page, frame: nil) : nil
    }

    /// Calls `visit` with every image: the frames from the last one in the file to the first, then
    /// the pages of the database file.
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

    /// Whether a checksum or a tag shows that an image, whose bytes are given, is unchanged.
    func isSound(_ image: PageImage, _ bytes: FormatBytes) -> Bool {
        image.frame.map(frames.isSound)
            ?? format.protection?.verifies(bytes.bytes, number: image.page) ?? false
    }
}

// MARK: - Frames of the log

struct LogFrames: Sendable {
    /// The number of the page in each frame of the file. The frames are counted from 0.
    private(set) var pages: [UInt32] = []
    private var soundness: [Bool] = []
    private var commits: [Bool] = []
    /// The number of frames of the newest generation. In the file, frames of earlier generations
    /// may follow them.
    private var generationCount = 0
    /// The last frame that ends a transaction of the newest generation; -1 if there is none.
    private(set) var lastCommit = -1
    private var newest: [UInt32: Int] = [:]

    /// A log without frames.
    init() {}

    /// Reads the whole log once.
    init(_ log: any SalvageSource, _ format: SalvageFormat) {
        var bytes = [UInt8](repeating: 0, count: LogHeader.byteCount)
        log.read(at: 0, into: &bytes, from: 0)
        let header = LogHeader(bytes)
        // Writers use the byte order of their machine, which is little-endian on all supported
        // platforms.
        let bigEndian = header?.bigEndian ?? false
        var previous = header?.checksum ?? .zero
        // Each generation overwrites the file from its start, so the first frame belongs to the
        // newest.
        var salts = header.map { [$0.salt1, $0.salt2] }
        var last = -1
        bytes = [UInt8](repeating: 0, count: LogFormat.frameByteCount)
        var following = bytes
        while Self.offset(of: pages.count) + UInt64(LogFormat.frameByteCount) <= log.byteCount {
            log.read(at: Self.offset(of: pages.count), into: &bytes, from: 0)
            // Without the salt of the page tags, which only the database file contains, or without
            // a sound header of the log, the tag can't be verified, and the checksum must suffice.
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
            // One equal salt is enough: damage may have changed the other, and two generations have
            // no salt in common. All frames before a frame of the newest generation belong to that
            // generation, too.
            if frame.salts[0] == own[0] || frame.salts[1] == own[1] { last = pages.count }
            pages.append(frame.page)
            soundness.append(frame.isSound && isAuthentic)
            commits.append(frame.databasePageCount != 0)
        }
        generationCount = last + 1
        lastCommit = commits[..<generationCount].lastIndex(of: true) ?? -1
        for frame in 0..<(lastCommit + 1) { newest[pages[frame]] = frame }
    }

    var passingOverUnsound: LogFrames? {
        guard soundness.contains(false) else { return nil }
        var sound = self
        sound.lastCommit = (0..<generationCount).last { commits[$0] && soundness[$0] } ?? -1
        sound.newest = [:]
        for frame in 0..<(sound.lastCommit + 1) where soundness[frame] {
            sound.newest[pages[frame]] = frame
        }
        return sound
    }

    /// The last committed frame of a page.
    func newest(ofPage page: UInt32) -> Int? { newest[page] }

    func isSound(_ frame: Int) -> Bool { soundness[frame] }

    /// The offset of a frame's page in the file.
    static func pageOffset(of frame: Int) -> UInt64 {
        offset(of: frame) + UInt64(LogFrameHeader.byteCount)
    }

    static func offset(of frame: Int) -> UInt64 {
        UInt64(LogFormat.offset(ofFrame: UInt32(clamping: frame + 1)))
    }
}
