// SystemMemory: the functions of the C library for memory and random bytes.
//   (1) Outside this file, only import statements in this module depend on the platform: Foundation
//       is imported instead of FoundationEssentials on Apple's platforms, and Glibc is imported for
//       `memcmp` on other platforms.
//   (2) On Apple's platforms, individual pages can't be excluded from core dumps. Those systems
//       write no core dumps by default.

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Memory for secrets, and random bytes, from the platform's functions.
package enum SystemMemory {
    /// Zeroes memory. The compiler doesn't optimize this away, even if nothing reads the memory
    /// again.
    static func erase(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller guarantees that the bytes are valid.
        #if canImport(Darwin)
        _ = unsafe memset_s(base, bytes.count, 0, bytes.count)
        #else
        unsafe explicit_bzero(base, bytes.count)
        #endif
    }

    /// Fills at most 256 bytes of memory from the system's random number generator.
    package static func fillRandomly(_ bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        // SAFETY: the caller guarantees that the bytes are valid.
        #if canImport(Darwin)
        unsafe arc4random_buf(base, bytes.count)
        #else
        // `getentropy` fails only for an invalid size or address.
        let code = unsafe getentropy(base, bytes.count)
        precondition(code == 0, "the system's random generator failed")
        #endif
    }

    /// Reads sixteen bytes from the system's random number generator in one call.
    static func randomWords() -> (UInt64, UInt64) {
        var words: (UInt64, UInt64) = (0, 0)
        // SAFETY: the bytes are those of the tuple, for which all bit patterns are valid.
        unsafe withUnsafeMutableBytes(of: &words) { unsafe fillRandomly($0) }
        return words
    }

    /// Maps zeroed pages, which are locked in memory and excluded from core dumps if the system
    /// permits it.
    ///
    /// - Returns: The pages and whether they are locked.
    static func map(byteCount: Int) -> (pages: UnsafeMutableRawBufferPointer, isLocked: Bool) {
        // SAFETY: an anonymous private mapping aliases nothing, and failure is checked for below.
        let address = unsafe mmap(
            nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
        // `MAP_FAILED` is -1, which is not a valid pointer.
        guard let address = unsafe address, Int(bitPattern: address) != -1 else {
            // The same as in Swift's allocator: the process can't continue without memory.
            preconditionFailure("out of memory for secrets")
        }
        let isLocked = unsafe mlock(address, byteCount) == 0
        #if !canImport(Darwin)
        _ = unsafe madvise(address, byteCount, MADV_DONTDUMP)
        #endif
        return unsafe (UnsafeMutableRawBufferPointer(start: address, count: byteCount), isLocked)
    }

    /// Unmaps pages.
    static func unmap(_ pages: UnsafeMutableRawBufferPointer) {
        // SAFETY: the caller guarantees that nothing uses the pages.
        _ = unsafe munmap(pages.baseAddress, pages.count)
    }
}
