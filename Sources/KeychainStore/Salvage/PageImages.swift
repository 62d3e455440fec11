// PageImages: every image of every page, in the main file and in the WAL.
//   (1) A page's current image is its last committed WAL frame, else its page in the main file.
//       Whether the checksums up to that frame hold does not matter: SQLite gives up all frames
//       behind a flipped byte, yet their pages are whole.
//   (2) Images are read when asked for; memory grows with the number of frames only.

/// One image of one page.
struct PageImage: Hashable {
    let page: UInt32
    /// The WAL frame that holds it, counted from 0; nil for the main file.
    let frame: Int?
}

/// A state of the database to look pages up in.
struct PageView {
    /// The newest frame that counts; -1 for the main file alone.
    let newestFrame: Int
    /// Whether frames count whose page number may be damaged.
    var skippingDoubtful = false
}

struct PageImages: Sendable {
    private let database: any SalvageSource
    private let wal: (any SalvageSource)?
    private let index: WALIndex
    /// Pages of the main file, the last one possibly cut off.
    let databasePageCount: UInt32

    init(database: any SalvageSource, wal: (any SalvageSource)?) {
        self.database = database
        self.wal = wal
        let size = UInt64(PageFormat.pageByteCount)
        let pages = database.byteCount / size + (database.byteCount % size == 0 ? 0 : 1)
        databasePageCount = UInt32(clamping: pages)
        index = wal.map { WALIndex($0, databasePageCount: UInt32(clamping: pages)) } ?? WALIndex()
    }

    /// How many images there are.
    var count: Int {
        Int(databasePageCount) + index.frameCount
    }

    /// The committed state.
    var currentView: PageView {
        PageView(newestFrame: index.lastCommit)
    }

    /// The state in which an image was written: at the end of its transaction.
    func view(of image: PageImage) -> PageView {
        guard let frame = image.frame else { return PageView(newestFrame: -1) }
        return PageView(newestFrame: index.endOfTransaction(of: frame))
    }

    /// The image of a page in a state, nil if it has none.
    func image(ofPage page: UInt32, in view: PageView) -> PageImage? {
        if let frame = index.frame(
            ofPage: page, upTo: view.newestFrame, skippingDoubtful: view.skippingDoubtful)
        {
            return PageImage(page: page, frame: frame)
        }
        guard page > 0, page <= databasePageCount else { return nil }
        return PageImage(page: page, frame: nil)
    }

    /// Whether an image is filed under a page number that may be damaged.
    func isDoubtful(_ image: PageImage) -> Bool {
        image.frame.map(index.isDoubtful) ?? false
    }

    /// How an image stands to the committed state.
    func standing(of image: PageImage) -> SalvagedRow.Standing {
        if let frame = image.frame, frame > index.lastCommit { return .uncommitted }
        // Pages past the end of the committed database were given up by it.
        if let end = index.committedPageCount, image.page > end { return .superseded }
        return self.image(ofPage: image.page, in: currentView) == image ? .current : .superseded
    }

    /// Calls `visit` with the newest committed image of each page, by page number.
    func forEachCurrent(_ visit: (PageImage) throws -> Void) rethrows {
        var page: UInt32 = 0
        while page < databasePageCount {
            page += 1
            if let image = image(ofPage: page, in: currentView) { try visit(image) }
        }
        let beyond = index.pagesInFrames.filter { $0 == 0 || $0 > databasePageCount }
        for page in beyond.sorted() {
            if let image = image(ofPage: page, in: currentView) { try visit(image) }
        }
    }

    /// Calls `visit` with all other images, the newest frame first and the main file last.
    func forEachOther(_ visit: (PageImage) throws -> Void) rethrows {
        for frame in (0..<index.frameCount).reversed() {
            let image = PageImage(page: index.pageNumber(ofFrame: frame), frame: frame)
            if self.image(ofPage: image.page, in: currentView) != image { try visit(image) }
        }
        for page in index.pagesInFrames.sorted() where page > 0 && page <= databasePageCount {
            let image = PageImage(page: page, frame: nil)
            if self.image(ofPage: page, in: currentView) != image { try visit(image) }
        }
    }

    /// Replaces the contents of `buffer` with an image.
    func read(_ image: PageImage, into buffer: inout FormatBytes) {
        if buffer.count != PageFormat.pageByteCount {
            buffer = FormatBytes(count: PageFormat.pageByteCount)
        }
        if let frame = image.frame {
            wal?.read(at: WALIndex.pageOffset(ofFrame: frame), into: &buffer.bytes, from: 0)
        } else if image.page > 0 {
            let offset = UInt64(image.page - 1) * UInt64(PageFormat.pageByteCount)
            database.read(at: offset, into: &buffer.bytes, from: 0)
        }
    }
}
