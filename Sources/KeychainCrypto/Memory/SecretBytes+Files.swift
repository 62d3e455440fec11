// SecretBytes+Files: secrets to and from file descriptors, without a buffer in between.

import KeychainCore
package import Glibc

/// A read that failed; `errno` says why.
package struct ReadFailure: Error {}

extension SecretBytes {
    /// Reads to the end of the file, `limit` bytes at the most.
    ///
    /// - Throws: ``ReadFailure`` also when there is more, or a file grew meanwhile.
    package convenience init(
        readingFrom descriptor: Int32, atMost limit: Int
    ) throws(ReadFailure) {
        // A small file needs no buffer of the limit's size: locking memory takes time.
        let expected = Self.byteCount(ofFile: descriptor).map { min($0, limit) } ?? limit
        // SAFETY: nothing is written here; the block is zero.
        let buffer = unsafe SecretBytes(byteCount: expected + 1) { _ in }
        let count = try buffer.fill(from: descriptor)
        guard count <= expected else {
            errno = EFBIG
            throw ReadFailure()
        }
        // SAFETY: count bytes of the buffer were written by read(2).
        unsafe self.init(byteCount: count) { target in
            unsafe buffer.withUnsafeBytes {
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
        }
    }

    /// nil for what has no size, such as a pipe.
    private static func byteCount(ofFile descriptor: Int32) -> Int? {
        guard let status = Files.systemStatus(of: descriptor), status.st_mode & S_IFMT == S_IFREG
        else {
            return nil
        }
        return Int(status.st_size)
    }

    /// Only for a buffer that no other code has seen.
    private func fill(from descriptor: Int32) throws(ReadFailure) -> Int {
        var count = 0
        while count < self.count {
            // SAFETY: what is left of the block is filled.
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

    /// Writes all bytes. False when that failed; `errno` says why.
    package func write(to descriptor: Int32) -> Bool {
        // SAFETY: the bytes are read within the call.
        unsafe withUnsafeBytes { unsafe Descriptor.write(all: $0, to: descriptor) }
    }

    /// Writes the bytes at an offset of a file, as pwrite(2) does.
    package func write(to descriptor: Int32, at offset: off_t) -> Bool {
        // SAFETY: the bytes are read within the call.
        unsafe withUnsafeBytes { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
        }
    }
}

/// The system's text for an error number.
package func errorText(_ code: Int32) -> String {
    // SAFETY: strerror gives a terminated string that stays valid until this thread's next call.
    unsafe String(cString: strerror(code))
}

extension SecretBytes {
    /// The bytes as a plain array, for content that is no secret though it was read as one.
    package var plainBytes: [UInt8] {
        // SAFETY: copied within the call.
        unsafe withUnsafeBytes { unsafe Array($0) }
    }
}

extension [UInt8] {
    /// Writes the bytes at an offset of a file, as pwrite(2) does.
    @discardableResult
    package func withPlainBytes(writeTo descriptor: Int32, at offset: off_t) -> Bool {
        // SAFETY: the buffer is used within the call only.
        unsafe withUnsafeBytes { bytes in
            unsafe pwrite(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
        }
    }
}

extension [UInt8] {
    /// The next bytes of a file, none at its end.
    /// - Throws: ``ReadFailure``
    package init(readingFrom descriptor: Int32, atMost limit: Int) throws(ReadFailure) {
        var bytes = [UInt8](repeating: 0, count: limit)
        // SAFETY: the array is written within its bounds, within the call.
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe Descriptor.read(into: $0, from: descriptor)
        }
        guard count >= 0 else { throw ReadFailure() }
        bytes.removeLast(limit - count)
        self = bytes
    }
}
