// SystemMemory: what this module takes from the C library.
//   (1) Nothing else in this module depends on the platform, but that Foundation stands for
//       FoundationEssentials on Apple's platforms.
//   (2) There pages can't be left out of core dumps one by one; the system writes none unless it is
//       told to.

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Memory for secrets, as the platform gives it.
package enum SystemMemory {
    /// Zeroes memory, also where nothing reads it afterwards.
    static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller vouches for the bytes.
        #if canImport(Darwin)
        _ = unsafe memset_s(base, bytes.count, 0, bytes.count)
        #else
        unsafe explicit_bzero(base, bytes.count)
        #endif
    }

    /// Fills memory, 256 bytes at the most, from the system's random generator.
    package static func fillRandomly(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller vouches for the bytes.
        #if canImport(Darwin)
        unsafe arc4random_buf(base, bytes.count)
        #else
        // It fails only for a wrong size or address.
        let code = unsafe getentropy(base, bytes.count)
        precondition(code == 0, "the system's random generator failed")
        #endif
    }

    /// Sixteen bytes of the system's random generator, in one call of it.
    static func randomWords() -> (UInt64, UInt64) {
        var words: (UInt64, UInt64) = (0, 0)
        // SAFETY: the bytes are those of the tuple, of which every value is one.
        unsafe withUnsafeMutableBytes(of: &words) { unsafe fillRandomly($0) }
        return words
    }

    /// Zeroed pages, locked in memory and left out of core dumps where the system allows it.
    ///
    /// - Returns: The pages and whether they are locked.
    static func map(byteCount: Int) -> (pages: UnsafeMutableRawBufferPointer, isLocked: Bool) {
        // SAFETY: an anonymous private mapping aliases nothing; a failure is checked for below.
        let address = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        // `MAP_FAILED`, which is no pointer, is -1.
        guard let address = unsafe address, Int(bitPattern: address) != -1 else {
            // As with the allocator of the language: without memory there is no way on.
            preconditionFailure("out of memory for secrets")
        }
        let isLocked = unsafe mlock(address, byteCount) == 0
        #if !canImport(Darwin)
        _ = unsafe madvise(address, byteCount, MADV_DONTDUMP)
        #endif
        return unsafe (UnsafeMutableRawBufferPointer(start: address, count: byteCount), isLocked)
    }

    /// Gives pages back.
    static func unmap(_ pages: UnsafeMutableRawBufferPointer) {
        // SAFETY: the caller vouches that nothing uses them.
        _ = unsafe munmap(pages.baseAddress, pages.count)
    }
}
