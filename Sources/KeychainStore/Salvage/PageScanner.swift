// PageScanner: finds the rows of one page image, by its cells and by the magic of the metadata.
//
// A row is described four times over: by its cell's length, by its record header, by the blobs'
// own lengths, and by its neighbours. Any one of the first three is enough here:
//   (1) Cell and record header agree: the row is taken as they say.
//   (2) Else, at each metadata magic, all of: the cell around it with the blobs' lengths; a record
//       header that ends where the row's body begins; the blobs' lengths alone.
// Which of several hypotheses is right is for the seals to say.

struct PageScanner {
    private let page: FormatBytes
    private let leaf: LeafPage?
    private(set) var traces: [RowTrace] = []
    private var known: Set<RowTrace.Extent> = []
    /// Where the uuids of rows stand that need no second hypothesis.
    private var settled: Set<Int> = []

    /// A row takes more than 116 bytes in front of the next row's magic.
    private static let mostHits = 64
    /// How far in front of the uuid a record header is looked for: `set_aside` has a text there.
    private static let mostHeaderDistance = 600

    init(_ page: FormatBytes, isFirstPage: Bool) {
        self.page = page
        let hits = page.offsets(
            of: BlobFormat.metaMagic, below: BTreeFormat.usableByteCount, most: Self.mostHits)
        let header = isFirstPage ? BTreeFormat.databaseHeaderByteCount : 0
        guard !hits.isEmpty || page.uint8(at: header) == BTreeFormat.tableLeaf else {
            leaf = nil
            return
        }
        let leaf = LeafPage(page, isFirstPage: isFirstPage)
        self.leaf = leaf
        if leaf.isTableLeaf {
            for cell in leaf.cells { takeCell(cell) }
        }
        for hit in hits where hit >= BlobFormat.metaOffset {
            let uuid = hit - BlobFormat.metaOffset
            if !settled.contains(uuid) { takeMagic(hit, uuid: uuid) }
        }
    }

    private mutating func add(_ trace: RowTrace?) {
        guard var trace, known.insert(trace.extent).inserted else { return }
        if let leaf, leaf.isConsistent, trace.evidence == .magic {
            let uuid = trace.extent.uuidPosition
            trace.isResidue = !leaf.cells.contains { $0.start <= uuid && uuid < $0.end }
        }
        traces.append(trace)
    }

    private mutating func takeCell(_ cell: LeafCell) {
        guard let header = RecordHeader(page, at: cell.payloadStart) else { return }
        let agrees = header.payloadByteCount == cell.payloadByteCount
        add(
            RowTrace(
                payloadStart: cell.payloadStart, header, rowid: cell.rowid,
                evidence: agrees ? .cell : .magic))
        if !agrees {
            add(RowTrace(cell: cell, uuidOffset: header.uuidOffset))
        } else if blobsAgree(with: header, in: cell) {
            settled.insert(cell.payloadStart + header.uuidOffset)
        }
    }

    /// Whether the lengths in the blobs are those of the record header, where they are in this
    /// page.
    private func blobsAgree(with header: RecordHeader, in cell: LeafCell) -> Bool {
        let meta = cell.payloadStart + header.uuidOffset + BlobFormat.metaOffset
        guard SelfDescription.metaByteCount(page, at: meta) == header.split.metaByteCount else {
            return false
        }
        guard let count = header.split.secretByteCount else { return true }
        let secret = meta + header.split.metaByteCount + header.split.termsByteCount
        let localEnd = cell.payloadStart + cell.localByteCount
        guard secret + BlobFormat.secretHeaderByteCount <= localEnd else { return true }
        return page.holds(BlobFormat.secretMagic, at: secret)
            && page.uint64(at: secret + 4) == UInt64(count)
    }

    private mutating func takeMagic(_ hit: Int, uuid: Int) {
        // The nearest cell that begins in front of the row and ends behind its magic.
        let around = leaf?.cells
            .filter { $0.payloadStart < uuid && hit < $0.payloadStart + $0.localByteCount }
            .max { $0.payloadStart < $1.payloadStart }
        if let around { add(RowTrace(cell: around, uuidOffset: uuid - around.payloadStart)) }
        let byHeader = traceByHeader(inFrontOf: uuid)
        add(byHeader)

        guard let meta = SelfDescription.metaByteCount(page, at: hit) else { return }
        let limit = BTreeFormat.usableByteCount
        guard meta <= limit - hit else { return }
        let described = SelfDescription.termsAndSecret(page, metaEnd: hit + meta, limit: limit)
        if let (terms, secret) = described {
            add(
                RowTrace(
                    itemsRowAt: uuid,
                    BodySplit(
                        metaByteCount: meta, termsByteCount: terms, secretByteCount: secret)))
        }
        let isTold = byHeader != nil || (around != nil && leaf?.isComplete == true)
        guard !isTold else { return }
        // Nothing tells where a row without a secret ends: each number of terms is possible up to
        // the next secret, which may be of the row behind it.
        let possible = described.map { $0.terms / BlobFormat.termByteCount }
        for terms in 0..<(possible ?? BlobFormat.mostTerms + 1) {
            add(
                RowTrace(
                    itemsRowAt: uuid,
                    BodySplit(
                        metaByteCount: meta, termsByteCount: terms * BlobFormat.termByteCount,
                        secretByteCount: nil)))
        }
    }

    /// The nearest record header of a row whose uuid is at `uuid`.
    private func traceByHeader(inFrontOf uuid: Int) -> RowTrace? {
        var start = uuid - 10
        while start >= max(0, uuid - Self.mostHeaderDistance) {
            if let header = RecordHeader(page, at: start), start + header.uuidOffset == uuid {
                return RowTrace(
                    payloadStart: start, header,
                    rowid: rowid(inFrontOf: start, payloadByteCount: header.payloadByteCount),
                    evidence: .magic)
            }
            start -= 1
        }
        return nil
    }

    /// The rowid of a cell by its end: in front of it stands the payload's length, which is known.
    private func rowid(inFrontOf payloadStart: Int, payloadByteCount: Int) -> Int64? {
        let lengthByteCount = FormatBytes.varintByteCount(UInt64(payloadByteCount))
        for byteCount in 1...9 {
            let start = payloadStart - byteCount
            if let rowid = page.varint(at: start, limit: payloadStart), rowid.end == payloadStart,
                let length = page.varint(at: start - lengthByteCount, limit: start),
                length.end == start, length.value == UInt64(payloadByteCount)
            {
                return Int64(bitPattern: rowid.value)
            }
        }
        return nil
    }
}
