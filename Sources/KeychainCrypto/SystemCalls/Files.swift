// Files: operations on files and folders, by path or descriptor.
// As in C, a path ends at its first NUL byte.

package import FoundationEssentials
package import Glibc

/// Identifies a state of a file. The owner can set the time `modified` back. To set `changed` back,
/// root has to set the system's clock back. States of the same size within one tick of the file
/// system's clock are not distinguished.
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let size: Int64
    package let modified: Int64
    package let changed: Int64

    package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }

    /// Whether this is the same file and has not been written, according to its size and
    /// modification time. Links and permissions can have changed.
    package func isUnwritten(since other: FileIdentity) -> Bool {
        isSameFile(as: other) && size == other.size && modified == other.modified
    }

    /// Whether this is the same file, regardless of changes to its content and permissions.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// The status of a file in the file system.
package struct FileStatus: Hashable, Sendable {
    package let identity: FileIdentity
    package let owner: uid_t
    package let mode: mode_t

    package var isPlainFile: Bool { mode & S_IFMT == S_IFREG }
    package var isFolder: Bool { mode & S_IFMT == S_IFDIR }
    package var isSocket: Bool { mode & S_IFMT == S_IFSOCK }

    package init(identity: FileIdentity, owner: uid_t, mode: mode_t) {
        self.identity = identity
        self.owner = owner
        self.mode = mode
    }

    fileprivate init(_ status: stat) {
        func nanoseconds(_ time: timespec) -> Int64 {
            Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        }
        identity = FileIdentity(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino),
            size: Int64(status.st_size), modified: nanoseconds(status.st_mtim),
            changed: nanoseconds(status.st_ctim))
        owner = status.st_uid
        mode = status.st_mode
    }
}

package enum Files {
    /// O_PATH of fcntl.h: a descriptor of the file itself, without access to its content.
    private static let pathOnly: Int32 = 0o10_000_000

    /// The corresponding C function is `open`. Returns `nil` if it failed; `errno` contains the
    /// reason.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> OwnedDescriptor? {
        let descriptor = openNumber(path, flags, mode: mode)
        return descriptor >= 0 ? OwnedDescriptor(descriptor) : nil
    }

    /// Opens a file and returns a descriptor that the caller must close. It is not inherited, and
    /// is never a standard stream's number. Returns -1 if opening failed; `errno` contains the
    /// reason.
    package static func openNumber(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
        // SAFETY: the path is a null-terminated copy for the duration of the call, here and below.
        StandardStreams.moveAbove(unsafe Glibc.open(path, flags | O_CLOEXEC, mode))
    }

    /// Returns a descriptor that refers to the file at `path` but can't be used to read it. Returns
    /// `nil` if it failed.
    package static func locate(_ path: String) -> OwnedDescriptor? { open(path, pathOnly) }

    /// The corresponding C function is `fstat`. Returns `nil` if it failed.
    package static func status(of descriptor: OwnedDescriptor) -> FileStatus? {
        systemStatus(of: descriptor.number).map(FileStatus.init)
    }

    package static func systemStatus(of descriptor: Int32) -> stat? {
        var status = stat()
        // SAFETY: `status` is written during the call and read after it, here and below.
        return unsafe fstat(descriptor, &status) == 0 ? status : nil
    }

    /// The corresponding C function is `lstat`. Returns `nil` if it failed.
    package static func status(ofLink path: String) -> FileStatus? {
        systemStatus(ofLink: path).map(FileStatus.init)
    }

    package static func systemStatus(ofLink path: String) -> stat? {
        var status = stat()
        // SAFETY: as above.
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    /// The corresponding C function is `stat`. Returns `nil` if it failed.
    package static func status(of path: String) -> FileStatus? {
        var status = stat()
        // SAFETY: as above.
        return unsafe stat(path, &status) == 0 ? FileStatus(status) : nil
    }

    /// Whether anything exists at a path. Links are followed. Also `true` if the system can't tell
    /// whether anything exists, for example because this process may not examine the path.
    package static func isThere(_ path: String) -> Bool {
        status(of: path) != nil || (errno != ENOENT && errno != ENOTDIR)
    }

    /// The corresponding C function is `access` with `W_OK`. If it returns `false`, `errno`
    /// contains the reason.
    package static func mayWrite(_ path: String) -> Bool {
        // SAFETY: as above.
        unsafe access(path, W_OK) == 0
    }

    /// The corresponding C function is `access` with `X_OK`. If it returns `false`, `errno`
    /// contains the reason.
    package static func mayExecute(_ path: String) -> Bool {
        // SAFETY: as above.
        unsafe access(path, X_OK) == 0
    }

    /// The corresponding C function is `readlink`. Returns `nil` if it failed, or the target is not
    /// UTF-8.
    package static func target(ofLink path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        // SAFETY: the array is written within its bounds, during the call.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return -1 }
            return unsafe readlink(path, base.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        guard count > 0, count < bytes.count else { return nil }
        return String(validating: bytes[..<count], as: UTF8.self)
    }

    /// Reads the rest of an open file, at most `limit` bytes. Returns `nil` if there is more, or if
    /// reading failed.
    package static func content(of descriptor: OwnedDescriptor, atMost limit: Int) -> Data? {
        var content = Data()
        while true {
            guard
                let part = try? [UInt8](
                    readingFrom: descriptor.number, atMost: limit + 1 - content.count)
            else { return nil }
            if part.isEmpty { return content }
            content += part
            if content.count > limit { return nil }
        }
    }

    /// The corresponding C function is `mkdir`.
    @discardableResult
    package static func makeFolder(_ path: String, mode: mode_t) -> Bool {
        // SAFETY: as above.
        unsafe mkdir(path, mode) == 0
    }

    /// The corresponding C function is `chmod`.
    package static func setMode(_ path: String, _ mode: mode_t) -> Bool {
        // SAFETY: as above.
        unsafe chmod(path, mode) == 0
    }

    /// The corresponding C function is `unlink`.
    @discardableResult
    package static func remove(_ path: String) -> Bool {
        // SAFETY: as above.
        unsafe unlink(path) == 0
    }

    /// The corresponding C function is `rmdir`.
    package static func removeFolder(_ path: String) -> Bool {
        // SAFETY: as above.
        unsafe rmdir(path) == 0
    }

    /// The corresponding C function is `rename`.
    package static func rename(_ old: String, _ new: String) -> Bool {
        // SAFETY: as above.
        unsafe Glibc.rename(old, new) == 0
    }

    /// Creates a second name for a file, unless the name exists. The corresponding C function is
    /// `link`.
    package static func link(_ path: String, as name: String) -> Bool {
        // SAFETY: as above.
        unsafe Glibc.link(path, name) == 0
    }

    /// Moves the position of a descriptor to the start. Returns `false` if that is impossible, as
    /// for a pipe.
    package static func seekToStart(_ descriptor: Int32) -> Bool {
        lseek(descriptor, 0, SEEK_SET) == 0
    }

    /// Reserves disk space up to an offset of a file without changing the file's size. The
    /// corresponding C function is `fallocate`, which is missing from Swift's Glibc module.
    ///
    /// - Returns: `false` if that failed, for example because there is not enough space; `errno`
    ///   contains the reason. If the file system can't reserve space, returns `true`.
    package static func keepRoom(in descriptor: OwnedDescriptor, until end: Int64) -> Bool {
        typealias Call = @convention(c) (Int32, Int32, off_t, off_t) -> Int32
        // SAFETY: the symbol is glibc's function of this type, and no pointer is passed to it.
        guard let symbol = unsafe dlsym(nil, "fallocate") else { return true }
        let call = unsafe unsafeBitCast(symbol, to: Call.self)
        while call(descriptor.number, keepsSize, 0, off_t(end)) != 0 {
            if errno == EOPNOTSUPP || errno == ENOSYS { return true }
            guard errno == EINTR else { return false }
        }
        return true
    }

    /// FALLOC_FL_KEEP_SIZE of linux/falloc.h.
    private static let keepsSize: Int32 = 1

    /// Takes the exclusive lock of a file if it is free. The lock lasts as long as the descriptor.
    package static func lock(_ descriptor: OwnedDescriptor) -> Bool {
        lock(descriptor.number, LOCK_EX | LOCK_NB)
    }

    /// The corresponding C function is `flock`, which is retried after a signal.
    package static func lock(_ descriptor: Int32, _ operation: Int32) -> Bool {
        while true {
            if flock(descriptor, operation) == 0 { return true }
            guard errno == EINTR else { return false }
        }
    }
}
