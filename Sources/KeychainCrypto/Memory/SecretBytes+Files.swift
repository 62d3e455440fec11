// SecretBytes+Files: reads secrets from file descriptors into locked memory, and writes them from
// there; reads and writes ordinary bytes; and describes the system's errors.

import KeychainCore
package import Glibc

/// A failed read; `errno` contains the reason.
package struct ReadFailure: Error {}

extension SecretBytes {
    /// Reads to the end of the file, at most `limit` bytes.
    ///
    /// - Throws: ``ReadFailure``, also if the file has more bytes than `limit`, or grew during the
    ///   read.
    package convenience init(
        readingFrom descriptor: Int32, atMost limit: Int
    ) throws(ReadFailure) {
        // A small file doesn't get a buffer of the limit's size, because locking memory takes time.
        let expected = Self.byteCount(ofFile: descriptor).map { min($0, limit) } ?? limit
        // SAFETY: nothing is written here. The block is zeroed.
        let buffer = unsafe SecretBytes(byteCount: expected + 1) { _ in }
        let count = try buffer.fill(from: descriptor)
        guard count <= expected else {
            errno = EFBIG
            throw ReadFailure()
        }
        // SAFETY: read(2) wrote `count` bytes of the buffer.
        unsafe self.init(byteCount: count) { target in
            unsafe buffer.withUnsafeBytes {
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
        }
    }

    /// Returns `nil` for descriptors without a size, such as pipes.
    private static func byteCount(ofFile descriptor: Int32) -> Int? {
        guard let status = Files.systemStatus(of: descriptor), status.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        return Int(status.st_size)
    }

    /// Fills a buffer to which no other code has a reference yet.
    private func fill(from descriptor: Int32) throws(ReadFailure) -> Int {
        var count = 0
        while count < self.count {
            // SAFETY: only the remaining part of the block is written.
            let result = unsafe withUnsafeBytes { bytes in
                let rest = unsafe UnsafeMutableRawBufferPointer(
                    mutating: UnsafeRawBufferPointer(rebasing: bytes[count...]))
                return unsafe Descriptor.read(into: rest, from: descriptor)
            }
            if result == 0 { break }
            guard result > 0 else { throw ReadFailure() }
            count += result
        }
        return count
    }

    /// Writes all bytes. Returns `false` if that failed; `errno` contains the reason.
    package func write(to descriptor: Int32) -> Bool {
        // SAFETY: the bytes are read during the call.
        unsafe withUnsafeBytes { unsafe Descriptor.write(all: $0, to: descriptor) }
    }

    /// Writes the bytes at an offset of a file, as pwrite(2) does. Returns `false` if not all were
    /// written.
    package func write(to descriptor: Int32, at offset: off_t) -> Bool {
        // SAFETY: the bytes are read during the call.
        unsafe withUnsafeBytes { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
        }
    }
}

/// The system's message for an error number.
package func errorText(_ code: Int32) -> String {
    // SAFETY: strerror returns a null-terminated string that is valid until this thread's next
    // call.
    unsafe String(cString: strerror(code))
}

extension SecretBytes {
    /// A copy of the bytes in an ordinary array, outside locked memory. For content that is not
    /// secret although it was read as a secret, and for uses that need ordinary memory.
    package var plainBytes: [UInt8] {
        // SAFETY: the bytes are copied during the call.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

extension [UInt8] {
    /// Writes the bytes at an offset of a file, as pwrite(2) does. Returns `false` if not all were
    /// written.
    @discardableResult
    package func withPlainBytes(writeTo descriptor: Int32, at offset: off_t) -> Bool {
        // SAFETY: the buffer is used only during the call.
        unsafe withUnsafeBytes { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
        }
    }
}

extension [UInt8] {
    /// Reads the next bytes of a file, at most `limit`. The array is empty at the end of the file.
    /// - Throws: ``ReadFailure``
    package init(readingFrom descriptor: Int32, atMost limit: Int) throws(ReadFailure) {
        var bytes = [UInt8](repeating: 0, count: limit)
        // SAFETY: the array is written within its bounds, during the call.
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe Descriptor.read(into: $0, from: descriptor)
        }
        guard count >= 0 else { throw ReadFailure() }
        bytes.removeLast(limit - count)
        self = bytes
    }
}
