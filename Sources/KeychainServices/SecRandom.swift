// SecRandom: random bytes from the system's generator.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A random number generator. There is one, ``kSecRandomDefault``.
public typealias SecRandomRef = OpaquePointer

// SAFETY: the constant is nil for ever; there is nothing to race for.
/// The system's cryptographic generator: nil, as at Apple.
@safe public nonisolated(unsafe) let kSecRandomDefault: SecRandomRef? = nil

/// Fills memory with random bytes.
///
/// The bytes come from the kernel's generator, which blocks only until it was seeded once after
/// start.
///
/// - Parameters:
///   - rnd: ``kSecRandomDefault``.
///   - count: The number of bytes, 0 and up.
///   - bytes: Where to put them: room for `count` bytes.
/// - Returns: ``errSecSuccess``; ``errSecParam`` for another generator or a negative count, with the
///   memory untouched; ``errSecInternalComponent`` if the kernel gave no bytes, in which case what
///   the memory holds must not be used.
///
/// It corresponds to the function of the same name. As there, a result that isn't looked at is a
/// warning.
public func SecRandomCopyBytes(
    _ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer
) -> Int32 {
    guard unsafe rnd == kSecRandomDefault, count >= 0 else { return errSecParam }
    // getentropy gives at most 256 bytes a call and, unlike getrandom, never fewer than asked for.
    let largestRequest = 256
    for offset in stride(from: 0, to: count, by: largestRequest) {
        // SAFETY: offset + length never exceeds count, the room that the caller vouches for.
        let result = unsafe getentropy(bytes + offset, min(largestRequest, count - offset))
        guard result == 0 else { return errSecInternalComponent }
    }
    return errSecSuccess
}

#endif
