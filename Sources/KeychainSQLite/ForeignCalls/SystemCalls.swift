// SystemCalls: the system calls of the store, one wrapper each, with Swift types.
// Results and errno are those of the call. A path with a NUL byte ends there, as in C.

import Glibc
import KeychainCrypto

enum SystemCalls {
    /// The corresponding C function is `open`. The descriptor is never that of a standard stream.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
        defer { if flags & O_CREAT != 0 { FileProbe.reach() } }
        // SAFETY: the path is a terminated copy for the duration of the call. So below.
        return StandardStreams.moveAbove(unsafe Glibc.open(path, flags, mode))
    }

    /// The corresponding C function is `flock`, which is called again after a signal.
    static func lock(_ descriptor: Int32, _ operation: Int32) -> Int32 {
        while true {
            let result = flock(descriptor, operation)
            guard result != 0, errno == EINTR else { return result }
        }
    }

    /// The first bytes of a file, at most `count`; the corresponding C function is `pread`.
    static func read(_ descriptor: Int32, count: Int) -> [UInt8] {
        // SAFETY: the call writes into the buffer and no further.
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            initializedCount = unsafe max(pread(descriptor, buffer.baseAddress, count, 0), 0)
        }
    }

    /// The corresponding C function is `mkdir`.
    static func makeDirectory(_ path: String, mode: mode_t) -> Int32 {
        defer { FileProbe.reach() }
        // SAFETY: as above.
        return unsafe mkdir(path, mode)
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
        defer { FileProbe.reach() }
        // SAFETY: as above.
        return unsafe Glibc.unlink(path)
    }

    /// The corresponding C function is `rename`.
    static func rename(_ old: String, _ new: String) -> Int32 {
        defer { FileProbe.reach() }
        // SAFETY: as above.
        return unsafe Glibc.rename(old, new)
    }

    /// The corresponding C function is `rmdir`.
    @discardableResult
    static func removeDirectory(_ path: String) -> Int32 {
        defer { FileProbe.reach() }
        // SAFETY: as above.
        return unsafe rmdir(path)
    }

    // MARK: Notices of changes to files

    /// The corresponding C function is `inotify_init1`. The descriptor doesn't block and isn't
    /// inherited.
    static func makeNoticeQueue() -> Int32 {
        StandardStreams.moveAbove(inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)))
    }

    /// The corresponding C function is `inotify_add_watch`.
    static func watch(_ path: String, for events: Int, noticesTo queue: Int32) -> Int32 {
        // SAFETY: as above.
        unsafe inotify_add_watch(queue, path, UInt32(truncatingIfNeeded: events))
    }

    /// Takes everything that can be read from a descriptor that doesn't block, and drops it.
    static func drain(_ descriptor: Int32) {
        // SAFETY: the call writes into the buffer and no further.
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
