// SalvageSource: the sources that salvage reads from: memory, or a file on disk.
//   (1) Files are read without memory mapping. A mapping would terminate the process with SIGBUS at
//       an unreadable sector or when the file is truncated. A read reports an error instead, and
//       the bytes count as zero.
//   (2) The descriptor is owned by one object and closed with it.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif

/// The bytes of a file that may be damaged.
package protocol SalvageSource: Sendable {
    /// The length of the file in bytes when the source was created.
    var byteCount: UInt64 { get }

    /// Replaces the contents of `buffer[start...]` with the bytes at `offset`.
    ///
    /// Bytes past the end of the file and unreadable bytes are zero, so that one unreadable sector
    /// doesn't cost the rest of its page.
    func read(at offset: UInt64, into buffer: inout [UInt8], from start: Int)
}

/// A source in memory.
package struct MemorySource: SalvageSource {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package var byteCount: UInt64 {
        UInt64(bytes.count)
    }

    package func read(at offset: UInt64, into buffer: inout [UInt8], from start: Int) {
        guard start >= 0, start < buffer.count else { return }
        var available = 0
        if offset < byteCount {
            let first = Int(offset)
            available = min(bytes.count - first, buffer.count - start)
            buffer.replaceSubrange(
                start..<(start + available), with: bytes[first..<(first + available)])
        }
        for position in (start + available)..<buffer.count {
            buffer[position] = 0
        }
    }
}

// MARK: - Files

/// The error for a file that can't be opened for reading.
package struct SalvageFileError: Error, Hashable, Sendable {
    /// The `errno` of the system call that failed.
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }
}

/// A file on disk that is read directly.
///
/// Closing any descriptor of a file releases all POSIX locks that the process has on it, including
/// SQLite's. While this process has a file open through SQLite, salvage a copy.
package final class DamagedFile: SalvageSource {
    private let descriptor: Int32
    package let byteCount: UInt64

    /// The unit that a disk reads or fails to read as a whole.
    private static let sectorByteCount = 512

    /// Opens the file for reading.
    ///
    /// - Throws: ``SalvageFileError`` if the file can't be opened or is not seekable, such as a
    ///   pipe.
    package init(path: String) throws(SalvageFileError) {
        // SAFETY: the path is a NUL-terminated string for the duration of the call. With
        // O_NONBLOCK, a pipe in the file's place doesn't block the caller.
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard opened >= 0 else { throw SalvageFileError(code: errno) }
        let end = lseek(opened, 0, SEEK_END)
        guard end >= 0 else {
            let code = errno
            _ = close(opened)
            throw SalvageFileError(code: code)
        }
        descriptor = opened
        byteCount = UInt64(end)
    }

    deinit {
        _ = close(descriptor)
    }

    package func read(at offset: UInt64, into buffer: inout [UInt8], from start: Int) {
        guard start >= 0, start < buffer.count else { return }
        var position = start
        while position < buffer.count {
            let done = readOnce(
                at: offset &+ UInt64(position - start), into: &buffer, position, buffer.count)
            if done > 0 {
                position += done
            } else if done == 0 {
                break
            } else {
                // The disk can't read this range. It is read sector by sector, with zeros for
                // unreadable ones.
                let end = min(position + Self.sectorByteCount, buffer.count)
                let sector = readOnce(
                    at: offset &+ UInt64(position - start), into: &buffer, position, end)
                if sector > 0 {
                    position += sector
                } else {
                    for refused in position..<end { buffer[refused] = 0 }
                    position = end
                }
            }
        }
        for missing in position..<buffer.count { buffer[missing] = 0 }
    }

    /// One `pread` of `buffer[start..<end]`. Returns the number of bytes read, 0 at the end of the
    /// file, -1 for an error.
    private func readOnce(
        at offset: UInt64, into buffer: inout [UInt8], _ start: Int, _ end: Int
    ) -> Int {
        guard let offset = off_t(exactly: offset), start < end else { return 0 }
        let descriptor = descriptor
        // SAFETY: the pointer stays inside `buffer[start..<end]` and does not leave the closure.
        return unsafe buffer.withUnsafeMutableBytes { bytes in
            let target = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end])
            while true {
                let done = unsafe pread(descriptor, target.baseAddress, target.count, offset)
                if done < 0, errno == EINTR { continue }
                return done
            }
        }
    }
}
