// MemoryFunctions: functions that erase or compare secrets. Apple's C library has them, those of
// Linux don't. They are declared here, because code that handles secrets calls them.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NoLeadingUnderscores

#if canImport(Glibc) || canImport(Musl)

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// An error number of the C library, or 0 for success.
public typealias errno_t = Int32

/// A size in bytes. ``memset_s(_:_:_:_:)`` checks that it isn't negative.
public typealias rsize_t = Int

/// Fills memory. Unlike with `memset`, the old contents are always overwritten, even if the memory
/// isn't read afterwards. Memory that isn't read afterwards may contain zeros instead of `c`.
///
/// - Parameters:
///   - s: The memory.
///   - smax: The size of the memory in bytes, at least 0.
///   - c: The byte to fill with. Only the low 8 bits are used.
///   - n: The number of bytes to fill, at most `smax`.
/// - Returns: 0 on success; `EINVAL` if `s` is `nil` and `E2BIG` if `smax` is negative, both
///   without writing anything; `EOVERFLOW` if `n` is negative or greater than `smax`, after filling
///   all `smax` bytes.
///
/// It corresponds to the function of the same name in Annex K of ISO C 11.
@discardableResult
public func memset_s(
    _ s: UnsafeMutableRawPointer!, _ smax: rsize_t, _ c: Int32, _ n: rsize_t
) -> errno_t {
    guard let s = unsafe s else { return EINVAL }
    guard smax >= 0 else { return E2BIG }
    let isWithin = (0...smax).contains(n)
    let count = isWithin ? n : smax
    // SAFETY: `count` is at most `smax`, the size that the caller guarantees. `explicit_bzero`
    // zeroes the memory first, because compilers never remove this call. They may remove the
    // `memset` that follows if the memory isn't read.
    unsafe explicit_bzero(s, count)
    if c & 0xFF != 0 { unsafe memset(s, c, count) }
    return isWithin ? 0 : EOVERFLOW
}

/// Compares memory in constant time: the time depends only on the length.
///
/// - Parameters:
///   - b1: The first memory area.
///   - b2: The second memory area.
///   - len: The size of both in bytes, at least 0.
/// - Returns: 0 if all bytes are equal, otherwise a nonzero number. The result is also nonzero if
///   `len` is negative, or if it is positive and a pointer is `nil`.
///
/// It corresponds to Apple's function of the same name.
public func timingsafe_bcmp(
    _ b1: UnsafeRawPointer!, _ b2: UnsafeRawPointer!, _ len: Int
) -> Int32 {
    guard len >= 0 else { return 1 }
    guard len > 0 else { return 0 }
    guard let b1 = unsafe b1, let b2 = unsafe b2 else { return 1 }
    var difference: UInt8 = 0
    for offset in 0..<len {
        // SAFETY: the offset is below the length that the caller guarantees.
        unsafe difference |=
            b1.load(fromByteOffset: offset, as: UInt8.self)
            ^ b2.load(fromByteOffset: offset, as: UInt8.self)
    }
    return difference == 0 ? 0 : 1
}

#endif
