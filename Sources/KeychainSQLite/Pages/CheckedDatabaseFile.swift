// CheckedDatabaseFile: a database file whose pages get a tag when written and are verified when
// read.
//   (1) SQLite's buffers are not modified when they are written: the tag is added to a copy of the
//       page.
//   (2) A mismatch does not fail the read: it is recorded, and the bytes are returned as read,
//       except those that are replaced by zeros, see (6). A failing read would hide the items on
//       the undamaged part of the page.
//   (3) A page that is missing because the file is too short is damage as well: SQLite fills it
//       with zeros and continues. SQLite reads no page beyond the end of an undamaged file.
//   (4) A file whose header declares a page size other than `PageFormat.pageByteCount`, or reserved
//       bytes that (1) and (2) of `PageProtection` don't permit, is a foreign database or has a
//       damaged header. Its bytes are passed through unchanged in both directions, and page 1 is
//       recorded as damaged, so that the file isn't trusted.
//   (5) In a checkpoint, a page is written only if the frame that was read last contains this page,
//       because SQLite gets the page number from memory that is shared with other processes.
//   (6) In version 2 of the database, SQLite gets zeros for the bytes that it didn't write: the
//       ends of pages, and the salt of the file.

import CKeychainSQLite

@safe final class CheckedDatabaseFile: CheckedFile {
    private enum State {
        case foreign
        /// The file is shorter than a header. It gets a salt with its first page.
        case new(PageKeys.Source)
        case known(PageProtection)
    }

    private var state = State.foreign

    /// Whether SQLite is copying pages from the log to this file, for this connection.
    private(set) var isInCheckpoint = false

    /// The page of the frame that was read last from the log, until the page is written here.
    var pageInCheckpoint: UInt32?

    /// The checkpoint that this connection has begun, until the file is synchronized.
    private var checkpoint: FreshnessChange?

    /// The log that this connection has open.
    weak var log: CheckedLogFile?

    private let scratch: UnsafeMutableRawPointer

    /// The indexes of two of SQLite's locks in the shared memory.
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

    // MARK: Protection of the pages

    /// Determines the protection of the pages from the header. Called after opening and, while the
    /// state is `new`, whenever the protection is needed.
    func classify() -> Int32 {
        let keys = PageKeys.source(forCanonicalPath: damage.path)
        // SAFETY: `scratch` has room for a page, and so for the header, which contains the salt.
        let status = unsafe readReal(into: scratch, count: PageFormat.headerByteCount, at: 0)
        guard status == SQLITE_OK else {
            guard status == ResultCode.shortRead else { return status }
            guard let keys else {
                state = .known(.checksum)
                return SQLITE_OK
            }
            // An existing keychain's file that has become shorter than a header is damaged, and no
            // new keychain is created in it.
            if keys.isForNewFile {
                state = .new(keys)
            } else {
                damage.record(page: 1, checksum: nil)
            }
            return SQLITE_OK
        }
        guard let header = unsafe DatabaseFileHeader(at: UnsafeRawPointer(scratch)) else {
            // The header can't be parsed, so page 1 fails verification, by its tag as well as by
            // its checksum. The other pages are verified by their tags if there is a key, or else
            // by their checksums.
            let salt = unsafe Array(
                UnsafeRawBufferPointer(start: scratch, count: PageFormat.headerByteCount)[
                    PageFormat.saltRange])
            let authenticator = keys?.authenticator(salt: salt)
            state = .known(authenticator.map { PageProtection.authentication($0) } ?? .checksum)
            return SQLITE_OK
        }
        if let protection = PageProtection(header, keys) {
            state = .known(protection)
        } else {
            state = .foreign
            damage.record(page: 1, checksum: nil)
        }
        return SQLITE_OK
    }

    /// `nil` if the bytes are passed through unchanged: if the file is one of (4), or if it belongs
    /// to an existing keychain and is shorter than a header. Also `nil` while the state is `new`.
    var protection: PageProtection? {
        switch state {
        case .foreign: return nil
        case .known(let protection): return protection
        case .new:
            // Another connection may have created the first page since.
            _ = classify()
            if case .known(let protection) = state { return protection }
            return nil
        }
    }

    /// Whether the pages are verified, or will be as soon as there are any.
    var isProtected: Bool {
        if case .foreign = state { false } else { true }
    }

    /// The protection for a page that is about to be written; `nil` for a foreign file. A new file
    /// gets its salt here.
    private var protectionForWriting: PageProtection? {
        if let protection { return protection }
        guard case .new(let keys) = state else { return nil }
        let protection = PageProtection.authentication(keys.newAuthenticator())
        state = .known(protection)
        return protection
    }

    // MARK: Reading and writing

    override func read(
        into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
    ) -> Int32 {
        // SAFETY: SQLite provides `count` writable bytes at `buffer`; `scratch` holds a page.
        guard let protection, let place = place(of: offset) else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        if place.inPage == 0 && count == PageFormat.pageByteCount {
            let status = unsafe readReal(into: buffer, count: count, at: offset)
            unsafe check(UnsafeRawPointer(buffer), place.page, protection, status: status)
            unsafe protection.hide(buffer, 0..<count, number: place.page)
            return status
        }
        let end = place.inPage + count
        let isHeader = place.page == 1 && end <= PageFormat.headerByteCount
        guard !isHeader, end <= PageFormat.pageByteCount else {
            let status = unsafe readReal(into: buffer, count: count, at: offset)
            if isHeader { unsafe protection.hide(buffer, place.inPage..<end, number: place.page) }
            return status
        }
        // SQLite reads part of a page, bypassing its page cache. The tag covers the whole page, so
        // all of it is read and verified.
        let status = unsafe readReal(
            into: scratch, count: PageFormat.pageByteCount, at: offset - Int64(place.inPage))
        unsafe check(UnsafeRawPointer(scratch), place.page, protection, status: status)
        guard status == SQLITE_OK else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        unsafe protection.hide(scratch, 0..<PageFormat.pageByteCount, number: place.page)
        unsafe buffer.copyMemory(from: scratch + place.inPage, byteCount: count)
        return SQLITE_OK
    }

    /// Writes a page with its tag.
    ///
    /// A write that isn't of exactly one page fails, and so does a write of page 1 if its header
    /// declares a different page size or number of reserved bytes: the resulting file could not be
    /// distinguished from a damaged one. In a checkpoint, a write of a page that (5) doesn't permit
    /// fails. A foreign file is written unchanged.
    override func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: `count` bytes at `bytes` are readable; `scratch` holds a page.
        guard let protection = protectionForWriting else {
            return unsafe writeReal(bytes, count: count, at: offset)
        }
        let place = place(of: offset)
        if isInCheckpoint {
            guard let page = pageInCheckpoint.take(), page == place?.page else {
                damage.recordLostCommits()
                return ResultCode.refusing(ResultCode.writeError)
            }
        }
        guard let place, place.inPage == 0, count == PageFormat.pageByteCount,
            unsafe place.page != 1 || Self.declares(protection, page1: bytes)
        else { return ResultCode.refusing(ResultCode.writeError) }
        unsafe scratch.copyMemory(from: bytes, byteCount: PageFormat.pageByteCount)
        unsafe protection.stamp(pageAt: scratch, number: place.page)
        return unsafe writeReal(UnsafeRawPointer(scratch), count: count, at: offset)
    }

    /// Whether the header of a page 1 declares the page size and the reserved bytes of a
    /// protection.
    private static func declares(_ protection: PageProtection, page1: UnsafeRawPointer) -> Bool {
        // SAFETY: the caller guarantees a page.
        guard let header = unsafe DatabaseFileHeader(at: page1) else { return false }
        return header.pageByteCount == PageFormat.pageByteCount
            && header.reservedByteCount == protection.reservedByteCount
    }

    override func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        switch operation {
        case SQLITE_FCNTL_CKPT_START:
            isInCheckpoint = true
            checkpoint = FreshnessChange(ofDatabaseAt: damage.path)
        case SQLITE_FCNTL_CKPT_DONE:
            isInCheckpoint = false
            checkpoint?.carryOver()
        case SQLITE_FCNTL_MMAP_SIZE:
            // SQLite doesn't map this file into memory. The operation isn't passed on, so that the
            // VFS underneath doesn't map its file either. The result is the size of the previous
            // mapping, zero.
            // SAFETY: the argument of this operation is one 64-bit integer.
            unsafe argument?.storeBytes(of: 0, as: Int64.self)
            return SQLITE_OK
        default:
            break
        }
        return unsafe super.control(operation, argument)
    }

    /// Synchronizes the file. Also records the file's state in the freshness notes, in addition to
    /// the record at the end of the checkpoint: SQLite may have truncated the file since then.
    override func synchronize(flags: Int32) -> Int32 {
        let status = super.synchronize(flags: flags)
        checkpoint?.carryOver()
        checkpoint = nil
        return status
    }

    override func lockSharedMemory(first: Int32, count: Int32, flags: Int32) -> Int32 {
        if flags == SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE {
            // The transaction ends when the writer lock is released. When the recovery lock is
            // released, the writer lock is still held, so no other connection changes the log while
            // `noteRecoveryEnded` reads it.
            let locks = first..<(first + max(count, 0))
            if locks.contains(Self.writerLock) {
                log?.noteTransactionEnded()
            } else if locks.contains(Self.recoveryLock) {
                log?.noteRecoveryEnded()
            }
        }
        return super.lockSharedMemory(first: first, count: count, flags: flags)
    }

    private func check(
        _ page: UnsafeRawPointer, _ number: UInt32, _ protection: PageProtection, status: Int32
    ) {
        // SAFETY: a read that succeeded filled the page.
        switch status {
        case SQLITE_OK:
            if unsafe !protection.verifies(pageAt: page, number: number) {
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
