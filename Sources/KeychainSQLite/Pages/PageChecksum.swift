// PageChecksum: the checksum at the end of a page of a database of version 1. Such a database is
// only read, in order to convert or recover it, with one exception: the pages in the log are copied
// to the database file, by a conversion before it begins, and by SQLite whenever the last
// connection is closed. Documentation/Formats/database-v1.md.
//   (1) A page is 4096 bytes. SQLite doesn't use the last 8, because the database was created with
//       8 reserved bytes per page (byte 20 of the database header is 8).
//   (2) OFFSET 0     SIZE 4088  content written by SQLite
//       OFFSET 4088  SIZE 8     XXH64 of bytes 0..<4088, seed = page number (the first page
//                               is 1), little-endian
//   (3) Because of the seed, a page in another page's place fails verification. XXH64 of 4088 zero
//       bytes is not zero, so a page of zeros fails, too.
//   (4) The checksum detects accidents, not attacks, because it has no key. An attacker who can
//       write the file can write a valid checksum.

/// Computes and compares the checksums of pages.
package enum PageChecksum {
    /// The number of bytes at the end of a page that SQLite does not use.
    package static let byteCount = 8

    /// The number of bytes of a page that its checksum covers.
    package static let coveredByteCount = PageFormat.pageByteCount - byteCount

    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63

    /// Computes the checksum of a page.
    ///
    /// - Parameters:
    ///   - page: The first of at least ``coveredByteCount`` readable bytes.
    ///   - number: The page's number; the first page of a file is 1.
    /// - Returns: The checksum, as a number.
    package static func ofPage(at page: UnsafeRawPointer, number: UInt32) -> UInt64 {
        // SAFETY: the caller guarantees that many readable bytes.
        unsafe xxh64(
            UnsafeRawBufferPointer(start: page, count: coveredByteCount),
            seed: UInt64(number))
    }

    /// Whether the checksum at the end of the page is valid for its content and number.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` readable bytes.
    ///   - number: The page's number; the first page of a file is 1.
    /// - Returns: Whether the checksum is valid.
    package static func verifies(pageAt page: UnsafeRawPointer, number: UInt32) -> Bool {
        // SAFETY: the caller guarantees a whole page, which holds 8 bytes at that offset.
        let stored = unsafe UInt64(
            littleEndian: page.loadUnaligned(
                fromByteOffset: coveredByteCount, as: UInt64.self))
        return unsafe stored == ofPage(at: page, number: number)
    }

    /// Writes the checksum to the end of the page.
    ///
    /// - Parameters:
    ///   - page: The first of `PageFormat.pageByteCount` writable bytes.
    ///   - number: The page's number; the first page of a file is 1.
    package static func stamp(pageAt page: UnsafeMutableRawPointer, number: UInt32) {
        // SAFETY: the caller guarantees a whole page, which holds 8 bytes at that offset.
        unsafe page.storeBytes(
            of: ofPage(at: UnsafeRawPointer(page), number: number).littleEndian,
            toByteOffset: coveredByteCount, as: UInt64.self)
    }

    /// XXH64 for inputs of at least 32 bytes whose size is a multiple of 8, which is sufficient for
    /// a page.
    package static func xxh64(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        let byteCount = bytes.count
        guard let base = bytes.baseAddress, byteCount >= 32, byteCount % 8 == 0 else {
            preconditionFailure("A checksum covers 32 bytes and up, in multiples of 8.")
        }
        var lane1 = seed &+ prime1 &+ prime2
        var lane2 = seed &+ prime2
        var lane3 = seed
        var lane4 = seed &- prime1
        var offset = 0
        while offset <= byteCount - 32 {
            // SAFETY: offset + 32 <= byteCount, the size of the buffer.
            lane1 = unsafe round(lane1, word(base, offset))
            lane2 = unsafe round(lane2, word(base, offset + 8))
            lane3 = unsafe round(lane3, word(base, offset + 16))
            lane4 = unsafe round(lane4, word(base, offset + 24))
            offset += 32
        }
        var hash =
            rotated(lane1, 1) &+ rotated(lane2, 7) &+ rotated(lane3, 12) &+ rotated(lane4, 18)
        hash = (hash ^ round(0, lane1)) &* prime1 &+ prime4
        hash = (hash ^ round(0, lane2)) &* prime1 &+ prime4
        hash = (hash ^ round(0, lane3)) &* prime1 &+ prime4
        hash = (hash ^ round(0, lane4)) &* prime1 &+ prime4
        hash = hash &+ UInt64(byteCount)
        while offset < byteCount {
            // SAFETY: the remaining size is a multiple of 8, so offset + 8 <= byteCount.
            hash ^= unsafe round(0, word(base, offset))
            hash = rotated(hash, 27) &* prime1 &+ prime4
            offset += 8
        }
        hash = (hash ^ (hash &>> 33)) &* prime2
        hash = (hash ^ (hash &>> 29)) &* prime3
        return hash ^ (hash &>> 32)
    }

    @inline(__always)
    private static func word(_ base: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        // SAFETY: the caller keeps offset + 8 within the buffer.
        unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inline(__always)
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        rotated(lane &+ word &* prime2, 31) &* prime1
    }

    @inline(__always)
    private static func rotated(_ value: UInt64, _ bitCount: UInt64) -> UInt64 {
        (value &<< bitCount) | (value &>> (64 &- bitCount))
    }
}
