// Descriptor+Reading: bytes from file descriptors, and what is in the file system.

import Glibc
import KeychainAuthentication
import KeychainCrypto

extension Descriptor {
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
                    .failure, "Can't read descriptor \(descriptor): \(errorText(errno)).")
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else {
                throw ControlFailure(.failure, "The value is larger than \(limit) bytes.")
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
