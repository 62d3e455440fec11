// OverflowChain: follows the overflow pages of a row.
//
//   Overflow page (file format, 1.6): 4 bytes number of the next page, 0 in the last; content.
//
//   (1) A chain ends: no page is visited twice, and it has no more pages than its bytes need.
//   (2) Bytes are gathered as pages are read, so that a lying length costs no more memory than
//       the files have bytes.

/// What came of following a chain.
struct OverflowChain {
    /// The pages that the pointers led to, in order.
    private(set) var pages: [UInt32] = []
    /// Whether all bytes were found.
    private(set) var isComplete = false
    /// Whether every pointer was valid and the last one 0.
    private(set) var isWhole = false
    /// Whether a page came from an image whose page number may be damaged.
    private(set) var touchesDoubtful = false
    /// Whether a pointer was invalid and the page behind the last one was taken instead.
    private var isGuessing = false

    /// Reads `byteCount` bytes of content into `payload`.
    ///
    /// - Parameters:
    ///   - first: The number at the end of the row's local bytes.
    ///   - origin: The page of the row itself.
    ///   - byteCount: Bytes of the row that are not local.
    ///   - payload: The bytes before, which the content is appended to.
    ///   - images: Where the pages are.
    ///   - view: The state of the database to take them from.
    ///   - budget: Page reads that may still be made for chains.
    init(
        from first: UInt32, origin: UInt32, byteCount: Int, into payload: inout [UInt8],
        images: PageImages, view: PageView, budget: inout Int
    ) {
        let needed = BTreeFormat.overflowPageCount(for: byteCount)
        guard needed <= images.count else { return }
        var buffer = FormatBytes(count: PageFormat.pageByteCount)
        var visited: Set<UInt32> = [origin]
        var previous = origin
        var next = first
        var missing = byteCount
        while missing > 0 {
            guard let image = step(to: next, behind: previous, visited, images, view),
                budget > 0
            else { return }
            budget -= 1
            visited.insert(image.page)
            if !isGuessing { pages.append(image.page) }
            touchesDoubtful = touchesDoubtful || images.isDoubtful(image)
            images.read(image, into: &buffer)
            let taken = min(missing, BTreeFormat.overflowContentByteCount)
            payload.append(contentsOf: buffer.bytes[4..<(4 + taken)])
            missing -= taken
            previous = image.page
            next = buffer.uint32(at: 0) ?? 0
        }
        isComplete = true
        isWhole = !isGuessing && next == 0
    }

    /// The page that `number` names, or, if there is none, the one behind the last: SQLite mostly
    /// allocates the pages of a chain in sequence.
    private mutating func step(
        to number: UInt32, behind previous: UInt32, _ visited: Set<UInt32>,
        _ images: PageImages, _ view: PageView
    ) -> PageImage? {
        if number > 1, !visited.contains(number),
            let image = images.image(ofPage: number, in: view)
        {
            return image
        }
        isGuessing = true
        let (following, overflow) = previous.addingReportingOverflow(1)
        guard !overflow, following > 1, !visited.contains(following) else { return nil }
        return images.image(ofPage: following, in: view)
    }
}
