// Descriptor: bytes from and to file descriptors.

import Glibc
import KeychainCrypto

enum Descriptor {
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

    /// Writes all bytes. False when that failed; `errno` says why.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var offset = 0
        while offset < bytes.count {
            // SAFETY: the range offset..<count lies in the array.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    descriptor, buffer.baseAddress.map { unsafe $0 + offset },
                    buffer.count - offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            offset += count
        }
        return true
    }

    static func isTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1
    }
}

enum FileSystem {
    /// Whether there is a file or folder that this process may see.
    static func isThere(_ path: String) -> Bool {
        // SAFETY: the path is a terminated copy for the duration of the call.
        unsafe access(path, F_OK) == 0
    }
}
