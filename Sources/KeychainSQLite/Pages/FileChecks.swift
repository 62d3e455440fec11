// FileChecks: verifies a database file and its write-ahead log without a connection.
//   (1) Nothing is written, and no lock is taken. Memory use depends only on the amount of damage,
//       not on the sizes of the files.
//   (2) The files are opened through SQLite's default VFS. A plain `close` would release the POSIX
//       locks that connections of this process have on the same file; the VFS defers the closing.
//   (3) A page whose newest committed content is in a sound frame of the log is not damaged: a
//       power failure during a checkpoint leaves torn pages, and the log replaces them.
//   (4) Nothing here prevents the log from being restarted or appended to. The caller holds a read
//       transaction or the writer lock, or excludes other processes.
//   (5) The sound frames are those that SQLite's recovery accepts: an uninterrupted sequence from
//       the start of the log, of frames whose checksum and tag are valid.
//   (6) A log without a sound header has no sound frames. All its frames with the same salts as its
//       first frame are counted as dropped.

import CKeychainSQLite

// MARK: - The database file

/// The state of a database file and its log on disk.
package struct DatabaseFileCheck: Hashable, Sendable {
    /// The number of complete pages in the database file.
    package let pageCount: Int

    /// Damaged pages that the log neither replaces nor truncates; in ascending order. The first
    /// page is 1. An incomplete page at the end of the file is one of them.
    package let damagedPages: [UInt32]

    /// The log; `nil` if there is none or it is empty.
    package let log: LogFileCheck?

    /// Verifies a database file and its log.
    ///
    /// A page that fails is read once more, because a process may have been writing it. Nothing
    /// prevents the log from being restarted, see (4).
    ///
    /// - Parameter path: The path of the database file. Its log has the same path with `-wal`
    ///   appended. Tags are verified with the key that is in use for this path.
    /// - Throws: ``SQLiteFailure`` if a file can't be read.
    package init(ofFileAt path: String) throws(SQLiteFailure) {
        let protection = try PageProtection.ofDatabase(at: path)
        let file = try PlainFile(path: path, flags: SQLITE_OPEN_MAIN_DB)
        let byteCount = try file.byteCount()
        let pageBytes = Int64(PageFormat.pageByteCount)
        pageCount = Int(byteCount / pageBytes)
        var damaged = try Self.damagedPages(of: file, pageCount: pageCount, protection)
        if byteCount % pageBytes != 0, let cutOff = UInt32(exactly: pageCount + 1) {
            damaged.insert(cutOff)
        }
        log = try LogFileCheck(besideDatabaseAt: path, protection, replacing: &damaged)
        damagedPages = damaged.sorted()
    }

    private static func damagedPages(
        of file: borrowing PlainFile, pageCount: Int, _ protection: PageProtection
    ) throws(SQLiteFailure) -> Set<UInt32> {
        var damaged: Set<UInt32> = []
        let page = FileBuffer(byteCount: PageFormat.pageByteCount)
        for index in 0..<pageCount {
            guard let number = UInt32(exactly: index + 1), number != PageFormat.lockBytePage
            else { continue }
            // The second read is for a page that was being written during the first.
            var verifies = false
            for _ in 0..<2 where !verifies {
                let offset = Int64(index) * Int64(PageFormat.pageByteCount)
                guard try file.fill(page, count: PageFormat.pageByteCount, from: offset) else {
                    break
                }
                // SAFETY: the buffer holds a page.
                verifies = unsafe protection.verifies(
                    pageAt: UnsafeRawPointer(page.bytes), number: number)
            }
            if !verifies { damaged.insert(number) }
        }
        return damaged
    }
}

// MARK: - The log

/// The state of a write-ahead log on disk.
package struct LogFileCheck: Hashable, Sendable {
    /// Whether the log starts with a sound header. If not, SQLite ignores the whole log.
    package private(set) var headerIsSound = false

    /// The number of frames from the start of the log to the last commit before the first unsound
    /// frame. These are the frames that SQLite's recovery keeps.
    package private(set) var committedFrameCount = 0

    /// The number of frames from the start of the log to the first unsound frame, excluding it.
    package private(set) var soundFrameCount = 0

    /// The number of frames with this log's salts from the first unsound frame on. Recovery drops
    /// them.
    ///
    /// They are not necessarily damage: a transaction interrupted by a power failure leaves such
    /// frames, and so does a transaction that is being written or was rolled back.
    package private(set) var droppedFrameCount = 0

    /// How many of the dropped frames end a transaction written by a process with the keychain's
    /// keys. Frames that a process without these keys appended to the log aren't counted, except in
    /// version 1, which has no tags.
    package private(set) var droppedCommitCount = 0

    /// Whether it is certain that recovery drops complete, durable transactions.
    ///
    /// With full synchronization, a transaction is durable before the next one begins. A power
    /// failure can leave the last frame of a transaction in the log without an earlier frame, but
    /// only for one transaction. Damage to the last transaction alone looks the same:
    /// ``droppedCommitCount`` is then 1, and this is `false`.
    package var tellsOfLostTransactions: Bool {
        droppedCommitCount > 1
    }

    /// Verifies the log of a database; `nil` if there is none or it is empty.
    ///
    /// - Parameter path: The path of the database file. Its log has the same path with `-wal`
    ///   appended. Tags are verified with the key that is in use for this path.
    /// - Throws: ``SQLiteFailure`` if the log, or the header of the database file, can't be read.
    package init?(besideDatabaseAt path: String) throws(SQLiteFailure) {
        try self.init(besideDatabaseAt: path, try PageProtection.ofDatabase(at: path))
    }

    init?(
        besideDatabaseAt path: String, _ protection: PageProtection
    ) throws(SQLiteFailure) {
        var damaged: Set<UInt32> = []
        try self.init(besideDatabaseAt: path, protection, replacing: &damaged)
    }

    /// Verifies the log, and removes from `damaged` the pages that the log replaces or truncates.
    init?(
        besideDatabaseAt path: String, _ protection: PageProtection,
        replacing damaged: inout Set<UInt32>
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
        var run = header.map { SoundRun(log: $0, protection) }
        var salts = header.map { [$0.salt1, $0.salt2] }
        var number: UInt32 = 1
        while number < .max,
            try file.fill(
                buffer, count: LogFormat.frameByteCount, from: LogFormat.offset(ofFrame: number))
        {
            // SAFETY: the buffer holds a frame, and was filled.
            let frame = unsafe LogFrameHeader(at: UnsafeRawPointer(buffer.bytes))
            if unsafe run?.accepts(buffer.bytes, number: number) ?? false {
                soundFrameCount += 1
                run?.note(frame, replacing: &damaged)
                if frame.databasePageCount > 0 { committedFrameCount = soundFrameCount }
            } else {
                if run != nil {
                    run = nil
                    // `accepts` has removed the tag from the buffer.
                    guard
                        try file.fill(
                            buffer, count: LogFormat.frameByteCount,
                            from: LogFormat.offset(ofFrame: number))
                    else { break }
                }
                let frameSalts = [frame.salt1, frame.salt2]
                if salts == nil { salts = frameSalts }
                // The tag doesn't depend on other frames, so it shows whether this frame was
                // written with the keychain's key.
                if salts == frameSalts {
                    droppedFrameCount += 1
                    let isCommit =
                        unsafe frame.databasePageCount > 0
                        && protection.verifies(
                            frameAt: UnsafeRawPointer(buffer.bytes), number: number)
                    if isCommit { droppedCommitCount += 1 }
                }
            }
            number += 1
        }
    }
}

/// The uninterrupted sequence of sound frames at the start of a log.
private struct SoundRun {
    private let log: LogHeader
    private let protection: PageProtection
    private var previous: LogChecksum
    /// Damaged pages that the transaction in progress replaces if it commits.
    private var replacedPages: Set<UInt32> = []

    init(log: LogHeader, _ protection: PageProtection) {
        self.log = log
        self.protection = protection
        previous = log.checksum
    }

    /// Checks whether a frame continues the sequence, and removes the frame's tag from the memory
    /// at `frame`, which then has the form that SQLite gets.
    ///
    /// - Parameters:
    ///   - frame: The first of `LogFormat.frameByteCount` writable bytes.
    ///   - number: The frame's number, from 1.
    /// - Returns: Whether the frame continues the sequence.
    func accepts(_ frame: UnsafeMutableRawPointer, number: UInt32) -> Bool {
        // SAFETY: the caller guarantees a whole frame.
        let isAuthentic = unsafe protection.verifies(
            frameAt: UnsafeRawPointer(frame), number: number, in: log)
        unsafe protection.hide(frameAt: frame)
        return unsafe isAuthentic
            && LogFormat.verifies(frameAt: UnsafeRawPointer(frame), after: previous, in: log)
    }

    mutating func note(_ frame: LogFrameHeader, replacing damaged: inout Set<UInt32>) {
        previous = frame.checksum
        if damaged.contains(frame.page) { replacedPages.insert(frame.page) }
        guard frame.databasePageCount > 0 else { return }
        damaged = damaged.subtracting(replacedPages).filter { $0 <= frame.databasePageCount }
        replacedPages = []
    }
}

// MARK: - Files without a connection

/// A buffer for reading a file.
@safe final class FileBuffer {
    let bytes: UnsafeMutableRawPointer

    init(byteCount: Int) {
        // SAFETY: freed in `deinit`; code that uses `bytes` keeps the buffer alive.
        unsafe bytes = .allocate(byteCount: byteCount, alignment: 16)
    }

    deinit {
        // SAFETY: allocated in `init`; nothing uses it from here on.
        unsafe bytes.deallocate()
    }
}

@safe struct PlainFile: ~Copyable {
    private typealias File = UnsafeMutablePointer<sqlite3_file>

    private let file: UnsafeMutablePointer<sqlite3_file>
    /// The path in the form that a VFS requires. The VFS may use this memory until the file is
    /// closed.
    private let name: UnsafePointer<CChar>

    /// Opens a file for reading.
    ///
    /// - Parameters:
    ///   - path: The path of an existing file.
    ///   - flags: The kind of file, an `SQLITE_OPEN_` constant.
    /// - Throws: ``SQLiteFailure`` if it can't be opened.
    init(path: String, flags: Int32) throws(SQLiteFailure) {
        // SAFETY: `sqlite3_create_filename` copies its arguments. The memory for the file has the
        // size that the VFS requires; file and name are freed here on failure or by `deinit`.
        guard let vfs = unsafe sqlite3_vfs_find(nil), let open = unsafe vfs.pointee.xOpen,
            let name = unsafe sqlite3_create_filename(path, "", "", 0, nil)
        else {
            throw SQLiteFailure(code: SQLITE_CANTOPEN)
        }
        let byteCount = unsafe max(
            Int(vfs.pointee.szOsFile), MemoryLayout<sqlite3_file>.size)
        let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
        let file = unsafe memory.assumingMemoryBound(to: sqlite3_file.self)
        let status = unsafe open(vfs, name, file, flags | SQLITE_OPEN_READONLY, nil)
        guard status == SQLITE_OK else {
            if let methods = unsafe file.pointee.pMethods {
                _ = unsafe methods.pointee.xClose?(file)
            }
            unsafe memory.deallocate()
            unsafe sqlite3_free_filename(name)
            throw SQLiteFailure(code: status)
        }
        unsafe self.file = file
        unsafe self.name = UnsafePointer(name)
    }

    deinit {
        // SAFETY: the file is open, and nothing uses it or its name from here on.
        _ = unsafe file.pointee.pMethods.pointee.xClose?(file)
        unsafe UnsafeMutableRawPointer(file).deallocate()
        unsafe sqlite3_free_filename(name)
    }

    static func exists(path: String) throws(SQLiteFailure) -> Bool {
        var result: Int32 = 0
        // SAFETY: `xAccess` writes one `int`.
        guard let vfs = unsafe sqlite3_vfs_find(nil), let access = unsafe vfs.pointee.xAccess
        else { return false }
        let status = unsafe access(vfs, path, SQLITE_ACCESS_EXISTS, &result)
        guard status == SQLITE_OK else {
            throw SQLiteFailure(code: status)
        }
        return result != 0
    }

    func byteCount() throws(SQLiteFailure) -> Int64 {
        var result: Int64 = 0
        // SAFETY: `xFileSize` writes one 64-bit integer.
        let status =
            unsafe file.pointee.pMethods.pointee.xFileSize?(file, &result) ?? SQLITE_IOERR
        guard status == SQLITE_OK else {
            throw SQLiteFailure(code: status)
        }
        return result
    }

    /// Reads into a buffer.
    ///
    /// - Parameters:
    ///   - buffer: The buffer, which is filled from its start.
    ///   - count: The number of bytes to read, at most the buffer's size.
    ///   - offset: The offset in the file, in bytes.
    /// - Returns: `false` if the file has fewer than `count` bytes from this offset on.
    /// - Throws: ``SQLiteFailure`` if the file can't be read.
    func fill(
        _ buffer: FileBuffer, count: Int, from offset: Int64
    ) throws(SQLiteFailure) -> Bool {
        // SAFETY: the caller keeps `count` within the buffer.
        let status =
            unsafe file.pointee.pMethods.pointee.xRead?(file, buffer.bytes, Int32(count), offset)
            ?? SQLITE_IOERR
        guard status == SQLITE_OK || status == ResultCode.shortRead else {
            throw SQLiteFailure(code: status)
        }
        return status == SQLITE_OK
    }
}
