// PlainFile: a file opened for reading by SQLite's default VFS, without a connection.

import CKeychainSQLite

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
