// LogFileCheck: verification of a write-ahead log without a connection.
//   (1) Nothing is written, and no lock is taken: nothing keeps the log from being restarted or
//       added to. The caller holds the writer's lock or keeps other processes out.
//   (2) Sound frames are those of SQLite's recovery: an unbroken run from the log's start.
//   (3) A log whose header is not sound has no sound frames. Its frames are counted as dropped by
//       the salts of the first one.

import CKeychainSQLite

/// What a write-ahead log looks like on disk.
package struct LogFileCheck: Hashable, Sendable {
    /// Whether the log starts with a sound header. If not, SQLite ignores the log whole.
    package private(set) var headerIsSound = false

    /// Frames from the start of the log up to the last commit before the first frame that does
    /// not verify: what SQLite's recovery keeps.
    package private(set) var committedFrameCount = 0

    /// Frames from the start of the log up to the first one that does not verify.
    package private(set) var soundFrameCount = 0

    /// Frames with this log's salts from the first one on that does not verify. Recovery drops
    /// them.
    ///
    /// They need not be damage: a transaction that a power failure cut off leaves such frames, and
    /// so does one that is being written or was rolled back.
    package private(set) var droppedFrameCount = 0

    /// How many of the dropped frames end a transaction.
    package private(set) var droppedCommitCount = 0

    /// Whether recovery drops transactions that were complete and on the medium.
    ///
    /// With full synchronization, a transaction is on the medium before the next one begins. A
    /// power failure can leave the last frame of a transaction without an earlier one, but of one
    /// transaction only. If the damage hits the last transaction alone, it looks the same, and
    /// this is false: ``droppedCommitCount`` is 1 then.
    package var tellsOfLostTransactions: Bool {
        droppedCommitCount > 1
    }

    /// Verifies the log of a database; `nil` if there is none or it is empty.
    ///
    /// - Parameter path: The database file. Its log is at the same path with `-wal` added.
    /// - Throws: ``SQLiteFailure`` if the log can't be read.
    package init?(besideDatabaseAt path: String) throws(SQLiteFailure) {
        var damaged: Set<UInt32> = []
        try self.init(besideDatabaseAt: path, replacing: &damaged)
    }

    /// The same, and takes the pages out of `damaged` that the log replaces or cuts off.
    init?(
        besideDatabaseAt path: String, replacing damaged: inout Set<UInt32>
    ) throws(SQLiteFailure) {
        let path = path + "-wal"
        guard try PlainFile.exists(path: path) else { return nil }
        let file = try PlainFile(path: path, flags: SQLITE_OPEN_WAL)
        guard try file.byteCount() > 0 else { return nil }
        let buffer = FileBuffer(byteCount: LogFormat.frameByteCount)
        // SAFETY: the buffer holds a frame, which is more than a log's header.
        let header =
            try file.fill(buffer, count: LogHeader.byteCount, from: 0)
            ? (unsafe LogHeader(at: UnsafeRawPointer(buffer.bytes))) : nil
        headerIsSound = header != nil
        var run = header.map { SoundRun(log: $0) }
        var salts = header.map { [$0.salt1, $0.salt2] }
        var number: UInt32 = 1
        while number < .max,
            try file.fill(
                buffer, count: LogFormat.frameByteCount, from: LogFormat.offset(ofFrame: number))
        {
            // SAFETY: the buffer holds a frame, and was filled.
            let frame = unsafe LogFrameHeader(at: UnsafeRawPointer(buffer.bytes))
            if unsafe run?.accepts(UnsafeRawPointer(buffer.bytes)) ?? false {
                soundFrameCount += 1
                run?.note(frame, replacing: &damaged)
                if frame.databasePageCount > 0 { committedFrameCount = soundFrameCount }
            } else {
                run = nil
                let frameSalts = [frame.salt1, frame.salt2]
                if salts == nil { salts = frameSalts }
                if salts == frameSalts {
                    droppedFrameCount += 1
                    if frame.databasePageCount > 0 { droppedCommitCount += 1 }
                }
            }
            number += 1
        }
    }
}

/// The unbroken run of frames at a log's start.
private struct SoundRun {
    private let log: LogHeader
    private var previous: LogChecksum
    /// Damaged pages that the transaction in progress replaces if it commits.
    private var replacedPages: Set<UInt32> = []

    init(log: LogHeader) {
        self.log = log
        previous = log.checksum
    }

    /// Whether a frame goes on with the run.
    ///
    /// - Parameter frame: The first of `LogFormat.frameByteCount` readable bytes.
    /// - Returns: Whether it does.
    func accepts(_ frame: UnsafeRawPointer) -> Bool {
        // SAFETY: the caller vouches for a whole frame.
        unsafe LogFormat.verifies(frameAt: frame, after: previous, in: log)
    }

    mutating func note(_ frame: LogFrameHeader, replacing damaged: inout Set<UInt32>) {
        previous = frame.checksum
        if damaged.contains(frame.page) { replacedPages.insert(frame.page) }
        guard frame.databasePageCount > 0 else { return }
        damaged = damaged.subtracting(replacedPages).filter { $0 <= frame.databasePageCount }
        replacedPages = []
    }
}
