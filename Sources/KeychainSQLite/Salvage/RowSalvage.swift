// RowSalvage: reads rows, headers and keybags out of a damaged database and its log, without
// SQLite.
//   (1) No input traps, loops without end, or takes more memory than the files have bytes.
//   (2) One page is in memory at a time; a row is handed over before the next is read.
//   (3) Rows come out of the newest committed image of each page alone: an older image would give
//       an item as it was before, or one that was deleted since.
//   (4) What is handed over, a `SalvagedRow`, is a candidate; the caller's check of the tags picks
//       out the right ones.

package import KeychainCore
import KeychainCrypto

package struct RowSalvage: Sendable {
    private let images: PageImages
    private var format: SalvageFormat { images.format }
    private var bTree: BTreeFormat { images.format.bTree }

    /// Reads the log once, to find the page that each of its frames holds. Pages of version 2 are
    /// verified with the device key; without it none of them counts as sound.
    package init(
        database: any SalvageSource, log: (any SalvageSource)?, deviceKey: SecretBytes? = nil
    ) {
        images = PageImages(
            database: database, log: log,
            SalvageFormat(of: database, log: log, deviceKey: deviceKey))
    }

    private init(_ images: PageImages) { self.images = images }

    /// The same files, read without the frames of the log whose checksum or tag doesn't hold; nil: there are
    /// none.
    package var passingOverUnsoundFrames: RowSalvage? {
        images.passingOverUnsoundFrames.map(RowSalvage.init)
    }

    // MARK: Rows

    /// Calls `visit` with each candidate row, those of the newest frame first and those of the
    /// database file last. Of one that lacks a part of its overflow pages the secret is cut short.
    package func forEachRow(_ visit: (SalvagedRow) throws -> Void) rethrows {
        var page = FormatBytes(count: PageFormat.pageByteCount)
        // A page is in one chain; rows that claim the pages of others must not take for ever.
        var chainReads = 2 * images.count + 1024
        try images.forEach { image, standing in
            guard standing == .current else { return }
            images.read(image, into: &page)
            let isSound = images.isSound(image, page)
            let places = RowPlace.all(
                of: page, isFirstPage: image.page == 1, isSound: isSound, format)
            for place in places {
                var payload = Array(page.bytes[place.payloadStart..<place.localEnd])
                if place.overflowByteCount > 0, let first = page.uint32(at: place.localEnd) {
                    follow(first, place.overflowByteCount, into: &payload, &chainReads)
                }
                guard var row = place.header.row(in: payload, rowid: place.rowid) else { continue }
                row.isInCell = place.isInCell
                row.isOnSoundPage = isSound
                try visit(row)
            }
        }
    }

    /// Appends the content of a chain of overflow pages (file format, 1.6): 4 bytes number of the
    /// next page, 0 in the last; content. Ends early where the chain is broken.
    private func follow(
        _ first: UInt32, _ byteCount: Int, into payload: inout [UInt8], _ reads: inout Int
    ) {
        var buffer = FormatBytes(count: PageFormat.pageByteCount)
        var visited: Set<UInt32> = []
        var missing = byteCount
        var next = first
        while missing > 0, reads > 0, next > 1, visited.insert(next).inserted,
            let image = images.current(next)
        {
            reads -= 1
            images.read(image, into: &buffer)
            let taken = min(missing, bTree.overflowContentByteCount)
            payload.append(contentsOf: buffer.bytes[4..<(4 + taken)])
            missing -= taken
            next = buffer.uint32(at: 0) ?? 0
        }
    }

    // MARK: Headers

    /// What the authentic headers of damaged files tell.
    package struct Headers: Sendable {
        /// The newest of a transaction that has ended, as far as the log shows.
        package fileprivate(set) var committed: StoreHeader?
        /// The highest generation of any.
        package fileprivate(set) var highestGeneration: UInt64 = 0
    }

    /// The headers whose tags verify, wherever they stand.
    package func headers(_ tiers: StoreTiers) -> Headers {
        var headers = Headers()
        let byteCount =
            tiers.isVersion1 ? StoreHeader.version1ByteCount : StoreHeader.byteCount
        forEach(BlobFormat.headerMagic) { page, hit, standing in
            let end = hit + byteCount
            guard end <= bTree.usableByteCount,
                let header = StoreHeader(Array(page.bytes[hit..<end]), tiers)
            else { return }
            headers.highestGeneration = max(headers.highestGeneration, header.generation)
            if standing != .uncommitted, header.generation > headers.committed?.generation ?? 0 {
                headers.committed = header
            }
        }
        return headers
    }

    // MARK: Keybags

    /// What may be keybags, those of transactions that have ended and those of others.
    package func keybags() -> (committed: Set<[UInt8]>, others: Set<[UInt8]>) {
        var committed: Set<[UInt8]> = []
        var others: Set<[UInt8]> = []
        forEach(BlobFormat.keybagMagic) { page, hit, standing in
            guard let claimed = page.uint32(at: hit + BlobFormat.keybagLengthOffset),
                BlobFormat.keybagByteCounts.contains(claimed)
            else { return }
            // A record of id and body: the header's own count, NULL, the type of the body.
            let header = 2 + FormatBytes.varintByteCount(UInt64(claimed) * 2 + 12)
            let byteCount = Int(claimed)
            let local = bTree.localByteCount(ofPayload: header + byteCount) - header
            guard hit + local <= bTree.usableByteCount else { return }
            var body = Array(page.bytes[hit..<(hit + local)])
            if local < byteCount, let first = page.uint32(at: hit + local) {
                var reads = 8
                follow(first, byteCount - local, into: &body, &reads)
            }
            if standing == .uncommitted { others.insert(body) } else { committed.insert(body) }
        }
        return (committed, others)
    }

    /// Calls `visit` with each place of a magic in any image.
    private func forEach(
        _ magic: UInt32, _ visit: (FormatBytes, Int, PageImage.Standing) -> Void
    ) {
        var page = FormatBytes(count: PageFormat.pageByteCount)
        images.forEach { image, standing in
            images.read(image, into: &page)
            for hit in page.offsets(of: magic, below: bTree.usableByteCount, most: 64) {
                visit(page, hit, standing)
            }
        }
    }
}

extension RowSalvage {
    /// Opens the files for reading. See ``DamagedFile`` about files that SQLite has open.
    ///
    /// - Parameters:
    ///   - databasePath: The database file; nil if there is none.
    ///   - logPath: The log, nil if there is none.
    ///   - deviceKey: As for sources.
    /// - Throws: ``SalvageFileError`` if a file can't be opened.
    package init(
        databasePath: String?, logPath: String?, deviceKey: SecretBytes? = nil
    ) throws(SalvageFileError) {
        var database: any SalvageSource = MemorySource([])
        if let databasePath { database = try DamagedFile(path: databasePath) }
        var log: DamagedFile?
        if let logPath { log = try DamagedFile(path: logPath) }
        self.init(database: database, log: log, deviceKey: deviceKey)
    }
}

// MARK: - Candidates

/// A row that was found in a database file or its log. Nothing in it is verified: the tags over
/// its metadata and its secret tell a row from a chance hit.
package struct SalvagedRow: Hashable, Sendable {
    package var row: SealedRow
    /// When and why it was set aside; nil for a row of `items`.
    package var aside: Aside?
    /// Whether a cell of its page leads to it. Otherwise it may be the remains of a row.
    package var isInCell = false
    /// Whether its page is as it was written. Otherwise the row may be what an earlier commit left.
    package var isOnSoundPage = false

    package struct Aside: Hashable, Sendable {
        package let moment: Double
        /// A ``SetAsideReason``, or a number that this version doesn't know.
        package let reason: Int64
        /// Over the row, moment and reason; nil in version 1.
        package let tag: [UInt8]?
    }

    init(row: SealedRow, aside: Aside?) {
        self.row = row
        self.aside = aside
    }
}
