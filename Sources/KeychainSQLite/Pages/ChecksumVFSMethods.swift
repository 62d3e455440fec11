// ChecksumVFSMethods: the functions of the checksumming VFS. They forward to the VFS underneath,
// with exceptions in `xOpen`, `xDelete`, `xAccess` and `xSleep`.
//   (1) The VFS object is allocated once and never freed; `pAppData` is the VFS underneath.
//   (2) The functions of the VFS underneath get that VFS's own object as first argument, because
//       they use its fields.
//   (3) Rollback journals are not supported: SQLite would copy the pages of a journal that it finds
//       beside a database into the database, where they would get valid tags.

import CKeychainSQLite

enum ChecksumVFSMethods {
    private typealias VFS = UnsafeMutablePointer<sqlite3_vfs>

    /// A new VFS object on top of another. It is never freed.
    static func makeVFS(
        over base: UnsafeMutablePointer<sqlite3_vfs>
    ) -> UnsafeMutablePointer<sqlite3_vfs> {
        // SAFETY: both allocations are initialized before use and never freed, as SQLite requires
        // of a registered VFS. The closures capture nothing, and call `base` with its own object.
        let name = Array(PageChecksumVFS.name.utf8CString)
        let nameBytes = UnsafeMutablePointer<CChar>.allocate(capacity: name.count)
        for (offset, byte) in name.enumerated() {
            unsafe (nameBytes + offset).initialize(to: byte)
        }
        var vfs = unsafe sqlite3_vfs()
        // Version 3 adds overriding of system calls, which only SQLite's own tests use.
        unsafe vfs.iVersion = min(base.pointee.iVersion, 2)
        unsafe vfs.szOsFile = Int32(CheckedFile.realFileOffset) + base.pointee.szOsFile
        unsafe vfs.mxPathname = base.pointee.mxPathname
        unsafe vfs.zName = UnsafePointer(nameBytes)
        unsafe vfs.pAppData = UnsafeMutableRawPointer(base)
        unsafe vfs.xOpen = { vfs, name, file, flags, outFlags in
            unsafe ChecksumVFSMethods.open(vfs, name, file, flags, outFlags)
        }
        unsafe vfs.xDelete = { vfs, name, syncFolder in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xDelete
            else { return SQLITE_IOERR }
            guard unsafe !ChecksumVFSMethods.isLogOfDamagedDatabase(name)
            else { return ResultCode.refusing(ResultCode.deleteError) }
            return unsafe call(base, name, syncFolder)
        }
        unsafe vfs.xAccess = { vfs, name, flags, result in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xAccess
            else { return SQLITE_IOERR }
            if unsafe ChecksumVFSMethods.isJournal(name) {
                unsafe result?.pointee = 0
                return SQLITE_OK
            }
            return unsafe call(base, name, flags, result)
        }
        unsafe vfs.xFullPathname = { vfs, name, byteCount, result in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xFullPathname
            else { return SQLITE_CANTOPEN }
            return unsafe call(base, name, byteCount, result)
        }
        unsafe addLibraryLoading(to: &vfs)
        unsafe addClock(to: &vfs)
        let object = VFS.allocate(capacity: 1)
        unsafe object.initialize(to: vfs)
        return unsafe object
    }

    private static func addLibraryLoading(to vfs: inout sqlite3_vfs) {
        // SAFETY: as in `makeVFS`.
        unsafe vfs.xDlOpen = { vfs, name in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xDlOpen
            else { return nil }
            return unsafe call(base, name)
        }
        unsafe vfs.xDlError = { vfs, byteCount, message in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xDlError
            else { return }
            unsafe call(base, byteCount, message)
        }
        unsafe vfs.xDlSym = { vfs, library, symbol in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xDlSym
            else { return nil }
            return unsafe call(base, library, symbol)
        }
        unsafe vfs.xDlClose = { vfs, library in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xDlClose
            else { return }
            unsafe call(base, library)
        }
    }

    private static func addClock(to vfs: inout sqlite3_vfs) {
        // SAFETY: as in `makeVFS`. `xCurrentTimeInt64` is part of version 2, and this VFS declares
        // version 2 only if the one underneath does.
        unsafe vfs.xRandomness = { vfs, byteCount, bytes in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xRandomness
            else { return 0 }
            return unsafe call(base, byteCount, bytes)
        }
        // SQLite sleeps between attempts to read an index of the log that another process rebuilds.
        unsafe vfs.xSleep = { vfs, microseconds in
            if Connections.mustNotWait { return 0 }
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xSleep
            else { return 0 }
            return unsafe call(base, microseconds)
        }
        unsafe vfs.xCurrentTime = { vfs, result in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xCurrentTime
            else { return SQLITE_ERROR }
            return unsafe call(base, result)
        }
        unsafe vfs.xGetLastError = { vfs, byteCount, message in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xGetLastError
            else { return 0 }
            return unsafe call(base, byteCount, message)
        }
        unsafe vfs.xCurrentTimeInt64 = { vfs, result in
            guard let base = unsafe ChecksumVFSMethods.underneath(vfs),
                let call = unsafe base.pointee.xCurrentTimeInt64
            else { return SQLITE_ERROR }
            return unsafe call(base, result)
        }
    }

    /// Whether a file is a log that is kept for salvage, see `CheckedLogFile`.
    private static func isLogOfDamagedDatabase(_ name: UnsafePointer<CChar>?) -> Bool {
        // SAFETY: SQLite passes a NUL-terminated name.
        guard let path = unsafe name.map({ unsafe String(cString: $0) }), path.hasSuffix("-wal")
        else { return false }
        return !(PageDamage.known(forCanonicalPath: String(path.dropLast(4)))?.isEmpty ?? true)
    }

    private static func isJournal(_ name: UnsafePointer<CChar>?) -> Bool {
        // SAFETY: as above.
        unsafe name.map { unsafe String(cString: $0).hasSuffix("-journal") } ?? false
    }

    private static func underneath(_ vfs: VFS?) -> VFS? {
        // SAFETY: `pAppData` of this VFS is the VFS underneath, which is never freed.
        unsafe vfs?.pointee.pAppData?.assumingMemoryBound(to: sqlite3_vfs.self)
    }

    /// `xOpen`: a database, and the log of a database whose protection is known, become checked
    /// files. The rollback journal of a database, and a super-journal, are refused. Every other
    /// file is opened by the VFS underneath, directly in the memory that SQLite provides.
    private static func open(
        _ vfs: VFS?, _ name: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        // SAFETY: SQLite provides `szOsFile` bytes at `file`: room for this VFS's part and, at
        // `realFileOffset`, for the part of the VFS underneath.
        guard let file = unsafe file, let base = unsafe underneath(vfs),
            let baseOpen = unsafe base.pointee.xOpen
        else { return SQLITE_CANTOPEN }
        if flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL) != 0 {
            unsafe file.pointee.pMethods = nil
            return ResultCode.refusing(SQLITE_CANTOPEN)
        }
        if flags & SQLITE_OPEN_MAIN_DB != 0, let name = unsafe name {
            let real = unsafe CheckedFile.realFile(in: file)
            let status = unsafe opened(
                baseOpen(base, name, real, flags, outFlags), real: real, in: file)
            guard status == SQLITE_OK else { return status }
            let damage = unsafe PageDamage.registry(forCanonicalPath: String(cString: name))
            let database = unsafe CheckedDatabaseFile(real: real, damage: damage)
            let classification = database.classify()
            guard classification == SQLITE_OK else {
                _ = database.close()
                unsafe file.pointee.pMethods = nil
                return classification
            }
            unsafe CheckedFile.install(database, in: file)
            return SQLITE_OK
        }
        if flags & SQLITE_OPEN_WAL != 0, let name = unsafe name,
            let databaseFile = unsafe sqlite3_database_file_object(name),
            let database = unsafe CheckedFile.ifOurs(databaseFile) as? CheckedDatabaseFile,
            let protection = database.protection
        {
            let real = unsafe CheckedFile.realFile(in: file)
            let status = unsafe opened(
                baseOpen(base, name, real, flags, outFlags), real: real, in: file)
            guard status == SQLITE_OK else { return status }
            let log = unsafe CheckedLogFile(real: real, of: database, protection)
            unsafe CheckedFile.install(log, in: file)
            return SQLITE_OK
        }
        return unsafe baseOpen(base, name, file, flags, outFlags)
    }

    /// Returns the status of opening the file underneath. After a failure nothing stays open.
    private static func opened(
        _ status: Int32, real: UnsafeMutablePointer<sqlite3_file>,
        in file: UnsafeMutablePointer<sqlite3_file>
    ) -> Int32 {
        guard status != SQLITE_OK else { return SQLITE_OK }
        // SAFETY: a file whose opening failed has to be closed if its methods are set. SQLite
        // closes nothing if the methods of this VFS's file are not set.
        if let methods = unsafe real.pointee.pMethods, let close = unsafe methods.pointee.xClose {
            _ = unsafe close(real)
        }
        unsafe file.pointee.pMethods = nil
        return status
    }
}
