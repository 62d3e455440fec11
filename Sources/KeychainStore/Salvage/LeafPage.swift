// LeafPage: the cells of a table-leaf page (file format, 1.6), and whether they account for it.
//
//   0  1  type 0x0D                 5  2  start of the cell content, 0 for 65536
//   1  2  first freeblock, or 0     7  1  fragmented free bytes
//   3  2  number of cells           8     one 2-byte offset a cell
//
//   Cell: payload byte count varint, rowid varint, payload, number of the first overflow page.

/// A cell, as far as its own bytes tell.
struct LeafCell {
    let start: Int
    let rowid: Int64
    let payloadStart: Int
    let payloadByteCount: Int
    let localByteCount: Int
    /// The offset behind the cell, its overflow page number included.
    let end: Int

    init?(_ page: FormatBytes, at start: Int) {
        let limit = BTreeFormat.usableByteCount
        guard let payload = page.varint(at: start, limit: limit), payload.value <= 1 << 31,
            let rowid = page.varint(at: payload.end, limit: limit)
        else { return nil }
        self.start = start
        self.rowid = Int64(bitPattern: rowid.value)
        payloadStart = rowid.end
        payloadByteCount = Int(payload.value)
        localByteCount = BTreeFormat.localByteCount(ofPayload: payloadByteCount)
        end = payloadStart + localByteCount + (localByteCount < payloadByteCount ? 4 : 0)
        guard end <= limit else { return nil }
    }

    /// How many bytes of the page it takes; SQLite gives a cell at least 4.
    var byteCount: Int {
        max(end - start, 4)
    }
}

/// A page read as a table leaf, whatever its type byte says.
struct LeafPage {
    let isTableLeaf: Bool
    let cells: [LeafCell]
    /// Whether all cells that the header counts are there. A damaged count takes content for cells.
    let isComplete: Bool
    /// Whether type, cells, freeblocks and fragments account for every byte of the page, so that
    /// bytes outside all cells are known to be leftovers.
    let isConsistent: Bool

    init(_ page: FormatBytes, isFirstPage: Bool) {
        let header = isFirstPage ? BTreeFormat.databaseHeaderByteCount : 0
        let limit = BTreeFormat.usableByteCount
        isTableLeaf = page.uint8(at: header) == BTreeFormat.tableLeaf
        let claimed = page.uint16(at: header + 3) ?? 0
        let pointers = header + 8
        // A damaged count must not hide the cells that are there, nor go past the page.
        let count = min(claimed, (limit - pointers) / 2)
        var cells: [LeafCell] = []
        var allFit = isTableLeaf && count == claimed
        for number in 0..<count {
            if let start = page.uint16(at: pointers + 2 * number), start >= pointers,
                let cell = LeafCell(page, at: start)
            {
                cells.append(cell)
            } else {
                allFit = false
            }
        }
        self.cells = cells
        isComplete = allFit
        isConsistent =
            allFit && Self.accountsForAll(page, header: header, pointers: count, cells)
    }

    private static func accountsForAll(
        _ page: FormatBytes, header: Int, pointers: Int, _ cells: [LeafCell]
    ) -> Bool {
        let limit = BTreeFormat.usableByteCount
        guard let content = page.uint16(at: header + 5), let fragments = page.uint8(at: header + 7),
            content >= header + 8 + 2 * pointers, content <= limit
        else { return false }
        var taken = cells.map { ($0.start, $0.byteCount) }
        var freeblock = page.uint16(at: header + 1) ?? 0
        while freeblock != 0 {
            // Freeblocks are in ascending order, so a list that goes on has an end.
            guard let next = page.uint16(at: freeblock), let size = page.uint16(at: freeblock + 2),
                size >= 4, next == 0 || next > freeblock
            else { return false }
            taken.append((freeblock, size))
            freeblock = next
        }
        taken.sort { $0.0 < $1.0 }
        var position = content
        var gaps = 0
        for (start, size) in taken {
            guard start >= position else { return false }
            gaps += start - position
            position = start + size
        }
        guard position <= limit else { return false }
        return gaps + (limit - position) == fragments
    }
}
