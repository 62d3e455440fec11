// FileChecks: verification of a database file and its write-ahead log without a connection.
//   (1) Nothing is written, and no lock is taken. Memory does not grow with the files, only with
//       the damage.
//   (2) The files are opened by SQLite's default VFS. A plain `close` would drop the POSIX locks
//       that connections of this process hold on the same file; the VFS puts it off.
//   (3) A page whose newest committed content stands in a sound frame of the log is not damaged: a
//       power failure during a checkpoint leaves torn pages, and the log replaces them.
//   (4) Nothing keeps the log from being restarted or added to: the caller holds the writer's lock
//       or keeps other processes out.
//   (5) Sound frames are those of SQLite's recovery: an unbroken run from the log's start, of frames
//       whose checksum and tag fit.
//   (6) A log whose header is not sound has no sound frames. Its frames are counted as dropped by
//       the salts of the first one.

import CKeychainSQLite

// MARK: - The database file

/// What a database file and its log look like on disk.
package struct DatabaseFileCheck: Hashable, Sendable {
    /// Whole pages of the database file.
    package let pageCount: Int

    /// Pages that are not as they were written and that the log does not replace; ascending, the
    /// first page is 1. A page that is cut off at the end of the file is one of them.
    package let damagedPages: [UInt32]

    /// The log; `nil` if there is none or it is empty.
    package let log: LogFileCheck?

    /// Verifies a database file and the log beside it.
    ///
    /// Pages that a process changes meanwhile are read again, but nothing keeps the log from being
    /// restarted: hold a read transaction, or the lock that keeps other processes out.
    ///
    /// - Parameter path: The database file. Its log is at the same path with `-wal` added. Tags are
    ///   verified with the key that is in use for this path.
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
            // The second reading is for a page that was being written during the first.
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

    /// How many of the dropped frames end a transaction that a keychain wrote: frames that anyone put
    /// behind the log don't count.
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
    /// - Parameter path: The database file. Its log is at the same path with `-wal` added. Tags are
    ///   verified with the key that is in use for this path.
    /// - Throws: ``SQLiteFailure`` if the log can't be read.
    package init?(besideDatabaseAt path: String) throws(SQLiteFailure) {
        try self.init(besideDatabaseAt: path, try PageProtection.ofDatabase(at: path))
    }

    init?(
        besideDatabaseAt path: String, _ protection: PageProtection
    ) throws(SQLiteFailure) {
        var damaged: Set<UInt32> = []
        try self.init(besideDatabaseAt: path, protection, replacing: &damaged)
    }

    /// The same, and takes the pages out of `damaged` that the log replaces or cuts off.
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
                run = nil
                let frameSalts = [frame.salt1, frame.salt2]
                if salts == nil { salts = frameSalts }
                // A tag covers no other frame, so it tells by itself whether a keychain wrote this one.
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

/// The unbroken run of frames at a log's start.
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

    /// Whether a frame goes on with the run. Afterwards it is as SQLite is shown it.
    ///
    /// - Parameters:
    ///   - frame: The first of `LogFormat.frameByteCount` writable bytes.
    ///   - number: Its number, from 1.
    /// - Returns: Whether it does.
    func accepts(_ frame: UnsafeMutableRawPointer, number: UInt32) -> Bool {
        // SAFETY: the caller vouches for a whole frame.
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

/// Memory that a file is read into.
@safe final class FileBuffer {
    let bytes: UnsafeMutableRawPointer

    init(byteCount: Int) {
        // SAFETY: freed in `deinit`; code that takes `bytes` keeps the buffer alive by using it.
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
    /// The path in the form that a VFS takes. The file may refer to it until it is closed.
    private let name: UnsafePointer<CChar>

    /// Opens a file for reading.
    ///
    /// - Parameters:
    ///   - path: The file, which exists.
    ///   - flags: The kind of file, an `SQLITE_OPEN_` constant.
    /// - Throws: ``SQLiteFailure`` if it can't be opened.
    init(path: String, flags: Int32) throws(SQLiteFailure) {
        // SAFETY: `sqlite3_create_filename` copies its arguments. The memory for the file has the
        // size that the VFS asks for; file and name are freed here on failure or by `deinit`.
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
    ///   - buffer: What is filled from its start.
    ///   - count: Bytes to read, at most the buffer's size.
    ///   - offset: Where to start in the file, in bytes.
    /// - Returns: Whether the file had as many bytes there.
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
