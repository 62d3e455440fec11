// CheckedDatabaseFile: a database file whose pages are stamped as written and verified as read.
//   (1) SQLite's buffers are never changed: a page is stamped in a copy.
//   (2) A mismatch does not fail the read: it is recorded, and the bytes are returned as read.
//       A read that failed would hide the items on the page's sound half from a hit.
//   (3) A whole page that the file is too short for is damage as well: SQLite fills it with zeros
//       and goes on. It reads no page beyond the end of a sound file.
//   (4) A file whose header declares another page size or other reserved bytes is a foreign
//       database or has a damaged header. Its bytes pass through untouched in both directions, and
//       page 1 is recorded as damaged, so that it isn't trusted.

import CKeychainSQLite

@safe final class CheckedDatabaseFile: CheckedFile {
    /// Whether the pages carry checksums, see (4).
    private(set) var isChecksummed = true

    /// Whether SQLite is copying pages from the log to this file, for this connection.
    private(set) var isInCheckpoint = false

    /// The log that this connection has open.
    weak var log: CheckedLogFile?

    private let scratch: UnsafeMutableRawPointer

    /// SQLite's numbers of two locks in the shared memory.
    private static let writerLock: Int32 = 0
    private static let recoveryLock: Int32 = 2

    override init(real: UnsafeMutablePointer<sqlite3_file>, damage: PageDamage) {
        // SAFETY: freed in `deinit`, and used by this object's methods only.
        unsafe scratch = .allocate(byteCount: PageFormat.pageByteCount, alignment: 16)
        unsafe super.init(real: real, damage: damage)
    }

    deinit {
        // SAFETY: allocated in `init`; nothing uses it from here on.
        unsafe scratch.deallocate()
    }

    /// Decides by the header whether the pages carry checksums. Called once, after opening.
    ///
    /// A file without a header is new, or its page 1 fails its checksum: checksummed either way.
    func classify() -> Int32 {
        // SAFETY: `scratch` holds a page, which is more than the header; the offsets are in it.
        let status = unsafe readReal(into: scratch, count: PageFormat.headerByteCount, at: 0)
        guard status != ResultCode.shortRead else { return SQLITE_OK }
        guard status == SQLITE_OK else { return status }
        let header = unsafe UnsafeRawPointer(scratch)
        let magic = unsafe UnsafeRawBufferPointer(start: header, count: 16)
        guard unsafe magic.elementsEqual("SQLite format 3\0".utf8) else { return SQLITE_OK }
        isChecksummed = unsafe Self.declaresChecksums(page1: header)
        if !isChecksummed { damage.record(page: 1, checksum: nil) }
        return SQLITE_OK
    }

    /// Whether a header says what `PageFormat` says.
    private static func declaresChecksums(page1: UnsafeRawPointer) -> Bool {
        // SAFETY: the caller vouches for the 100 bytes of a header. Offset 16 is the page size in
        // two bytes, big-endian; offset 20 is the number of reserved bytes.
        let pageByteCount = unsafe UInt16(
            bigEndian: page1.loadUnaligned(fromByteOffset: 16, as: UInt16.self))
        let reserved = unsafe page1.load(fromByteOffset: 20, as: UInt8.self)
        return Int(pageByteCount) == PageFormat.pageByteCount
            && Int(reserved) == PageFormat.reservedByteCount
    }

    override func read(
        into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
    ) -> Int32 {
        // SAFETY: `count` bytes at `buffer` are SQLite's to fill; `scratch` holds a page.
        guard isChecksummed, let place = place(of: offset) else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        if place.inPage == 0 && count == PageFormat.pageByteCount {
            let status = unsafe readReal(into: buffer, count: count, at: offset)
            unsafe check(UnsafeRawPointer(buffer), number: place.page, status: status)
            return status
        }
        let end = place.inPage + count
        let isHeader = place.page == 1 && end <= PageFormat.headerByteCount
        guard !isHeader, end <= PageFormat.pageByteCount else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        // Part of a page, past SQLite's page cache: what covers it is the checksum of the whole.
        let status = unsafe readReal(
            into: scratch, count: PageFormat.pageByteCount, at: offset - Int64(place.inPage))
        unsafe check(UnsafeRawPointer(scratch), number: place.page, status: status)
        guard status == SQLITE_OK else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        unsafe buffer.copyMemory(from: scratch + place.inPage, byteCount: count)
        return SQLITE_OK
    }

    /// Writes a page with its checksum.
    ///
    /// A write of anything else than one page, or of a page 1 that leaves no room for checksums,
    /// fails: it would make a file that can't be told from a damaged one.
    override func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: `count` bytes at `bytes` are readable; `scratch` holds a page.
        guard isChecksummed else {
            return unsafe writeReal(bytes, count: count, at: offset)
        }
        guard let place = place(of: offset), place.inPage == 0,
            count == PageFormat.pageByteCount,
            unsafe place.page != 1 || Self.declaresChecksums(page1: bytes)
        else { return ResultCode.writeError }
        unsafe scratch.copyMemory(from: bytes, byteCount: PageFormat.checksummedByteCount)
        unsafe PageChecksum.stamp(pageAt: scratch, number: place.page)
        return unsafe writeReal(UnsafeRawPointer(scratch), count: count, at: offset)
    }

    override func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        switch operation {
        case SQLITE_FCNTL_CKPT_START:
            isInCheckpoint = true
        case SQLITE_FCNTL_CKPT_DONE:
            isInCheckpoint = false
        case SQLITE_FCNTL_MMAP_SIZE:
            // The file underneath must not map itself either; the answer is the size before.
            // SAFETY: the argument of this operation is one 64-bit integer.
            unsafe argument?.storeBytes(of: 0, as: Int64.self)
            return SQLITE_OK
        default:
            break
        }
        return unsafe super.control(operation, argument)
    }

    override func lockSharedMemory(first: Int32, count: Int32, flags: Int32) -> Int32 {
        if flags == SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE {
            // When the writer's lock goes, so does the transaction. The lock for recovery goes
            // while the writer's is still held, so that the log stands still.
            let locks = first..<(first + max(count, 0))
            if locks.contains(Self.writerLock) {
                log?.noteTransactionEnded()
            } else if locks.contains(Self.recoveryLock) {
                log?.noteRecoveryEnded()
            }
        }
        return super.lockSharedMemory(first: first, count: count, flags: flags)
    }

    private func check(_ page: UnsafeRawPointer, number: UInt32, status: Int32) {
        // SAFETY: a read that succeeded filled the page.
        switch status {
        case SQLITE_OK:
            if unsafe !PageChecksum.verifies(pageAt: page, number: number) {
                let checksum = unsafe PageChecksum.ofPage(at: page, number: number)
                damage.record(page: number, checksum: checksum)
            }
        case ResultCode.shortRead:
            damage.record(page: number, checksum: nil)
        default:
            break
        }
    }

    private func place(of offset: Int64) -> (page: UInt32, inPage: Int)? {
        let (index, inPage) = offset.quotientAndRemainder(
            dividingBy: Int64(PageFormat.pageByteCount))
        guard offset >= 0, let page = UInt32(exactly: index + 1) else { return nil }
        return (page, Int(inPage))
    }
}
