// CheckedFile: an open file of the checksumming VFS, on top of a file of the VFS underneath.
//   (1) Layout of the memory that SQLite provides: OFFSET 0 `sqlite3_file`, OFFSET 8 (after one
//       pointer) a retained reference to this object, OFFSET 16 the file of the VFS underneath.
//   (2) The reference is retained by `install` and released by `xClose`, which SQLite calls once.
//   (3) A file belongs to one connection, and a connection is used by one thread at a time, so the
//       fields need no lock.

import CKeychainSQLite

/// A file whose methods all forward to the file underneath. Subclasses add the checks.
@safe class CheckedFile {
    let damage: PageDamage
    private let real: UnsafeMutablePointer<sqlite3_file>

    // SAFETY: only the size of the C structure is used.
    private static let referenceOffset = unsafe MemoryLayout<sqlite3_file>.stride
    static let realFileOffset = referenceOffset + 8

    init(real: UnsafeMutablePointer<sqlite3_file>, damage: PageDamage) {
        // SAFETY: the caller guarantees that the file is open until `close` is called.
        unsafe self.real = real
        self.damage = damage
    }

    // MARK: SQLite's pointer and this object

    /// The location of the file underneath.
    static func realFile(
        in file: UnsafeMutablePointer<sqlite3_file>
    ) -> UnsafeMutablePointer<sqlite3_file> {
        // SAFETY: SQLite allocates `szOsFile` bytes, which is this offset plus the size that the
        // VFS underneath requires; the offset keeps 8-byte alignment.
        unsafe (UnsafeMutableRawPointer(file) + realFileOffset)
            .assumingMemoryBound(to: sqlite3_file.self)
    }

    /// Stores an object behind SQLite's pointer.
    static func install(_ object: CheckedFile, in file: UnsafeMutablePointer<sqlite3_file>) {
        // SAFETY: the slot is in the memory that SQLite provides, see (1).
        unsafe UnsafeMutableRawPointer(file).storeBytes(
            of: Unmanaged.passRetained(object).toOpaque(), toByteOffset: referenceOffset,
            as: UnsafeMutableRawPointer.self)
        unsafe file.pointee.pMethods = CheckedFileMethods.table
    }

    /// The object behind a pointer that was passed to a method of this VFS.
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

    /// Releases the reference that `install` retained.
    static func uninstall(_ file: UnsafeMutablePointer<sqlite3_file>) {
        // SAFETY: called once, from `xClose`, after which SQLite no longer uses the file.
        let reference = unsafe UnsafeMutableRawPointer(file).load(
            fromByteOffset: referenceOffset, as: UnsafeMutableRawPointer.self)
        unsafe Unmanaged<CheckedFile>.fromOpaque(reference).release()
        unsafe file.pointee.pMethods = nil
    }

    // MARK: Methods that subclasses override

    func close() -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the file underneath is open until here.
            guard let call = unsafe methods.xClose else { return SQLITE_IOERR }
            return unsafe call(file)
        }
    }

    func read(into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: SQLite provides `count` writable bytes at `buffer`.
        unsafe readReal(into: buffer, count: count, at: offset)
    }

    func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        // SAFETY: SQLite provides `count` readable bytes at `bytes`.
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
            // SAFETY: the arguments are those that SQLite passed for this operation.
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
            // SAFETY: the caller guarantees `count` writable bytes.
            guard let call = unsafe methods.xRead else { return SQLITE_IOERR }
            return unsafe call(file, buffer, Int32(truncatingIfNeeded: count), offset)
        }
    }

    final func writeReal(_ bytes: UnsafeRawPointer, count: Int, at offset: Int64) -> Int32 {
        unsafe withReal { file, methods in
            // SAFETY: the caller guarantees `count` readable bytes.
            guard let call = unsafe methods.xWrite else { return SQLITE_IOERR }
            return unsafe call(file, bytes, Int32(truncatingIfNeeded: count), offset)
        }
    }
}
