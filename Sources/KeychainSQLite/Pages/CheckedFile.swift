// CheckedFile: an open file of the checksumming VFS, on top of a file of the VFS underneath.
//   (1) Memory that SQLite provides: OFFSET 0 `sqlite3_file`, OFFSET 8 (one pointer on) a retained
//       reference to this object, OFFSET 16 the file of the VFS underneath.
//   (2) The reference is taken by `install` and given back by `xClose`, which SQLite calls once.
//   (3) A file belongs to one connection, and SQLite lets one thread at a time into a connection:
//       no field is locked.

import CKeychainSQLite

/// A file whose methods all hand on to the file underneath; subclasses add the checks.
@safe class CheckedFile {
    let damage: PageDamage
    private let real: UnsafeMutablePointer<sqlite3_file>

    // SAFETY: only the size of the C structure is asked for.
    private static let referenceOffset = unsafe MemoryLayout<sqlite3_file>.stride
    static let realFileOffset = referenceOffset + 8

    init(real: UnsafeMutablePointer<sqlite3_file>, damage: PageDamage) {
        // SAFETY: the caller vouches that the file is open until `close` is called.
        unsafe self.real = real
        self.damage = damage
    }

    // MARK: Between SQLite's pointer and this object

    /// The place of the file underneath.
    static func realFile(
        in file: UnsafeMutablePointer<sqlite3_file>
    ) -> UnsafeMutablePointer<sqlite3_file> {
        // SAFETY: SQLite allocates `szOsFile` bytes, which is this offset and the size that the
        // VFS underneath asks for; the offset keeps 8-byte alignment.
        unsafe (UnsafeMutableRawPointer(file) + realFileOffset)
            .assumingMemoryBound(to: sqlite3_file.self)
    }

    /// Makes an object the one behind SQLite's pointer.
    static func install(_ object: CheckedFile, in file: UnsafeMutablePointer<sqlite3_file>) {
        // SAFETY: the slot lies in the memory that SQLite provides, see (1).
        unsafe UnsafeMutableRawPointer(file).storeBytes(
            of: Unmanaged.passRetained(object).toOpaque(), toByteOffset: referenceOffset,
            as: UnsafeMutableRawPointer.self)
        unsafe file.pointee.pMethods = CheckedFileMethods.table
    }

    /// The object behind a pointer that came through this VFS's method table.
    static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> CheckedFile? {
        guard let file = unsafe file else { return nil }
        // SAFETY: SQLite calls a method of the table only between `install` and `xClose`, when the
        // slot holds a retained reference.
        let reference = unsafe UnsafeMutableRawPointer(file).load(
            fromByteOffset: referenceOffset, as: UnsafeMutableRawPointer.self)
        return unsafe Unmanaged<CheckedFile>.fromOpaque(reference).takeUnretainedValue()
    }

    /// The object behind any open file's pointer; `nil` if another VFS opened the file.
    static func ifOurs(_ file: UnsafeMutablePointer<sqlite3_file>) -> CheckedFile? {
        // SAFETY: every `sqlite3_file` starts with its method table.
        unsafe file.pointee.pMethods == CheckedFileMethods.table ? of(file) : nil
    }

    /// Gives back the reference that `install` took.
    static func uninstall(_ file: UnsafeMutablePointer<sqlite3_file>) {
        // SAFETY: called once, from `xClose`, after which SQLite no longer uses the file.
        let reference = unsafe UnsafeMutableRawPointer(file).load(
            fromByteOffset: referenceOffset, as: UnsafeMutableRawPointer.self)
        unsafe Unmanaged<CheckedFile>.fromOpaque(reference).release()
        unsafe file.pointee.pMethods = nil
    }

    // MARK: What subclasses change

    func close() -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the file underneath is open until here.
            guard let call = unsafe methods.xClose else { return SQLITE_IOERR }
            return unsafe call(file)
        }
    }

    func read(into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: `count` bytes at `buffer` are SQLite's to fill.
        unsafe readReal(into: buffer, count: count, at: offset)
    }

    func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: `count` bytes at `bytes` are SQLite's, and readable.
        unsafe writeReal(bytes, count: count, at: offset)
    }

    func truncate(to byteCount: Int64) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the file underneath is open.
            guard let call = unsafe methods.xTruncate else { return SQLITE_IOERR }
            return unsafe call(file, byteCount)
        }
    }

    func synchronize(flags: Int32) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the file underneath is open.
            guard let call = unsafe methods.xSync else { return SQLITE_IOERR }
            return unsafe call(file, flags)
        }
    }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the arguments are SQLite's, for the same operation.
            guard let call = unsafe methods.xFileControl else { return SQLITE_NOTFOUND }
            return unsafe call(file, operation, argument)
        }
    }

    func lockSharedMemory(first: Int32, count: Int32, flags: Int32) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the file underneath is open.
            guard let call = unsafe methods.xShmLock else { return SQLITE_IOERR }
            return unsafe call(file, first, count, flags)
        }
    }

    // MARK: The file underneath

    /// Calls a method of the file underneath.
    @inline(__always)
    final func withReal<Result>(
        _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) -> Result
    ) -> Result {
        // SAFETY: the file underneath is open, so its method table is set and stays in place.
        unsafe body(real, real.pointee.pMethods.pointee)
    }

    final func readReal(
        into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64
    ) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the caller vouches for `count` writable bytes.
            guard let call = unsafe methods.xRead else { return SQLITE_IOERR }
            return unsafe call(file, buffer, Int32(truncatingIfNeeded: count), offset)
        }
    }

    final func writeReal(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the caller vouches for `count` readable bytes.
            guard let call = unsafe methods.xWrite else { return SQLITE_IOERR }
            return unsafe call(file, bytes, Int32(truncatingIfNeeded: count), offset)
        }
    }
}
