// MemoryFunctions: wiping and comparing secrets, which Apple's C library has and Linux's hasn't.
// `import Security` brings them here, because code that keeps secrets calls them.

// swift-format-ignore-file: AlwaysUseLowerCamelCase, NoLeadingUnderscores

#if canImport(Glibc) || canImport(Musl)

#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A number of the C library's errors; 0 is none.
public typealias errno_t = Int32

/// A size that is checked: one that would be negative is no size.
public typealias rsize_t = Int

/// Fills memory, also where nothing reads it afterwards.
///
/// - Parameters:
///   - s: The memory.
///   - smax: Its size in bytes, 0 and up.
///   - c: The byte to fill it with, the low 8 bits.
///   - n: How many bytes to fill, `smax` at the most.
/// - Returns: 0; `EINVAL` without memory and `E2BIG` for a negative size, with nothing written;
///   `EOVERFLOW` for an `n` that is negative or greater than `smax`, with all of the memory filled.
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
    // SAFETY: `count` is at most `smax`, the size that the caller vouches for. Zeroing comes first
    // because no optimizer leaves it out; the other byte may then be left out where no code reads
    // it.
    unsafe explicit_bzero(s, count)
    if c & 0xFF != 0 { unsafe memset(s, c, count) }
    return isWithin ? 0 : EOVERFLOW
}

/// Compares memory in a time that depends on the length alone.
///
/// - Parameters:
///   - b1: The first byte of one.
///   - b2: The first byte of the other.
///   - len: The number of bytes of each, 0 and up.
/// - Returns: 0 if all bytes are equal, otherwise another number, also for a negative length and
///   where there is no memory.
///
/// It corresponds to the function of the same name.
public func timingsafe_bcmp(
    _ b1: UnsafeRawPointer!, _ b2: UnsafeRawPointer!, _ len: Int
) -> Int32 {
    guard len >= 0 else { return 1 }
    guard len > 0 else { return 0 }
    guard let b1 = unsafe b1, let b2 = unsafe b2 else { return 1 }
    var difference: UInt8 = 0
    for offset in 0..<len {
        // SAFETY: the offset is below the length that the caller vouches for.
        unsafe difference |=
            b1.load(fromByteOffset: offset, as: UInt8.self)
            ^ b2.load(fromByteOffset: offset, as: UInt8.self)
    }
    return difference == 0 ? 0 : 1
}

#endif
