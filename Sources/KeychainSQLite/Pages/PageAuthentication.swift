// PageAuthentication: the layout of a page and the tag at its end.
// Documentation/Formats/database-v2.md.
//   (1) A page is 4096 bytes. SQLite doesn't use the last 32, because the database was created with
//       32 reserved bytes per page (byte 20 of the database header is 32).
//   (2) OFFSET 4064  SIZE 16  tag (AES-256-GMAC)
//       OFFSET 4080  SIZE 12  nonce, a new one for every write of the page
//       OFFSET 4092  SIZE 4   zeros
//   (3) The tag of a page of the database covers its page number, so a page in another page's place
//       fails verification. The tag of a page in the log covers the frame's number, the page number
//       and the database size in the frame's header, and the salts of the log, so a frame in
//       another frame's place, or of an earlier log, fails.
//   (4) The key is derived with the salt of the file, 16 random bytes at offset 72 of page 1, which
//       SQLite reserves for expansion. Only the database file contains the salt: SQLite reads and
//       writes zeros at this offset.
//   (5) SQLite also reads zeros in the last 32 bytes of every page. Its checksums of frames are
//       computed over these zeros.

package import KeychainCore
import KeychainCrypto

/// The sizes and offsets of a page.
package enum PageFormat {
    /// The size of a page, including the tag.
    package static let pageByteCount = 4096

    /// The number of bytes at the end of a page that SQLite does not use.
    package static let reservedByteCount = 32

    /// The number of bytes of a page that SQLite writes and that the tag covers.
    package static let contentByteCount = pageByteCount - reservedByteCount

    /// The position of the file's salt in page 1.
    package static let saltRange = 72..<72 + PageKey.saltByteCount

    /// The page that contains byte 2^30, where SQLite places its file locks. It is never written.
    package static let lockBytePage = UInt32(0x4000_0000 / pageByteCount + 1)

    /// The size of the header at the start of page 1.
    static let headerByteCount = 100
}

/// The position of a frame of the log and those fields of its header that its tag covers in
/// addition to the page.
package struct LogFramePlace: Hashable {
    package var page: UInt32
    /// The size of the database in pages after the transaction that the frame ends; 0 in all other
    /// frames.
    package var databasePageCount: UInt32
    /// The frame's number, from 1.
    package var frame: UInt32
    /// The salts of the log's header.
    package var salt1: UInt32
    package var salt2: UInt32

    package init(
        page: UInt32, databasePageCount: UInt32, frame: UInt32, salt1: UInt32, salt2: UInt32
    ) {
        self.page = page
        self.databasePageCount = databasePageCount
        self.frame = frame
        self.salt1 = salt1
        self.salt2 = salt2
    }
}

/// Creates and verifies the tags of the pages of one database file.
package struct PageAuthenticator: Sendable {
    private let key: PageKey
    /// The salt of the file.
    package let salt: [UInt8]

    private static let tagOffset = PageFormat.contentByteCount
    private static let nonceOffset = tagOffset + PageKey.tagByteCount
    private static let zeroOffset = nonceOffset + PageKey.nonceByteCount

    package init(deviceKey: SecretBytes, salt: [UInt8]) {
        key = PageKey(deviceKey: deviceKey, salt: salt)
        self.salt = salt
    }

    // MARK: Pages of the database

    /// Whether the tag at the end of a database page is valid for its content and number.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` readable bytes, as stored in the file.
    ///   - number: The page's number; the first page of a file is 1.
    /// - Returns: Whether the tag is valid.
    package func verifies(pageAt page: UnsafeRawPointer, number: UInt32) -> Bool {
        // SAFETY: the caller guarantees a whole page.
        unsafe isValid(pageAt: page, TagPrefix(page: number))
    }

    /// Writes the tag to the end of a database page, and the salt into page 1.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` writable bytes.
    ///   - number: The page's number; the first page of a file is 1.
    package func stamp(pageAt page: UnsafeMutableRawPointer, number: UInt32) {
        // SAFETY: the caller guarantees a whole page, which contains the range of the salt.
        if number == 1 {
            unsafe UnsafeMutableRawBufferPointer(
                start: page + PageFormat.saltRange.lowerBound, count: PageFormat.saltRange.count
            ).copyBytes(from: salt)
        }
        unsafe stamp(pageAt: page, TagPrefix(page: number))
    }

    // MARK: Pages of the log

    /// Whether the tag at the end of a page in the log is valid for its content and frame.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` readable bytes, as stored in the file.
    ///   - place: The page's frame.
    /// - Returns: Whether the tag is valid.
    package func verifies(pageAt page: UnsafeRawPointer, in place: LogFramePlace) -> Bool {
        // SAFETY: the caller guarantees a whole page.
        unsafe isValid(pageAt: page, TagPrefix(place))
    }

    /// Writes the tag to the end of a page in the log.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` writable bytes.
    ///   - place: The page's frame.
    package func stamp(pageAt page: UnsafeMutableRawPointer, in place: LogFramePlace) {
        // SAFETY: the caller guarantees a whole page.
        unsafe stamp(pageAt: page, TagPrefix(place))
    }

    // MARK: Tags

    private func isValid(pageAt page: UnsafeRawPointer, _ prefix: TagPrefix) -> Bool {
        // SAFETY: tag, nonce and zeros are in the page that the caller guarantees.
        guard unsafe page.loadUnaligned(fromByteOffset: Self.zeroOffset, as: UInt32.self) == 0
        else { return false }
        return unsafe Self.withData(prefix, page) { data in
            unsafe key.isValid(
                UnsafeRawBufferPointer(
                    start: page + Self.tagOffset, count: PageKey.tagByteCount),
                for: data,
                nonce: UnsafeRawBufferPointer(
                    start: page + Self.nonceOffset, count: PageKey.nonceByteCount))
        }
    }

    private func stamp(pageAt page: UnsafeMutableRawPointer, _ prefix: TagPrefix) {
        // SAFETY: tag, nonce and zeros are in the page that the caller guarantees.
        unsafe Self.withData(prefix, UnsafeRawPointer(page)) { data in
            unsafe key.authenticate(
                data, tagAt: page + Self.tagOffset, nonceAt: page + Self.nonceOffset)
        }
        unsafe page.storeBytes(of: 0, toByteOffset: Self.zeroOffset, as: UInt32.self)
    }

    /// Calls `body` with the prefix and the content of a page in one contiguous buffer.
    private static func withData<Result>(
        _ prefix: TagPrefix, _ page: UnsafeRawPointer, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        // SAFETY: the buffer has room for both, and is filled before it is read.
        unsafe withUnsafeTemporaryAllocation(
            byteCount: prefix.byteCount + PageFormat.contentByteCount, alignment: 16
        ) { buffer in
            unsafe withUnsafeBytes(of: prefix.words) {
                unsafe buffer.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: $0[..<prefix.byteCount]))
            }
            unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[prefix.byteCount...]).copyMemory(
                from: UnsafeRawBufferPointer(start: page, count: PageFormat.contentByteCount))
            return unsafe body(UnsafeRawBufferPointer(buffer))
        }
    }
}

/// The data that a tag covers before the page: a magic and big-endian numbers.
private struct TagPrefix {
    /// The words in memory order.
    let words: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32)
    /// The number of bytes used.
    let byteCount: Int

    /// The prefix for a page of the database: `KCPG`.
    init(page: UInt32) {
        words = (UInt32(0x4B43_5047).bigEndian, page.bigEndian, 0, 0, 0, 0)
        byteCount = 8
    }

    /// The prefix for a page in the log: `KCLF`.
    init(_ place: LogFramePlace) {
        words = (
            UInt32(0x4B43_4C46).bigEndian, place.page.bigEndian,
            place.databasePageCount.bigEndian, place.frame.bigEndian, place.salt1.bigEndian,
            place.salt2.bigEndian
        )
        byteCount = 24
    }
}
