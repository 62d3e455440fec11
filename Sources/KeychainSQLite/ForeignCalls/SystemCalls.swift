// SystemCalls: the system calls of the store.
//   (1) A test's probe is notified of each of these calls that may create, rename or remove a file
//       or a folder.
//   (2) `errno` is that of the call. A result of type Int32 is 0 or a descriptor, or -1 if the call
//       failed.

import Glibc
import KeychainCrypto

enum SystemCalls {
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
        defer { if flags & O_CREAT != 0 { FileProbe.reach() } }
        return Files.openNumber(path, flags, mode: mode)
    }

    static func makeDirectory(_ path: String, mode: mode_t) -> Int32 {
        reached(Files.makeFolder(path, mode: mode))
    }

    @discardableResult
    static func unlink(_ path: String) -> Int32 { reached(Files.remove(path)) }

    /// Removes a name from an open folder; the corresponding C function is `unlinkat`. A folder
    /// that has replaced the open one meanwhile isn't affected.
    @discardableResult
    static func unlink(_ name: String, in folder: Int32) -> Int32 {
        // SAFETY: the name is a NUL-terminated copy for the duration of the call.
        reached(unsafe unlinkat(folder, name, 0) == 0)
    }

    /// The names in an open folder, without `.` and `..`, as far as it can be read. The
    /// corresponding C functions are `fdopendir` and `readdir`.
    static func names(in folder: Int32) -> [String] {
        let own = fcntl(folder, F_DUPFD_CLOEXEC, 0)
        // SAFETY: the stream owns `own` from here on and is closed once. An entry's name is
        // NUL-terminated within the entry, which stays unchanged until the next call.
        guard own >= 0 else { return [] }
        guard let stream = unsafe fdopendir(own) else {
            close(own)
            return []
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    unsafe String(cString: $0)
                }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static func rename(_ old: String, _ new: String) -> Int32 { reached(Files.rename(old, new)) }

    @discardableResult
    static func removeDirectory(_ path: String) -> Int32 { reached(Files.removeFolder(path)) }

    private static func reached(_ isDone: Bool) -> Int32 {
        FileProbe.reach()
        return isDone ? 0 : -1
    }

    /// The corresponding C function is `flock`.
    static func lock(_ descriptor: Int32, _ operation: Int32) -> Int32 {
        Files.lock(descriptor, operation) ? 0 : -1
    }

    /// The corresponding C function is `lstat`. `nil` if it failed.
    static func status(ofLink path: String) -> stat? { Files.systemStatus(ofLink: path) }

    /// The free space of a file system that is available to this user, in bytes; the corresponding
    /// C function is `statvfs`. `nil` if it failed.
    static func freeByteCount(at path: String) -> Int? {
        var status = statvfs()
        // SAFETY: the call fills the structure; the path is NUL-terminated.
        guard unsafe statvfs(path, &status) == 0 else { return nil }
        let (count, overflows) = Int(clamping: status.f_bavail)
            .multipliedReportingOverflow(by: Int(clamping: status.f_frsize))
        return overflows ? .max : count
    }

    /// Reads the first bytes of a file, at most `count`; none if reading fails. The corresponding C
    /// function is `pread`.
    static func read(_ descriptor: Int32, count: Int) -> [UInt8] {
        // SAFETY: the call writes only into the buffer.
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            initializedCount = unsafe max(pread(descriptor, buffer.baseAddress, count, 0), 0)
        }
    }

    // MARK: inotify

    /// Creates a non-blocking descriptor that isn't inherited by child processes; the corresponding
    /// C function is `inotify_init1`.
    static func makeNoticeQueue() -> Int32 {
        StandardStreams.moveAbove(inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC)))
    }

    /// The corresponding C function is `inotify_add_watch`.
    static func watch(_ path: String, for events: Int, noticesTo queue: Int32) -> Int32 {
        // SAFETY: the path is a NUL-terminated copy for the duration of the call.
        unsafe inotify_add_watch(queue, path, UInt32(truncatingIfNeeded: events))
    }

    /// Reads everything available from a non-blocking descriptor and discards it.
    static func drain(_ descriptor: Int32) {
        // SAFETY: the call writes only into the buffer.
        unsafe withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
            while unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
        }
    }
}
