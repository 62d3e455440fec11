// CheckedFileMethods: the method table that SQLite uses for every `CheckedFile`.
//   (1) The table is allocated once and never freed, because SQLite keeps pointers to it.
//   (2) No page is ever provided as mapped memory, because SQLite would read it without the checks.

import CKeychainSQLite

enum CheckedFileMethods {
    /// SQLITE_IOCAP_SUBPAGE_READ, which older headers don't define: it allows SQLite to read less
    /// than a page, bypassing the page cache. This VFS doesn't report it, because such a read can
    /// be verified only by reading the whole page.
    private static let subpageReads: Int32 = 0x0000_8000

    // SAFETY: written once, before it is shared, and only read from then on.
    nonisolated(unsafe) static let table: UnsafePointer<sqlite3_io_methods> = unsafe makeTable()

    private static func makeTable() -> UnsafePointer<sqlite3_io_methods> {
        // SAFETY: the allocation is initialized before use and never freed. The closures capture
        // nothing, and SQLite calls them with open files of this VFS only.
        var methods = sqlite3_io_methods()
        methods.iVersion = 3
        addData(to: &methods)
        addLocks(to: &methods)
        addProperties(to: &methods)
        addSharedMemory(to: &methods)
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe table.initialize(to: methods)
        return unsafe UnsafePointer(table)
    }

    private static func addData(to methods: inout sqlite3_io_methods) {
        // SAFETY: as in `makeTable`; SQLite provides buffers and sizes.
        unsafe methods.xClose = { file in
            guard let file = unsafe file, let checked = unsafe CheckedFile.of(file)
            else { return SQLITE_IOERR }
            let status = checked.close()
            unsafe CheckedFile.uninstall(file)
            return status
        }
        unsafe methods.xRead = { file, buffer, count, offset in
            guard let checked = unsafe CheckedFile.of(file), let buffer = unsafe buffer
            else { return SQLITE_IOERR }
            return unsafe checked.read(into: buffer, count: Int(count), at: offset)
        }
        unsafe methods.xWrite = { file, bytes, count, offset in
            guard let checked = unsafe CheckedFile.of(file), let bytes = unsafe bytes
            else { return SQLITE_IOERR }
            return unsafe checked.write(bytes, count: Int(count), at: offset)
        }
        unsafe methods.xTruncate = { file, byteCount in
            guard let checked = unsafe CheckedFile.of(file) else { return SQLITE_IOERR }
            return checked.truncate(to: byteCount)
        }
        unsafe methods.xSync = { file, flags in
            guard let checked = unsafe CheckedFile.of(file) else { return SQLITE_IOERR }
            return checked.synchronize(flags: flags)
        }
        unsafe methods.xFileSize = { file, byteCount in
            unsafe CheckedFileMethods.call(file) { file, methods in
                unsafe methods.xFileSize.map { unsafe $0(file, byteCount) }
            }
        }
    }

    private static func addLocks(to methods: inout sqlite3_io_methods) {
        // SAFETY: as in `makeTable`.
        unsafe methods.xLock = { file, level in
            unsafe CheckedFileMethods.call(file) { file, methods in
                unsafe methods.xLock.map { unsafe $0(file, level) }
            }
        }
        unsafe methods.xUnlock = { file, level in
            unsafe CheckedFileMethods.call(file) { file, methods in
                unsafe methods.xUnlock.map { unsafe $0(file, level) }
            }
        }
        unsafe methods.xCheckReservedLock = { file, result in
            unsafe CheckedFileMethods.call(file) { file, methods in
                unsafe methods.xCheckReservedLock.map { unsafe $0(file, result) }
            }
        }
    }

    private static func addProperties(to methods: inout sqlite3_io_methods) {
        // SAFETY: as in `makeTable`.
        unsafe methods.xFileControl = { file, operation, argument in
            guard let checked = unsafe CheckedFile.of(file) else { return SQLITE_NOTFOUND }
            return unsafe checked.control(operation, argument)
        }
        unsafe methods.xSectorSize = { file in
            unsafe CheckedFile.of(file)?.withReal { file, methods in
                unsafe methods.xSectorSize.map { unsafe $0(file) }
            } ?? Int32(PageFormat.pageByteCount)
        }
        unsafe methods.xDeviceCharacteristics = { file in
            let characteristics =
                unsafe CheckedFile.of(file)?.withReal { file, methods in
                    unsafe methods.xDeviceCharacteristics.map { unsafe $0(file) }
                } ?? 0
            return characteristics & ~CheckedFileMethods.subpageReads
        }
    }

    private static func addSharedMemory(to methods: inout sqlite3_io_methods) {
        // SAFETY: as in `makeTable`. The method table of the file underneath has these methods if
        // its version is at least 2.
        unsafe methods.xShmMap = { file, region, byteCount, extend, result in
            unsafe CheckedFileMethods.call(file) { file, methods in
                guard methods.iVersion >= 2 else { return nil }
                return unsafe methods.xShmMap.map {
                    unsafe $0(file, region, byteCount, extend, result)
                }
            }
        }
        unsafe methods.xShmLock = { file, first, count, flags in
            guard let checked = unsafe CheckedFile.of(file) else { return SQLITE_IOERR }
            return checked.lockSharedMemory(first: first, count: count, flags: flags)
        }
        unsafe methods.xShmBarrier = { file in
            unsafe CheckedFile.of(file)?.withReal { file, methods in
                if methods.iVersion >= 2 { unsafe methods.xShmBarrier?(file) }
            }
        }
        unsafe methods.xShmUnmap = { file, delete in
            unsafe CheckedFileMethods.call(file) { file, methods in
                guard methods.iVersion >= 2 else { return nil }
                return unsafe methods.xShmUnmap.map { unsafe $0(file, delete) }
            }
        }
        unsafe methods.xFetch = { _, _, _, page in
            unsafe page?.pointee = nil
            return SQLITE_OK
        }
        unsafe methods.xUnfetch = { _, _, _ in SQLITE_OK }
    }

    /// Calls a method of the file underneath; SQLITE_IOERR if it has no such method.
    private static func call(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) -> Int32?
    ) -> Int32 {
        // SAFETY: SQLite passes an open file of this VFS.
        unsafe CheckedFile.of(file)?.withReal(body) ?? SQLITE_IOERR
    }
}
