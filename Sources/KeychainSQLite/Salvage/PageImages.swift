// PageImages: every image of every page, in the database file and in its log.
//   (1) A page's current image is its last committed frame, else its page in the database file.
//   (2) Images are read when asked for; memory grows with the number of frames only.

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
    private let frames: LogFrames
    /// Pages of the database file, the last one possibly cut off.
    private let pageCount: UInt32

    init(database: any SalvageSource, log: (any SalvageSource)?) {
        self.database = database
        self.log = log
        let size = UInt64(PageFormat.pageByteCount)
        pageCount = UInt32(clamping: (database.byteCount + size - 1) / size)
        frames = log.map { LogFrames($0) } ?? LogFrames()
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

    /// Whether a checksum says that an image, which `bytes` are, is as it was written.
    func isSound(_ image: PageImage, _ bytes: FormatBytes) -> Bool {
        image.frame.map(frames.isSound)
            ?? PageChecksum.verifies(bytes.bytes, number: image.page)
    }
}
