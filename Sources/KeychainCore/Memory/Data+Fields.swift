// Data+Fields: fields of fixed size at fixed places, read where they lie.
//   (1) A read that goes past the end gives nil, or false; no input traps.
//   (2) Slices of `Data` cost more than all else in the opening of a row. Nothing here makes one.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
import Glibc
#endif

extension Data {
    // The number at an offset from the first byte, most significant byte first. One method a width: other
    // modules call a generic one unspecialized.
    package func uint32(at offset: Int) -> UInt32? { number(at: offset) }
    package func uint64(at offset: Int) -> UInt64? { number(at: offset) }

    private func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int) -> Number? {
        guard offset >= 0, count - offset >= MemoryLayout<Number>.size else { return nil }
        // SAFETY: the number lies within the bytes, which stay in place for the call.
        return unsafe withUnsafeBytes {
            Number(bigEndian: unsafe $0.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
    }

    /// Appends a number, most significant byte first.
    package mutating func append(bigEndian number: some FixedWidthInteger & BitwiseCopyable) {
        // SAFETY: the buffer is used within the call.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// Whether all bytes from an offset on are zero.
    package func isZero(from offset: Int) -> Bool {
        // SAFETY: the subscripts are checked against the buffer.
        unsafe withUnsafeBytes { bytes in
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
        // SAFETY: both buffers are used within the call, and as long as is compared.
        return unsafe withUnsafeBytes { bytes in
            unsafe other.withUnsafeBytes { other in
                unsafe UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - other.count)...])
                    .elementsEqual(other)
            }
        }
    }

    /// A copy of a part, counted from the first byte, that keeps none of the other bytes in memory.
    package func copy(of range: Range<Int>) -> Data {
        // SAFETY: the range is checked against the buffer, and copied within the call.
        unsafe withUnsafeBytes { unsafe Data(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// A part as an array, counted from the first byte.
    package func array(of range: Range<Int>) -> [UInt8] {
        // SAFETY: the range is checked against the buffer, and copied within the call.
        unsafe withUnsafeBytes { unsafe [UInt8](UnsafeRawBufferPointer(rebasing: $0[range])) }
    }
}

extension ByteReader {
    /// The next `count` bytes as text. nil also where they are no UTF-8.
    package mutating func text(_ count: Int) -> String? {
        guard let bytes = slice(count) else { return nil }
        // SAFETY: both buffers are used within their calls, and as long as is compared.
        return unsafe bytes.withUnsafeBytes { bytes in
            var text = unsafe String(decoding: bytes, as: UTF8.self)
            // What was no UTF-8 was replaced.
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
    /// Appends a number, most significant byte first.
    mutating func append(bigEndian number: some FixedWidthInteger & BitwiseCopyable) {
        // SAFETY: the buffer is used within the call.
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }
}
