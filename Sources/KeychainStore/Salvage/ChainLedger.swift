// ChainLedger: which overflow pages of the current images are in which chain, to mend chains with
// a damaged pointer.
//
// A damaged pointer leaves the rest of its chain without a page that points to it, and leads
// nowhere, to a chain of another length, or into the chain of another row. So the rows to mend are
// those whose chain is not whole or shares a page; what mends them begins at a page that nothing
// points to and has exactly the pages that are missing.

struct ChainLedger {
    /// Pages that may be overflow pages, with the next page they name.
    private var nextOfLoose: [UInt32: UInt32] = [:]
    private var ownerPage: [UInt32: RowPlace] = [:]
    /// Pages that hold a row to mend.
    private(set) var pagesToMend: Set<UInt32> = []
    /// Overflow pages that more than one row claims.
    private var contested: Set<UInt32> = []

    private struct RowPlace: Hashable {
        let page: UInt32
        let uuid: Int
    }

    /// Chains begin at a page without a pointer to it; sorted into their lengths in pages.
    typealias Heads = [Int: [UInt32]]

    /// Takes down the pages of the freelist (file format, 1.5), which are in no chain: trunk pages
    /// look like the last page of one.
    ///
    ///     Trunk: 4 bytes next trunk or 0, 4 bytes count, then the numbers of leaf pages.
    mutating func noteFreelist(_ images: PageImages) {
        let view = images.currentView
        var buffer = FormatBytes(count: PageFormat.pageByteCount)
        guard let header = images.image(ofPage: 1, in: view) else { return }
        images.read(header, into: &buffer)
        var next = buffer.uint32(at: 32) ?? 0
        let place = RowPlace(page: 1, uuid: 0)
        while next > 1, ownerPage[next] == nil, let image = images.image(ofPage: next, in: view) {
            ownerPage[next] = place
            images.read(image, into: &buffer)
            let most = UInt32(BTreeFormat.usableByteCount / 4 - 2)
            for leaf in 0..<Int(min(buffer.uint32(at: 4) ?? 0, most)) {
                guard let page = buffer.uint32(at: 8 + 4 * leaf), page > 1,
                    images.image(ofPage: page, in: view) != nil
                else { continue }
                ownerPage[page] = place
            }
            next = buffer.uint32(at: 0) ?? 0
        }
    }

    /// Takes down a page that may be an overflow page.
    mutating func note(_ page: FormatBytes, of image: PageImage, images: PageImages) {
        guard image.page > 1, let next = page.uint32(at: 0), next != 1,
            next == 0 || images.image(ofPage: next, in: images.currentView) != nil,
            // A freed page is zeroed.
            page.bytes[..<BTreeFormat.usableByteCount].contains(where: { $0 != 0 })
        else { return }
        nextOfLoose[image.page] = next
    }

    /// Takes down the chain of a row.
    mutating func note(_ chain: OverflowChain, of trace: RowTrace, on page: UInt32) {
        let place = RowPlace(page: page, uuid: trace.extent.uuidPosition)
        if !chain.isWhole { pagesToMend.insert(page) }
        for member in chain.pages {
            if let owner = ownerPage[member], owner != place {
                contested.insert(member)
                pagesToMend.insert(owner.page)
                pagesToMend.insert(page)
            } else {
                ownerPage[member] = place
            }
        }
    }

    /// Whether a row's chain is one to mend.
    func needsMending(_ chain: OverflowChain) -> Bool {
        !chain.isWhole || chain.pages.contains(where: contested.contains)
    }

    /// The chains of pages that no row claims.
    func heads() -> Heads {
        let lost = nextOfLoose.filter { ownerPage[$0.key] == nil }
        let inner = Set(lost.values)
        var lengths: [UInt32: Int] = [:]
        var heads: Heads = [:]
        for page in lost.keys.sorted() where !inner.contains(page) {
            heads[length(from: page, &lengths), default: []].append(page)
        }
        return heads
    }

    /// Pages from `head` to the last of its chain, which may run into a chain that a row claims:
    /// a damaged pointer can skip pages. `lengths` keeps what is known, so that each page is walked
    /// once.
    private func length(from head: UInt32, _ lengths: inout [UInt32: Int]) -> Int {
        var path: [UInt32] = []
        var page = head
        while let next = nextOfLoose[page], lengths[page] == nil {
            // Stands in for the length while the path is walked; ends a cycle.
            lengths[page] = 0
            path.append(page)
            page = next
        }
        var length = lengths[page] ?? 0
        for member in path.reversed() {
            length += 1
            lengths[member] = length
        }
        return length
    }

    /// The ways to mend a chain: how many of its pages to keep, and the page to go on with.
    func splices(
        of chain: OverflowChain, origin: UInt32, pageCount: Int, heads: Heads
    ) -> [(kept: Int, head: UInt32)] {
        var splices: [(kept: Int, head: UInt32)] = []
        for kept in 0...chain.pages.count where kept < pageCount {
            guard let fitting = heads[pageCount - kept] else { continue }
            // The page behind the last one is the likeliest.
            let last = kept == 0 ? origin : chain.pages[kept - 1]
            let nearest = fitting.sorted { ($0 &- last) < ($1 &- last) }
            for head in nearest.prefix(Self.mostSplices - splices.count) {
                splices.append((kept, head))
            }
            if splices.count >= Self.mostSplices { break }
        }
        return splices
    }

    private static let mostSplices = 32
}
