// CheckedLogFile: a write-ahead log whose frames are verified when SQLite reads pages from them.
//   (1) A page is verified with the frame's header, the checksum before it and the log's header.
//       They can't change under a reader: its read mark keeps the log from being restarted, and
//       frames that are committed are not written again.
//   (2) Reads of headers, and of frames together with their headers, are SQLite's own recovery and
//       re-summing: it verifies what it reads.
//   (3) A frame is unsealed while its checksum is out of date on purpose. A transaction that
//       outgrows the page cache writes frames before it commits. If it changes such a page again,
//       SQLite writes the page into the same frame, and from there on writes blank headers; before
//       the commit it computes all of them anew. Only the writer itself can read unsealed frames,
//       and none outlives its transaction.
//   (4) A damaged frame is recorded; in a checkpoint, the read fails as well.
//   (5) Recovery drops a damaged frame and all that follow, without a word. When it ends, the log
//       is read once more, and a loss is recorded, and noted in the folder before any other
//       connection gets to write: the next write would go over what recovery dropped.
//   (6) While damage is recorded, the log is neither cut off nor deleted: what recovery dropped
//       can still be salvaged from it.
//   (7) A page that was read with a wrong checksum is never written: it would get a good one.
//   (8) Before the log is synchronized for the first time, its name is made durable. SQLite would do
//       that too, and pass over a failure.

import CKeychainSQLite

@safe final class CheckedLogFile: CheckedFile {
    private let database: CheckedDatabaseFile

    /// Frames of this connection's open transaction that no checksum fits yet, see (3).
    private var unsealedFrames: Set<UInt32> = []

    /// The frame whose header was written last, until its page is written.
    private var frameAwaitingPage: UInt32?

    private var nameIsDurable = false

    /// Room for a frame, then for the log's header.
    private let scratch: UnsafeMutableRawPointer
    private static let headerOffset = (LogFormat.frameByteCount + 15) / 16 * 16

    init(
        real: UnsafeMutablePointer<sqlite3_file>, damage: PageDamage,
        of database: CheckedDatabaseFile
    ) {
        self.database = database
        // SAFETY: freed in `deinit`, and used by this object's methods only.
        unsafe scratch = .allocate(
            byteCount: Self.headerOffset + LogHeader.byteCount, alignment: 16)
        unsafe super.init(real: real, damage: damage)
        database.log = self
    }

    deinit {
        // SAFETY: allocated in `init`; nothing uses it from here on.
        unsafe scratch.deallocate()
    }

    /// The transaction of this connection was committed or rolled back.
    func noteTransactionEnded() {
        unsealedFrames.removeAll()
        frameAwaitingPage = nil
    }

    /// This connection rebuilt the log's index, and no other connection can write yet.
    func noteRecoveryEnded() {
        guard let check = try? LogFileCheck(besideDatabaseAt: damage.path),
            check.tellsOfLostTransactions,
            let frame = UInt32(exactly: check.soundFrameCount + 1)
        else { return }
        damage.record(frame: frame)
        StoreFolder.noteDamagedLog(besideDatabaseAt: damage.path)
    }

    override func synchronize(flags: Int32) -> Int32 {
        if !nameIsDurable {
            do {
                try StoreFolder(ofFileAt: damage.path).synchronize()
            } catch {
                return ResultCode.folderSyncError
            }
            nameIsDurable = true
        }
        return super.synchronize(flags: flags)
    }

    override func truncate(to byteCount: Int64) -> Int32 {
        damage.isEmpty ? super.truncate(to: byteCount) : ResultCode.truncateError
    }

    override func read(
        into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
    ) -> Int32 {
        // SAFETY: `count` bytes at `buffer` are SQLite's to fill; `scratch` holds a frame.
        guard let place = LogFormat.position(ofOffset: offset),
            place.inFrame >= LogFrameHeader.byteCount,
            place.inFrame + count <= LogFormat.frameByteCount,
            database.isInCheckpoint || !unsealedFrames.contains(place.frame)
        else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        let status = unsafe readReal(
            into: scratch, count: LogFormat.frameByteCount, at: offset - Int64(place.inFrame))
        guard status == SQLITE_OK else {
            if status == ResultCode.shortRead { damage.record(frame: place.frame) }
            return status
        }
        if !verifiesScratch(asFrame: place.frame) {
            damage.record(frame: place.frame)
            if database.isInCheckpoint { return ResultCode.readError }
        }
        unsafe buffer.copyMemory(from: scratch + place.inFrame, byteCount: count)
        return SQLITE_OK
    }

    /// Whether the frame in `scratch` goes on from what stands before it in the log.
    private func verifiesScratch(asFrame frame: UInt32) -> Bool {
        // SAFETY: `scratch` has room for a log header at that offset, and for the 8 bytes of a
        // checksum in the same place once the header is read.
        let headerBytes = unsafe scratch + Self.headerOffset
        guard
            unsafe readReal(into: headerBytes, count: LogHeader.byteCount, at: 0) == SQLITE_OK,
            let header = unsafe LogHeader(at: UnsafeRawPointer(headerBytes))
        else { return false }
        var previous = header.checksum
        if frame > 1 {
            let offset = LogFormat.offset(ofFrame: frame - 1) + 16
            guard unsafe readReal(into: headerBytes, count: 8, at: offset) == SQLITE_OK
            else { return false }
            previous = unsafe LogChecksum(
                first: LogFormat.word(UnsafeRawPointer(headerBytes), 0),
                second: LogFormat.word(UnsafeRawPointer(headerBytes), 4))
        }
        return unsafe LogFormat.verifies(
            frameAt: UnsafeRawPointer(scratch), after: previous, in: header)
    }

    override func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: `count` bytes at `bytes` are SQLite's, and readable.
        if let place = LogFormat.position(ofOffset: offset), place.inFrame == 0,
            count >= LogFrameHeader.byteCount,
            unsafe !damage.mayWrite(page: LogFrameHeader(at: bytes).page)
        {
            return ResultCode.writeError
        }
        unsafe noteWrite(of: bytes, count: count, at: offset)
        return unsafe super.write(bytes, count: count, at: offset)
    }

    private func noteWrite(of bytes: UnsafeRawPointer, count: Int, at offset: Int64) {
        guard let place = LogFormat.position(ofOffset: offset) else {
            // A new header starts a new log.
            noteTransactionEnded()
            return
        }
        if place.inFrame == 0 && count == LogFrameHeader.byteCount {
            // SAFETY: `count` bytes are readable, which is a frame's header.
            let header = unsafe LogFrameHeader(at: bytes)
            let isBlank = header.salt1 == 0 && header.salt2 == 0 && header.checksum == .zero
            if isBlank {
                unsealedFrames.insert(place.frame)
            } else {
                unsealedFrames.remove(place.frame)
            }
            frameAwaitingPage = place.frame
        } else if place.inFrame >= LogFrameHeader.byteCount && place.frame == frameAwaitingPage {
            // A page may come in two parts, around a sync.
            let isComplete = place.inFrame + count >= LogFormat.frameByteCount
            if isComplete { frameAwaitingPage = nil }
        } else {
            unsealedFrames.insert(place.frame)
        }
    }
}
