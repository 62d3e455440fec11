// CheckedLogFile: a write-ahead log whose frames are verified when SQLite reads pages from them.
//   (1) A page is verified with the frame's header, the previous checksum and the log's header.
//       They can't change during a read: the reader's read mark prevents a restart of the log, and
//       committed frames are not written again.
//   (2) The header of a frame is buffered until its page is complete. The page then gets its tag.
//       Complete frames are collected in a `FrameBuffer` and written in one call. This happens when
//       the next frame doesn't directly follow them, when there is no more room, before the log is
//       read, synchronized or truncated, and together with the frame that commits the transaction.
//       If the frames can't be written, SQLite's current call fails. A new header for a frame that
//       this transaction has already written is not buffered: first the collected frames are
//       written, then the header. The frame's tag stays valid: it doesn't cover the checksum, and
//       if the salts of the old header are zero, see (3), it covers the log's salts instead.
//   (3) While the checksum of a frame is intentionally outdated, this file calls the frame
//       unsealed. A transaction that outgrows the page cache writes frames before it commits. If it
//       changes the page of such a frame again, SQLite writes the page into the same frame. From
//       then on it writes blank headers: their salts and checksums are zero. Before the commit, it
//       computes the checksums again. Only the writer itself can read unsealed frames, and a
//       committed transaction has none. The tags of unsealed frames are always valid.
//   (4) A damaged frame is recorded. In a checkpoint, and when SQLite computes the checksums of its
//       own frames again, the read fails as well.
//   (5) In SQLite's recovery, a frame with a wrong tag is returned with a header of zeros, so that
//       SQLite stops there as it does at a wrong checksum.
//   (6) Recovery silently drops a damaged frame and all that follow. When it ends, the log is read
//       once more, and a loss that is certain is recorded, in `PageDamage` and in the folder,
//       before any other connection can write: the next write would overwrite the dropped frames.
//   (7) While damage is recorded, the log is neither truncated nor deleted, so that the dropped
//       frames can still be salvaged.
//   (8) A page of the database file that was read with a wrong tag is never written to the log,
//       because it would get a valid one. For the pages of damaged frames, see (5) of
//       `Store+Writing`.
//   (9) In a log that a process left behind, frames of a failed transaction may have been put back
//       in the place of committed frames. Their tags are valid. A database whose log was recovered
//       therefore has to be verified again.
//   (10) Before the log is synchronized for the first time, its name is made durable. SQLite does
//        that, too, but ignores a failure.

import CKeychainSQLite

@safe final class CheckedLogFile: CheckedFile {
    private let database: CheckedDatabaseFile
    private let protection: PageProtection

    /// Frames of this connection's open transaction whose checksums are outdated, see (3).
    private var unsealedFrames: Set<UInt32> = []

    /// The last frame that this connection's open transaction has written or collected; 0 if there
    /// is none.
    private var lastWrittenFrame: UInt32 = 0

    /// The frame whose header was written last, until its page is complete. See (2).
    private var frameAwaitingPage: UInt32?

    /// The part of a frame that is buffered until the frame is complete.
    private var kept: KeptFrame?

    /// Complete frames of the open transaction that are not in the file yet.
    private let collected = FrameBuffer()

    private struct KeptFrame {
        let number: UInt32
        /// The range of the frame's bytes that SQLite has written and that aren't in the file yet.
        var range: Range<Int>
    }

    private var nameIsDurable = false

    /// A buffer for a frame, followed by one for the log's header.
    private let scratch: UnsafeMutableRawPointer
    private static let headerOffset = (LogFormat.frameByteCount + 15) / 16 * 16
    /// A buffer for a frame.
    private let keptBytes: UnsafeMutableRawPointer

    init(
        real: UnsafeMutablePointer<sqlite3_file>, of database: CheckedDatabaseFile,
        _ protection: PageProtection
    ) {
        self.database = database
        self.protection = protection
        // SAFETY: both are freed in `deinit`, and used by this object's methods only.
        unsafe scratch = .allocate(
            byteCount: Self.headerOffset + LogHeader.byteCount, alignment: 16)
        unsafe keptBytes = .allocate(byteCount: LogFormat.frameByteCount, alignment: 16)
        unsafe super.init(real: real, damage: database.damage)
        database.log = self
    }

    deinit {
        // SAFETY: allocated in `init`; nothing uses them from here on.
        unsafe scratch.deallocate()
        unsafe keptBytes.deallocate()
    }

    /// Called when the transaction of this connection was committed or rolled back, and when a new
    /// log begins.
    func noteTransactionEnded() {
        unsealedFrames.removeAll()
        lastWrittenFrame = 0
        frameAwaitingPage = nil
        kept = nil
        // Frames that are still here belong to a transaction that was rolled back.
        collected.removeAll()
    }

    /// Called when this connection has rebuilt the log's index. No other connection can write yet.
    func noteRecoveryEnded() {
        guard let check = try? LogFileCheck(besideDatabaseAt: damage.path, protection) else {
            return
        }
        if check.committedFrameCount > 0 {
            damage.noteAdoptedLog()
            FreshnessNote.doubt(ofDatabaseAt: damage.path)
        }
        guard check.tellsOfLostTransactions,
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
        let status = writeCollected()
        return status == SQLITE_OK ? super.synchronize(flags: flags) : status
    }

    override func truncate(to byteCount: Int64) -> Int32 {
        guard damage.isEmpty else {
            return ResultCode.refusing(ResultCode.truncateError)
        }
        let status = writeCollected()
        return status == SQLITE_OK ? super.truncate(to: byteCount) : status
    }

    // MARK: Reading

    override func read(
        into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
    ) -> Int32 {
        let written = writeCollected()
        guard written == SQLITE_OK else { return written }
        // SAFETY: SQLite provides `count` writable bytes at `buffer`; `scratch` holds a frame.
        guard let place = LogFormat.position(ofOffset: offset),
            place.inFrame + count > LogFrameHeader.byteCount
        else {
            return unsafe readReal(into: buffer, count: count, at: offset)
        }
        if place.inFrame == 0 && count == LogFormat.frameByteCount {
            return unsafe readWhole(place.frame, into: buffer, at: offset)
        }
        guard place.inFrame >= LogFrameHeader.byteCount,
            place.inFrame + count <= LogFormat.frameByteCount
        else { return ResultCode.readError }
        let status = unsafe readReal(
            into: scratch, count: LogFormat.frameByteCount, at: offset - Int64(place.inFrame))
        guard status == SQLITE_OK else {
            if status == ResultCode.shortRead { damage.record(frame: place.frame) }
            return status
        }
        let isSealed = database.isInCheckpoint || !unsealedFrames.contains(place.frame)
        if !verifiesScratch(asFrame: place.frame, withChecksum: isSealed) {
            damage.record(frame: place.frame)
            if database.isInCheckpoint { return ResultCode.readError }
        }
        database.pageInCheckpoint = unsafe LogFrameHeader(at: UnsafeRawPointer(scratch)).page
        unsafe buffer.copyMemory(from: scratch + place.inFrame, byteCount: count)
        return SQLITE_OK
    }

    /// Reads a frame with its header. SQLite does this in its recovery, where it verifies the
    /// checksum itself, and when it computes the checksums of its own transaction again.
    private func readWhole(
        _ frame: UInt32, into buffer: UnsafeMutableRawPointer, at offset: Int64
    ) -> Int32 {
        // SAFETY: the caller guarantees the bytes of a frame, which contain its header.
        let status = unsafe readReal(into: buffer, count: LogFormat.frameByteCount, at: offset)
        guard status == SQLITE_OK, case .authentication = protection else { return status }
        let verifies =
            logHeader().map { log in
                unsafe protection.verifies(
                    frameAt: UnsafeRawPointer(buffer), number: frame, in: log)
            } ?? false
        unsafe protection.hide(frameAt: buffer)
        if verifies { return SQLITE_OK }
        if lastWrittenFrame > 0 {
            damage.record(frame: frame)
            return ResultCode.readError
        }
        // The whole header is erased: the log's own salts may be zero, but page number zero is
        // never valid.
        unsafe buffer.initializeMemory(
            as: UInt8.self, repeating: 0, count: LogFrameHeader.byteCount)
        return SQLITE_OK
    }

    /// Whether the frame in `scratch` is unchanged and, if it is sealed, continues the previous
    /// frame in the log. Afterwards the buffer holds the frame as SQLite gets it.
    private func verifiesScratch(asFrame frame: UInt32, withChecksum isSealed: Bool) -> Bool {
        // SAFETY: `scratch` holds a frame, and has room for the 8 bytes of a checksum after it.
        guard let header = logHeader() else {
            unsafe protection.hide(frameAt: scratch)
            return false
        }
        let isAuthentic = unsafe protection.verifies(
            frameAt: UnsafeRawPointer(scratch), number: frame, in: header)
        unsafe protection.hide(frameAt: scratch)
        guard isAuthentic, isSealed else { return isAuthentic }
        var previous = header.checksum
        if frame > 1 {
            let bytes = unsafe scratch + Self.headerOffset
            let offset = LogFormat.offset(ofFrame: frame - 1) + 16
            guard unsafe readReal(into: bytes, count: 8, at: offset) == SQLITE_OK
            else { return false }
            previous = unsafe LogChecksum(
                first: LogFormat.word(UnsafeRawPointer(bytes), 0),
                second: LogFormat.word(UnsafeRawPointer(bytes), 4))
        }
        return unsafe LogFormat.verifies(
            frameAt: UnsafeRawPointer(scratch), after: previous, in: header)
    }

    /// The log's header as stored in the file, if it is sound.
    private func logHeader() -> LogHeader? {
        // SAFETY: `scratch` has room for a log header at that offset.
        let bytes = unsafe scratch + Self.headerOffset
        guard unsafe readReal(into: bytes, count: LogHeader.byteCount, at: 0) == SQLITE_OK else {
            return nil
        }
        return unsafe LogHeader(at: UnsafeRawPointer(bytes))
    }

    // MARK: Writing

    override func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: SQLite provides `count` readable bytes at `bytes`.
        guard let place = LogFormat.position(ofOffset: offset) else {
            // A new header starts a new log.
            noteTransactionEnded()
            let change = FreshnessChange(ofDatabaseAt: damage.path)
            let status = unsafe super.write(bytes, count: count, at: offset)
            change.carryOver()
            return status
        }
        if place.inFrame == 0, count >= LogFrameHeader.byteCount,
            unsafe !damage.mayWrite(page: LogFrameHeader(at: bytes).page)
        {
            return ResultCode.refusing(ResultCode.writeError)
        }
        unsafe noteWrite(of: bytes, count: count, at: place)
        guard case .authentication(let authenticator) = protection else {
            return unsafe super.write(bytes, count: count, at: offset)
        }
        let end = place.inFrame + count
        guard end <= LogFormat.frameByteCount else {
            return ResultCode.refusing(ResultCode.writeError)
        }
        if end <= LogFrameHeader.byteCount, place.frame <= lastWrittenFrame {
            let status = writeCollected()
            guard status == SQLITE_OK else { return status }
            return unsafe super.write(bytes, count: count, at: offset)
        }
        let status = unsafe keep(bytes, count: count, at: place)
        guard status == SQLITE_OK else { return status }
        guard end == LogFormat.frameByteCount, let kept else { return SQLITE_OK }
        self.kept = nil
        return writeKept(kept, authenticator)
    }

    /// Buffers a part of a frame: its beginning, the beginning of its page, or the bytes after the
    /// buffered ones.
    private func keep(
        _ bytes: UnsafeRawPointer, count: Int, at place: (frame: UInt32, inFrame: Int)
    ) -> Int32 {
        // SAFETY: the caller guarantees `count` bytes that end within the frame, and the buffer has
        // room for a whole frame.
        if place.inFrame == 0 {
            kept = KeptFrame(number: place.frame, range: 0..<count)
        } else if let kept, kept.number == place.frame, kept.range.upperBound == place.inFrame {
            self.kept?.range = kept.range.lowerBound..<place.inFrame + count
        } else if place.inFrame == LogFrameHeader.byteCount {
            // Only the page is written. The header of its frame is in the file.
            guard writeCollected() == SQLITE_OK,
                unsafe readReal(
                    into: keptBytes, count: LogFrameHeader.byteCount,
                    at: LogFormat.offset(ofFrame: place.frame)) == SQLITE_OK
            else { return ResultCode.writeError }
            guard unsafe damage.mayWrite(page: LogFrameHeader(at: UnsafeRawPointer(keptBytes)).page)
            else { return ResultCode.refusing(ResultCode.writeError) }
            kept = KeptFrame(number: place.frame, range: place.inFrame..<place.inFrame + count)
        } else {
            return ResultCode.refusing(ResultCode.writeError)
        }
        unsafe (keptBytes + place.inFrame).copyMemory(from: bytes, byteCount: count)
        return SQLITE_OK
    }

    /// Adds the tag to the page of a complete frame, and collects the frame.
    private func writeKept(_ frame: KeptFrame, _ authenticator: PageAuthenticator) -> Int32 {
        // SAFETY: a whole frame is in `keptBytes`: its page was buffered, and its header was
        // buffered or read.
        let page = unsafe keptBytes + LogFrameHeader.byteCount
        let end = unsafe UnsafeRawBufferPointer(
            start: page + PageFormat.contentByteCount, count: PageFormat.reservedByteCount)
        // SQLite's checksum covers these bytes, and SQLite will read zeros here.
        guard unsafe end.allSatisfy({ $0 == 0 }) else {
            return ResultCode.refusing(ResultCode.writeError)
        }
        let header = unsafe LogFrameHeader(at: UnsafeRawPointer(keptBytes))
        var place = header.place(frame.number, salt1: header.salt1, salt2: header.salt2)
        if header.salt1 == 0, header.salt2 == 0 {
            // The header is blank, see (3). The frame will get the salts of the log later, so the
            // tag covers these.
            guard let log = logHeader() else {
                return ResultCode.refusing(ResultCode.writeError)
            }
            (place.salt1, place.salt2) = (log.salt1, log.salt2)
        }
        unsafe authenticator.stamp(pageAt: page, in: place)
        let status = unsafe collect(
            UnsafeRawBufferPointer(start: keptBytes, count: LogFormat.frameByteCount)[frame.range],
            at: LogFormat.offset(ofFrame: frame.number) + Int64(frame.range.lowerBound),
            isCommit: header.databasePageCount > 0)
        if status == SQLITE_OK { lastWrittenFrame = max(lastWrittenFrame, frame.number) }
        return status
    }

    /// Collects a complete frame. If it ends a transaction, all collected frames are written.
    private func collect(
        _ bytes: Slice<UnsafeRawBufferPointer>, at offset: Int64, isCommit: Bool
    ) -> Int32 {
        // SAFETY: the caller guarantees the bytes, which are copied here.
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes)
        if unsafe !collected.append(bytes, at: offset) {
            let status = writeCollected()
            guard status == SQLITE_OK else { return status }
            // An empty buffer has room for any frame.
            guard unsafe collected.append(bytes, at: offset) else {
                return ResultCode.refusing(ResultCode.writeError)
            }
        }
        return isCommit ? writeCollected() : SQLITE_OK
    }

    /// Writes the collected frames to the file in one call. If that fails, their transaction fails,
    /// so they are discarded.
    private func writeCollected() -> Int32 {
        guard !collected.isEmpty else { return SQLITE_OK }
        defer { collected.removeAll() }
        // SAFETY: the buffer is used within the call only.
        return unsafe collected.withBytes { bytes, offset in
            guard let start = bytes.baseAddress else { return SQLITE_OK }
            return unsafe writeReal(start, count: bytes.count, at: offset)
        }
    }

    private func noteWrite(
        of bytes: UnsafeRawPointer, count: Int, at place: (frame: UInt32, inFrame: Int)
    ) {
        if place.inFrame == 0 && count == LogFrameHeader.byteCount {
            // SAFETY: `count` bytes are readable, and `count` is the size of a frame's header.
            let header = unsafe LogFrameHeader(at: bytes)
            let isBlank = header.salt1 == 0 && header.salt2 == 0 && header.checksum == .zero
            if isBlank {
                unsealedFrames.insert(place.frame)
            } else {
                unsealedFrames.remove(place.frame)
            }
            frameAwaitingPage = place.frame
        } else if place.inFrame >= LogFrameHeader.byteCount && place.frame == frameAwaitingPage {
            // SQLite may write a page in two parts, with a sync in between.
            let isComplete = place.inFrame + count >= LogFormat.frameByteCount
            if isComplete { frameAwaitingPage = nil }
        } else {
            unsealedFrames.insert(place.frame)
        }
    }
}
