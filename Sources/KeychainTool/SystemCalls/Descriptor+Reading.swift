// Descriptor+Reading: bytes from file descriptors, and what is in the file system.

import Glibc
import KeychainAuthentication
import KeychainCrypto

extension Descriptor {
    /// Whether what is read from one descriptor is gone for the other: they are one, or both are
    /// the same pipe or socket.
    static func isSameInput(_ first: Int32, _ second: Int32) -> Bool {
        if first == second { return true }
        var (a, b) = (stat(), stat())
        // SAFETY: both structures are filled within the calls.
        guard unsafe fstat(first, &a) == 0, unsafe fstat(second, &b) == 0 else { return false }
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino
            && [S_IFIFO, S_IFSOCK].contains(a.st_mode & S_IFMT)
    }

    /// Reads to the end.
    /// - Throws: Also when there are more than `limit` bytes.
    static func readToEnd(of descriptor: Int32, atMost limit: Int) throws(ControlFailure) -> [UInt8]
    {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            // SAFETY: the chunk is written within its bounds, within the call.
            let count = unsafe chunk.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw ControlFailure(
                    .failure,
                    "Can't read descriptor \(descriptor): \(errorText(errno)). Name one that is open "
                        + "for reading.")
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw ControlFailure(
                    .failure,
                    "The input is larger than \(limit) bytes, the most that an item holds. Nothing was "
                        + "saved. Keep it in a file, under a key that the keychain holds.")
            }
            bytes += chunk[..<count]
        }
    }
}

enum FileSystem {
    /// Whether there is a file or folder that this process may see.
    static func isThere(_ path: String) -> Bool {
        // SAFETY: the path is a terminated copy for the duration of the call.
        unsafe access(path, F_OK) == 0
    }
}
