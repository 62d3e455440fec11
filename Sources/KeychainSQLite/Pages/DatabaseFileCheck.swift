// DatabaseFileCheck: verification of a database file and its write-ahead log without a connection.
//   (1) Nothing is written, and no lock is taken. Memory does not grow with the files, only with
//       the damage.
//   (2) The files are opened by SQLite's default VFS. A plain `close` would drop the POSIX locks
//       that connections of this process hold on the same file; the VFS puts it off.
//   (3) A page whose newest committed content stands in a sound frame of the log is not damaged:
//       a power failure during a checkpoint leaves torn pages, and the log replaces them.

import CKeychainSQLite

/// What a database file and its log look like on disk.
package struct DatabaseFileCheck: Hashable, Sendable {
    /// Whole pages of the database file.
    package let pageCount: Int

    /// Pages that do not fit their checksum and that the log does not replace; ascending, the
    /// first page is 1. A page that is cut off at the end of the file is one of them.
    package let damagedPages: [UInt32]

    /// The log; `nil` if there is none or it is empty.
    package let log: LogFileCheck?

    /// Verifies a database file and the log beside it.
    ///
    /// Pages that a process changes meanwhile are read again, but nothing keeps the log from being
    /// restarted: hold a read transaction, or the lock that keeps other processes out.
    ///
    /// - Parameter path: The database file. Its log is at the same path with `-wal` added.
    /// - Throws: ``SQLiteFailure`` if a file can't be read.
    package init(ofFileAt path: String) throws(SQLiteFailure) {
        let file = try PlainFile(path: path, flags: SQLITE_OPEN_MAIN_DB)
        let byteCount = try file.byteCount()
        let pageBytes = Int64(PageFormat.pageByteCount)
        pageCount = Int(byteCount / pageBytes)
        var damaged = try Self.damagedPages(of: file, pageCount: pageCount)
        if byteCount % pageBytes != 0, let cutOff = UInt32(exactly: pageCount + 1) {
            damaged.insert(cutOff)
        }
        log = try LogFileCheck(besideDatabaseAt: path, replacing: &damaged)
        damagedPages = damaged.sorted()
    }

    private static func damagedPages(
        of file: borrowing PlainFile, pageCount: Int
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
                verifies = unsafe PageChecksum.verifies(
                    pageAt: UnsafeRawPointer(page.bytes), number: number)
            }
            if !verifies { damaged.insert(number) }
        }
        return damaged
    }
}
