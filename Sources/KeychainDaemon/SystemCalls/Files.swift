// Files: what the service asks the file system.
// A path with a NUL byte ends there, as in C; none of those that are used here can hold one.

import FoundationEssentials
import Glibc
import KeychainCrypto

/// What tells one state of a file from every other: only root can put `changed` back.
struct FileIdentity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    let size: Int64
    let modified: Int64
    let changed: Int64

    /// Whether it is the same file, and it was not written. Links and permissions may have changed.
    func isUnwritten(since other: FileIdentity) -> Bool {
        isSameFile(as: other) && size == other.size && modified == other.modified
    }

    /// Whether it is the same file, whatever happened to its content and its permissions.
    func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }
}

/// What the file system says of a file.
struct FileStatus: Hashable, Sendable {
    let identity: FileIdentity
    let owner: uid_t
    let mode: mode_t

    var isPlainFile: Bool { mode & S_IFMT == S_IFREG }
    var isFolder: Bool { mode & S_IFMT == S_IFDIR }
    var isSocket: Bool { mode & S_IFMT == S_IFSOCK }

    init(identity: FileIdentity, owner: uid_t, mode: mode_t) {
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

enum Files {
    /// O_PATH of fcntl.h: a descriptor for the file itself, not its content.
    private static let pathOnly: Int32 = 0o10_000_000

    /// The corresponding C function is `open`. nil: it failed, and `errno` says why.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> OwnedDescriptor? {
        // SAFETY: the path is a terminated copy for the duration of the call. So below.
        let descriptor = unsafe Glibc.open(path, flags | O_CLOEXEC, mode)
        return descriptor >= 0 ? OwnedDescriptor(descriptor) : nil
    }

    /// A descriptor that names a file and reads nothing.
    static func locate(_ path: String) -> OwnedDescriptor? { open(path, pathOnly) }

    /// The corresponding C function is `fstat`. nil: it failed.
    static func status(of descriptor: OwnedDescriptor) -> FileStatus? {
        var status = stat()
        // SAFETY: `status` is written by the call and read after it. So below.
        return unsafe fstat(descriptor.number, &status) == 0 ? FileStatus(status) : nil
    }

    /// The corresponding C function is `lstat`. nil: it failed.
    static func status(ofLink path: String) -> FileStatus? {
        var status = stat()
        // SAFETY: as above.
        return unsafe lstat(path, &status) == 0 ? FileStatus(status) : nil
    }

    /// The corresponding C function is `stat`. nil: it failed.
    static func status(of path: String) -> FileStatus? {
        var status = stat()
        // SAFETY: as above.
        return unsafe stat(path, &status) == 0 ? FileStatus(status) : nil
    }

    /// The corresponding C function is `readlink`. nil: it failed, or the path is no text.
    static func target(ofLink path: String) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX) + 1)
        // SAFETY: the array is written within its bounds, within the call.
        let count = unsafe bytes.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return -1 }
            return unsafe readlink(path, base.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        guard count > 0, count < bytes.count else { return nil }
        return String(validating: bytes[..<count], as: UTF8.self)
    }

    /// The whole of a file that is open, `limit` bytes at the most. nil: it is larger, or can't be
    /// read.
    static func content(of descriptor: OwnedDescriptor, atMost limit: Int) -> Data? {
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
    static func makeFolder(_ path: String, mode: mode_t) -> Bool {
        // SAFETY: as above.
        unsafe mkdir(path, mode) == 0
    }

    /// The corresponding C function is `chmod`.
    static func setMode(_ path: String, _ mode: mode_t) -> Bool {
        // SAFETY: as above.
        unsafe chmod(path, mode) == 0
    }

    /// The corresponding C function is `unlink`.
    @discardableResult
    static func remove(_ path: String) -> Bool {
        // SAFETY: as above.
        unsafe unlink(path) == 0
    }

    /// Takes the one lock of a file, if it is free. It lasts as long as the descriptor.
    ///
    /// The corresponding C function is `flock`.
    static func lock(_ descriptor: OwnedDescriptor) -> Bool {
        flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
    }
}
