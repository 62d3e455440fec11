// RowPass: one run over the page images, from page to trace to candidate row.

struct RowPass {
    private let images: PageImages
    private var ledger = ChainLedger()
    private var page = FormatBytes(count: PageFormat.pageByteCount)
    /// Page reads left for overflow chains. A page is in one chain; rows that claim the pages of
    /// others must not make the run quadratic.
    private var budget: Int
    private var mendingBudget: Int

    init(_ images: PageImages) {
        self.images = images
        budget = 8 * images.count + 1024
        mendingBudget = 8 * images.count + 1024
        ledger.noteFreelist(images)
    }

    /// Calls `visit` with the candidates of one image.
    mutating func visitRows(
        of image: PageImage, isCurrentPass: Bool, _ visit: (SalvagedRow) throws -> Void
    ) rethrows {
        images.read(image, into: &page)
        if isCurrentPass { ledger.note(page, of: image, images: images) }
        let scanner = PageScanner(page, isFirstPage: image.page == 1)
        guard !scanner.traces.isEmpty else { return }
        let standing = images.standing(of: image)
        var view = isCurrentPass ? images.currentView : images.view(of: image)
        for trace in scanner.traces {
            let place = Place(image: image, standing: standing, trace: trace)
            view.skippingDoubtful = false
            var payload = localBytes(of: trace)
            guard trace.overflowByteCount > 0 else {
                try rows(payload, place).forEach(visit)
                continue
            }
            let chain = followChain(of: trace, on: image, into: &payload, view)
            if isCurrentPass, !trace.isResidue { ledger.note(chain, of: trace, on: image.page) }
            if chain.isComplete { try rows(payload, place).forEach(visit) }
            guard chain.touchesDoubtful else { continue }
            view.skippingDoubtful = true
            var other = localBytes(of: trace)
            let otherChain = followChain(of: trace, on: image, into: &other, view)
            if otherChain.isComplete, other != payload { try rows(other, place).forEach(visit) }
        }
    }

    /// Calls `visit` with the rows whose chain is broken or claimed twice, put together with the
    /// chains of pages that no row claims.
    mutating func visitMendedRows(_ visit: (SalvagedRow) throws -> Void) rethrows {
        guard !ledger.pagesToMend.isEmpty else { return }
        let heads = ledger.heads()
        guard !heads.isEmpty else { return }
        budget += mendingBudget
        for number in ledger.pagesToMend.sorted() {
            guard let image = images.image(ofPage: number, in: images.currentView) else { continue }
            images.read(image, into: &page)
            let scanner = PageScanner(page, isFirstPage: number == 1)
            for trace in scanner.traces where trace.overflowByteCount > 0 && !trace.isResidue {
                try visitSplices(of: trace, on: image, heads, visit)
            }
        }
    }

    private mutating func visitSplices(
        of trace: RowTrace, on image: PageImage, _ heads: ChainLedger.Heads,
        _ visit: (SalvagedRow) throws -> Void
    ) rethrows {
        var place = Place(image: image, standing: images.standing(of: image), trace: trace)
        place.trace.evidence = .splicedChain
        var payload = localBytes(of: trace)
        let localByteCount = payload.count
        let chain = followChain(of: trace, on: image, into: &payload, images.currentView)
        guard ledger.needsMending(chain) else { return }
        let pageCount = BTreeFormat.overflowPageCount(for: trace.overflowByteCount)
        let splices = ledger.splices(
            of: chain, origin: image.page, pageCount: pageCount, heads: heads)
        for splice in splices {
            // The pages that are kept were read in order, so their content is a prefix.
            let keptByteCount = splice.kept * BTreeFormat.overflowContentByteCount
            guard localByteCount + keptByteCount <= payload.count else { continue }
            var mended = Array(payload[..<(localByteCount + keptByteCount)])
            let rest = OverflowChain(
                from: splice.head, origin: image.page,
                byteCount: trace.overflowByteCount - keptByteCount, into: &mended,
                images: images, view: images.currentView, budget: &budget)
            if rest.isComplete { try rows(mended, place).forEach(visit) }
        }
    }

    private func localBytes(of trace: RowTrace) -> [UInt8] {
        let end = trace.payloadStart + trace.localByteCount
        return Array(page.bytes[trace.payloadStart..<end])
    }

    private mutating func followChain(
        of trace: RowTrace, on image: PageImage, into payload: inout [UInt8], _ view: PageView
    ) -> OverflowChain {
        OverflowChain(
            from: page.uint32(at: trace.payloadStart + trace.localByteCount) ?? 0,
            origin: image.page, byteCount: trace.overflowByteCount, into: &payload,
            images: images, view: view, budget: &budget)
    }

    /// Where a candidate comes from.
    private struct Place {
        let image: PageImage
        let standing: SalvagedRow.Standing
        var trace: RowTrace
    }

    /// The rows that a complete payload can be read as: by the record header, and by the blobs'
    /// own lengths where they say something else.
    private func rows(_ payload: [UInt8], _ place: Place) -> [SalvagedRow] {
        let uuid = place.trace.uuidOffset
        let described = SelfDescription.split(FormatBytes(payload), from: uuid)
        var splits: [BodySplit] = []
        if let split = place.trace.split { splits.append(split) }
        if let described, described != place.trace.split { splits.append(described) }
        return splits.compactMap { split in
            guard uuid <= payload.count, split.bodyByteCount == payload.count - uuid else {
                return nil
            }
            return row(payload[uuid...], split, place)
        }
    }

    private func row(
        _ body: ArraySlice<UInt8>, _ split: BodySplit, _ place: Place
    ) -> SalvagedRow? {
        var rest = body
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let uuid = take(16)
        guard let protection = take(1).first else { return nil }
        return SalvagedRow(
            rowid: place.trace.rowid, uuid: uuid, protection: protection,
            grp: take(16), k1: take(16), k2: take(16), k3: take(16),
            meta: take(split.metaByteCount), terms: take(split.termsByteCount),
            secret: split.secretByteCount.map { take($0) },
            standing: place.trace.isResidue && place.standing == .current
                ? .residue : place.standing,
            evidence: place.trace.evidence,
            leadingColumnCount: place.trace.leadingColumnCount,
            page: place.image.page, frame: place.image.frame)
    }
}
