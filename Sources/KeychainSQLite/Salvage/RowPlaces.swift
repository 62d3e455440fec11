// RowPlaces: finds the rows on one page.
//   (1) A page is sound if its tag or checksum is valid. A sound table leaf has the rows of its
//       cells and no others; any other sound page has none. Anything else that looks like a row is
//       the remains of one.
//   (2) An unsound page is read as a table leaf, whatever its type byte says. It has the rows of
//       its cells. Further rows are found by the magic of their metadata, if there is a record
//       header in front of it. A row in none of the counted cells may be the remains of a row.
//
//   Table leaf (file format, 1.6), as OFFSET SIZE content: 0 1 type 0x0D; 3 2 number of cells; 8 2
//   the offset of a cell, repeated for each cell.
//   Cell: payload byte count varint, rowid varint, payload, number of the first overflow page.

/// The location of a row on a page.
struct RowPlace {
    let payloadStart: Int
    let header: RecordHeader
    let rowid: Int64?
    /// Whether the row is in one of the cells that the page counts.
    let isInCell: Bool
    private let bTree: BTreeFormat

    var localByteCount: Int { bTree.localByteCount(ofPayload: header.payloadByteCount) }
    var overflowByteCount: Int { header.payloadByteCount - localByteCount }
    /// The end of the local part. If there are overflow pages, the number of the first one follows.
    var localEnd: Int { payloadStart + localByteCount }
    fileprivate var uuidPosition: Int { payloadStart + header.uuidOffset }

    fileprivate var fitsPage: Bool {
        localEnd + (overflowByteCount > 0 ? 4 : 0) <= bTree.usableByteCount
    }

    /// The row of the cell at an offset; `nil` unless the cell's length and its record header
    /// agree.
    fileprivate init?(
        _ page: FormatBytes, cellAt start: Int, isCounted: Bool, _ format: SalvageFormat
    ) {
        bTree = format.bTree
        let limit = bTree.usableByteCount
        guard let payload = page.varint(at: start, limit: limit),
            let rowid = page.varint(at: payload.end, limit: limit),
            let header = RecordHeader(page, at: rowid.end, format),
            UInt64(header.payloadByteCount) == payload.value
        else { return nil }
        payloadStart = rowid.end
        self.header = header
        self.rowid = Int64(bitPattern: rowid.value)
        isInCell = isCounted
        guard fitsPage else { return nil }
    }

    /// How far in front of the uuid a record header may begin. In `set_aside`, a text (version 1)
    /// or a tag (version 2) precedes the uuid.
    private static let mostHeaderDistance = 160

    /// The row whose uuid is at an offset, with the nearest record header in front of it.
    fileprivate init?(_ page: FormatBytes, uuidAt uuid: Int, _ format: SalvageFormat) {
        bTree = format.bTree
        let starts = max(0, uuid - Self.mostHeaderDistance)..<max(0, uuid - 9)
        for start in starts.reversed() {
            guard let header = RecordHeader(page, at: start, format),
                start + header.uuidOffset == uuid
            else { continue }
            payloadStart = start
            self.header = header
            rowid = Self.rowid(page, inFrontOf: start, payloadByteCount: header.payloadByteCount)
            isInCell = false
            guard fitsPage else { return nil }
            return
        }
        return nil
    }

    /// The rowid of a cell, searched for backwards from the rowid's end: the payload's length,
    /// which is known, precedes the rowid.
    private static func rowid(
        _ page: FormatBytes, inFrontOf end: Int, payloadByteCount: Int
    ) -> Int64? {
        let lengthByteCount = FormatBytes.varintByteCount(UInt64(payloadByteCount))
        for byteCount in 1...9 {
            let start = end - byteCount
            if let rowid = page.varint(at: start, limit: end), rowid.end == end,
                let length = page.varint(at: start - lengthByteCount, limit: start),
                length.end == start, length.value == UInt64(payloadByteCount)
            {
                return Int64(bitPattern: rowid.value)
            }
        }
        return nil
    }

    // MARK: All rows of a page

    /// Between the magics of two rows there are more than 116 bytes, which limits the number of
    /// hits on a page.
    private static let mostHits = 64

    /// The rows of a page: first those of its cells, then those of further entries in the cell
    /// pointer array, in case the number of cells is damaged, then those found by their magic.
    static func all(
        of page: FormatBytes, isFirstPage: Bool, isSound: Bool, _ format: SalvageFormat
    ) -> [RowPlace] {
        let header = isFirstPage ? BTreeFormat.databaseHeaderByteCount : 0
        let limit = format.bTree.usableByteCount
        guard !isSound || page.uint8(at: header) == BTreeFormat.tableLeaf else { return [] }
        let claimed = page.uint16(at: header + 3) ?? 0
        let most = (limit - header - 8) / 2
        var places: [RowPlace] = []
        var known: Set<Int> = []
        for number in 0..<(isSound ? min(claimed, most) : most) {
            let start = page.uint16(at: header + 8 + 2 * number) ?? 0
            guard let place = RowPlace(page, cellAt: start, isCounted: number < claimed, format)
            else {
                if number < claimed { continue }
                break
            }
            if known.insert(place.uuidPosition).inserted { places.append(place) }
        }
        guard !isSound else { return places }
        let hits = BlobFormat.metaMagics.flatMap {
            page.offsets(of: $0, below: limit, most: mostHits)
        }
        for hit in hits {
            let uuid = hit - BlobFormat.metaOffset
            guard uuid > 0, !known.contains(uuid), let place = RowPlace(page, uuidAt: uuid, format)
            else { continue }
            places.append(place)
        }
        return places
    }
}
