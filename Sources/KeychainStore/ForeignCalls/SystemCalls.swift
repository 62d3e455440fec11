// SystemCalls: the system calls of the store, one wrapper each, with Swift types.
// Results and errno are those of the call. A path with a NUL byte ends there, as in C.

import Glibc

enum SystemCalls {
    /// The corresponding C function is `open`.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
        // SAFETY: the path is a terminated copy for the duration of the call. So below.
        unsafe Glibc.open(path, flags, mode)
    }

    /// The corresponding C function is `mkdir`.
    static func makeDirectory(_ path: String, mode: mode_t) -> Int32 {
        // SAFETY: as above.
        unsafe mkdir(path, mode)
    }

    /// The corresponding C function is `lstat`. nil when it failed.
    static func status(ofLink path: String) -> stat? {
        var status = stat()
        // SAFETY: `status` is written by the call and read after it.
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    /// The corresponding C function is `access`, asked for writing.
    static func mayWrite(_ path: String) -> Bool {
        // SAFETY: as above.
        unsafe access(path, W_OK) == 0
    }

    /// The corresponding C function is `unlink`.
    @discardableResult
    static func unlink(_ path: String) -> Int32 {
        // SAFETY: as above.
        unsafe Glibc.unlink(path)
    }

    /// The corresponding C function is `rename`.
    static func rename(_ old: String, _ new: String) -> Int32 {
        // SAFETY: as above.
        unsafe Glibc.rename(old, new)
    }

    /// The corresponding C function is `rmdir`.
    @discardableResult
    static func removeDirectory(_ path: String) -> Int32 {
        // SAFETY: as above.
        unsafe rmdir(path)
    }
}
