// SalvageSource: where the salvage reads its bytes from.

/// The bytes of a file that may be damaged.
package protocol SalvageSource: Sendable {
    /// The length of the file in bytes, as it was when the source was made.
    var byteCount: UInt64 { get }

    /// Replaces the contents of `buffer[start...]` with the bytes from `offset` on.
    ///
    /// Bytes past the end of the file and bytes that the medium does not give are zero: one
    /// unreadable sector must not cost the rest of its page.
    func read(at offset: UInt64, into buffer: inout [UInt8], from start: Int)
}

/// Bytes in memory as a source.
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
