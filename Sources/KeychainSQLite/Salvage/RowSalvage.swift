// RowSalvage: reads rows, headers and keybags from a damaged database and its log, without SQLite.
//   (1) No input causes a trap, an endless loop, or memory use beyond the size of the files.
//   (2) Pages are read one at a time, and each row is passed to the caller before the next row is
//       read.
//   (3) Rows are taken only from the newest committed image of each page. An older image would
//       contain earlier versions of items, or items that were deleted since.
//   (4) The results, `SalvagedRow`, are candidates. The caller checks their tags to identify the
//       valid ones.

package import KeychainCore
import KeychainCrypto

package struct RowSalvage: Sendable {
    private let images: PageImages
    private var format: SalvageFormat { images.format }
    private var bTree: BTreeFormat { images.format.bTree }

    /// Determines the version, and reads the log, to find the page of each of its frames. Pages of
    /// version 2 are verified with the device key. Without this key, no page of a database file of
    /// version 2 counts as sound, and the log's frames are verified by their checksums alone.
    package init(
        database: any SalvageSource, log: (any SalvageSource)?, deviceKey: SecretBytes? = nil
    ) {
        images = PageImages(
            database: database, log: log,
            SalvageFormat(of: database, log: log, deviceKey: deviceKey))
    }

    private init(_ images: PageImages) { self.images = images }

    /// The same files, read without the log's frames whose checksum or tag is invalid; `nil` if
    /// there are no such frames.
    package var passingOverUnsoundFrames: RowSalvage? {
        images.passingOverUnsoundFrames.map(RowSalvage.init)
    }

    // MARK: Rows

    /// Calls `visit` with each candidate row: first those in the log's frames, from the last frame
    /// to the first, then those in the database file. If overflow pages are missing, the secret is
    /// truncated. If part of the metadata is missing as well, the row is omitted.
    package func forEachRow(_ visit: (SalvagedRow) throws -> Void) rethrows {
        var page = FormatBytes(count: PageFormat.pageByteCount)
        // Normally a page is in one chain. The limit bounds the work for rows that claim the pages
        // of others.
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

    /// Appends the content of a chain of overflow pages (file format, 1.6). Each has the 4-byte
    /// number of the next page, 0 in the last one, followed by content. Stops early if the chain is
    /// broken.
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

    /// The information from the authentic headers of damaged files.
    package struct Headers: Sendable {
        /// The newest header of a committed transaction, according to the log.
        package fileprivate(set) var committed: StoreHeader?
        /// The highest generation of any header.
        package fileprivate(set) var highestGeneration: UInt64 = 0
    }

    /// The headers with valid tags, wherever they are.
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

    /// The keybags, separately for committed and uncommitted transactions. Candidates that aren't
    /// authentic are not kept: since they can share pages, those of an altered file can have many
    /// more bytes in all than the file.
    package func keybags(
        where isAuthentic: ([UInt8]) -> Bool
    ) -> (committed: Set<[UInt8]>, others: Set<[UInt8]>) {
        var committed: Set<[UInt8]> = []
        var others: Set<[UInt8]> = []
        forEach(BlobFormat.keybagMagic) { page, hit, standing in
            guard let claimed = page.uint32(at: hit + BlobFormat.keybagLengthOffset),
                BlobFormat.keybagByteCounts.contains(claimed)
            else { return }
            // The header of a record with id and body: its own byte count, NULL, the body's type.
            let header = 2 + FormatBytes.varintByteCount(UInt64(claimed) * 2 + 12)
            let byteCount = Int(claimed)
            let local = bTree.localByteCount(ofPayload: header + byteCount) - header
            guard hit + local <= bTree.usableByteCount else { return }
            var body = Array(page.bytes[hit..<(hit + local)])
            if local < byteCount, let first = page.uint32(at: hit + local) {
                var reads = 8
                follow(first, byteCount - local, into: &body, &reads)
            }
            let isKnown =
                standing == .uncommitted ? others.contains(body) : committed.contains(body)
            guard !isKnown, isAuthentic(body) else { return }
            if standing == .uncommitted { others.insert(body) } else { committed.insert(body) }
        }
        return (committed, others)
    }

    /// Calls `visit` with each occurrence of a magic number in any image, at most 64 per image.
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
    /// Opens the files for reading. See ``DamagedFile`` for files that SQLite has open.
    ///
    /// - Parameters:
    ///   - databasePath: The database file; `nil` if there is none.
    ///   - logPath: The log; `nil` if there is none.
    ///   - deviceKey: The device key, which verifies pages of version 2, as in
    ///     ``init(database:log:deviceKey:)``.
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

/// A candidate row that was found in a database file or its log. Nothing in it is verified. The
/// tags of its metadata and its secret distinguish rows from false positives.
package struct SalvagedRow: Hashable, Sendable {
    package var row: SealedRow
    /// When and why it was set aside; `nil` for a row of `items`.
    package var aside: Aside?
    /// Whether it is in one of the cells that its page counts. Otherwise it may be the remains of a
    /// row.
    package var isInCell = false
    /// Whether a checksum or a tag shows that the page with the row's beginning is unchanged.
    /// Otherwise the row may be from an earlier commit.
    package var isOnSoundPage = false

    package struct Aside: Hashable, Sendable {
        package let moment: Double
        /// A ``SetAsideReason``, or a number that this version doesn't know.
        package let reason: Int64
        /// The tag over the row, moment and reason; empty if the row was stored without one, and
        /// `nil` in version 1.
        package let tag: [UInt8]?
    }

    init(row: SealedRow, aside: Aside?) {
        self.row = row
        self.aside = aside
    }
}
