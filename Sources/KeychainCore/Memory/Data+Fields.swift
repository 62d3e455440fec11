// Data+Fields: reads numbers, ranges of bytes and text directly from the buffer that contains them,
// and appends numbers.
//   (1) If too few bytes are left, `uint32`, `uint64` and `text` return `nil`. `ends(with:)`
//       returns `false` if its argument is longer than the data.
//   (2) The offset of `isZero` and the ranges of `copy` and `array` must lie within the bytes. This
//       is checked, in release builds too: a buffer's own checks are for debug builds only.
//   (3) Slices of `Data` cost more than the rest of opening a row. Nothing here creates one.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
import Glibc
#endif

extension Data {
    // Reads the big-endian number at an offset from the first byte. One method per width: other
    // modules would call a generic method unspecialized.
    package func uint32(at offset: Int) -> UInt32? { number(at: offset) }
    package func uint64(at offset: Int) -> UInt64? { number(at: offset) }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number? {
        guard offset >= 0, count - offset >= MemoryLayout<Number>.size else { return nil }
        // SAFETY: the number lies within the bytes, which stay in place during the call.
        return unsafe withUnsafeBytes {
            Number(bigEndian: unsafe $0.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
    }

    /// Appends a number in big-endian order.
    package mutating func append(bigEndian number: some FixedWidthInteger & BitwiseCopyable) {
        // SAFETY: the buffer is used only during the call.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// Whether all bytes from `offset` on are zero.
    package func isZero(from offset: Int) -> Bool {
        precondition((0...count).contains(offset), "the offset is outside the bytes")
        // SAFETY: the offset was checked, and every subscript is below the count.
        return unsafe withUnsafeBytes { bytes in
            var sum: UInt8 = 0
            var index = offset
            while index < bytes.count {
                unsafe sum |= bytes[index]
                index += 1
            }
            return sum == 0
        }
    }

    package func ends(with other: [UInt8]) -> Bool {
        guard count >= other.count else { return false }
        // SAFETY: both buffers are used only during the call, and have at least the compared
        // length.
        return unsafe withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                unsafe UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - other.count)...])
                    .elementsEqual(other)
            }
        }
    }

    private func holds(_ range: Range<Int>) -> Bool {
        range.lowerBound >= 0 && range.upperBound <= count
    }

    /// Copies a range of bytes, counted from the first byte. The copy doesn't keep the other bytes
    /// in memory.
    package func copy(of range: Range<Int>) -> Data {
        precondition(holds(range), "the range is outside the bytes")
        // SAFETY: the range was checked, and is copied during the call.
        return unsafe withUnsafeBytes { unsafe Data(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Copies a range of bytes, counted from the first byte, to an array.
    package func array(of range: Range<Int>) -> [UInt8] {
        precondition(holds(range), "the range is outside the bytes")
        // SAFETY: the range was checked, and is copied during the call.
        return unsafe withUnsafeBytes {
            unsafe [UInt8](UnsafeRawBufferPointer(rebasing: $0[range]))
        }
    }
}

extension ByteReader {
    /// Reads the next `count` bytes as text. Returns `nil` if fewer are left or they are not UTF-8.
    package mutating func text(_ count: Int) -> String? {
        guard let bytes = slice(count) else { return nil }
        // SAFETY: both buffers are used only during their calls, and have at least the compared
        // length.
        return unsafe bytes.withUnsafeBytes { bytes in
            var text = unsafe String(decoding: bytes, as: UTF8.self)
            // `String(decoding:as:)` replaces invalid UTF-8, so the text then differs from the
            // bytes.
            let isSame = text.withUTF8 { found in
                guard found.count == bytes.count, let base = bytes.baseAddress,
                    let other = found.baseAddress
                else { return found.count == bytes.count }
                return unsafe memcmp(base, other, bytes.count) == 0
            }
            return isSame ? text : nil
        }
    }
}

extension [UInt8] {
    /// Appends a number in big-endian order.
    mutating func append(bigEndian number: some FixedWidthInteger & BitwiseCopyable) {
        // SAFETY: the buffer is used only during the call.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }
}
