// SecRandom: random bytes from the system's generator.

// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if !canImport(Darwin)

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A random number generator. The only one is ``kSecRandomDefault``.
public typealias SecRandomRef = OpaquePointer

// SAFETY: the constant is always nil, so there can be no data race.
/// The system's cryptographic random number generator: `nil`, as on Apple platforms.
@safe public nonisolated(unsafe) let kSecRandomDefault: SecRandomRef? = nil

/// Fills memory with random bytes.
///
/// The bytes come from the kernel's generator. It blocks only if it hasn't been seeded yet after
/// the system started.
///
/// - Parameters:
///   - rnd: ``kSecRandomDefault``.
///   - count: The number of bytes, at least 0.
///   - bytes: The memory to fill, at least `count` bytes.
/// - Returns: ``errSecSuccess``; ``errSecParam`` for another generator or a negative count, with
///   the memory unchanged; ``errSecInternalComponent`` if the kernel returned no bytes, in which
///   case the contents of the memory must not be used.
///
/// This function corresponds to Apple's function of the same name. As with Apple's, ignoring the
/// result causes a compiler warning.
public func SecRandomCopyBytes(
    _ rnd: SecRandomRef?, _ count: Int, _ bytes: UnsafeMutableRawPointer
) -> Int32 {
    guard unsafe rnd == kSecRandomDefault, count >= 0 else { return errSecParam }
    // getentropy returns at most 256 bytes per call and, unlike getrandom, never fewer than
    // requested.
    let largestRequest = 256
    for offset in stride(from: 0, to: count, by: largestRequest) {
        // SAFETY: offset + length never exceeds count, the size that the caller guarantees.
        let result = unsafe getentropy(bytes + offset, min(largestRequest, count - offset))
        guard result == 0 else { return errSecInternalComponent }
    }
    return errSecSuccess
}

#endif
