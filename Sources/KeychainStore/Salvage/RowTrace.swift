// RowTrace: where in a page a row begins, how long it is and where it goes on.

/// A hypothesis about a row on one page.
struct RowTrace {
    /// Where the local part of the payload begins. For a row without a record header that could
    /// be found this may be its uuid.
    var payloadStart: Int
    /// Bytes from `payloadStart` on, overflow included.
    var payloadByteCount: Int
    /// Bytes of the payload in this page; the first overflow page's number follows if it is less
    /// than the payload.
    var localByteCount: Int
    /// Where uuid stands in the payload.
    var uuidOffset: Int
    /// The parts of the body by the record header, nil if only the blobs themselves tell.
    var split: BodySplit?
    var rowid: Int64?
    var leadingColumnCount: Int?
    var evidence: SalvagedRow.Evidence
    /// Whether the page's structure is whole and has no cell here.
    var isResidue = false

    /// What makes two hypotheses read the same bytes.
    struct Extent: Hashable {
        let uuidPosition: Int
        let localEnd: Int
        let bodyByteCount: Int
    }

    var extent: Extent {
        Extent(
            uuidPosition: payloadStart + uuidOffset, localEnd: payloadStart + localByteCount,
            bodyByteCount: payloadByteCount - uuidOffset)
    }

    var overflowByteCount: Int {
        payloadByteCount - localByteCount
    }

    /// Whether the bytes it needs of the page are inside of it.
    var fitsPage: Bool {
        let end = payloadStart + localByteCount + (overflowByteCount > 0 ? 4 : 0)
        return payloadStart >= 0 && uuidOffset >= 0 && localByteCount >= 0
            && overflowByteCount >= 0 && end <= BTreeFormat.usableByteCount
            && payloadByteCount - uuidOffset >= BlobFormat.metaOffset
    }

    /// A row of `items` without its record header, told from its blobs alone.
    ///
    /// - Parameters:
    ///   - uuid: Where the uuid stands in the page.
    ///   - split: The parts of the body, by the blobs' own lengths.
    init?(itemsRowAt uuid: Int, _ split: BodySplit) {
        let header = split.itemsHeaderByteCount
        let payload = header + split.bodyByteCount
        let local = BTreeFormat.localByteCount(ofPayload: payload)
        payloadStart = uuid - header
        payloadByteCount = payload
        localByteCount = local
        uuidOffset = header
        if local == payload {
            // Nothing in front of the uuid is needed.
            payloadStart = uuid
            payloadByteCount -= header
            localByteCount -= header
            uuidOffset = 0
        }
        self.split = split
        evidence = .magic
        guard fitsPage else { return nil }
    }

    /// A row whose record header is known.
    init?(
        payloadStart: Int, _ header: RecordHeader, rowid: Int64?, evidence: SalvagedRow.Evidence
    ) {
        self.payloadStart = payloadStart
        payloadByteCount = header.payloadByteCount
        localByteCount = BTreeFormat.localByteCount(ofPayload: header.payloadByteCount)
        uuidOffset = header.uuidOffset
        split = header.split
        self.rowid = rowid
        leadingColumnCount = header.leadingColumnCount
        self.evidence = evidence
        guard fitsPage else { return nil }
    }

    /// A row whose cell gives its length, and whose record header does not tell its parts.
    init?(cell: LeafCell, uuidOffset: Int) {
        payloadStart = cell.payloadStart
        payloadByteCount = cell.payloadByteCount
        localByteCount = cell.localByteCount
        self.uuidOffset = uuidOffset
        rowid = cell.rowid
        evidence = .magic
        guard fitsPage else { return nil }
    }
}
