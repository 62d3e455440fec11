// SecretBytes: owns key material, passcodes and other secrets in this process.
//   (1) The bytes are in one block of memory that is locked if the system permits it. `slice`,
//       `appending` and `init(joining:)` copy them to another such block, and `data` copies them to
//       ordinary memory.
//   (2) The block is zeroed before it is released, on every path.
//   (3) No description, dump or error contains the bytes.
//   (4) The bytes do not change after the initializer returns, so reads need no lock.

#if canImport(Darwin)
package import Foundation
#else
package import FoundationEssentials
#endif

/// Secret bytes, locked in memory and zeroed when released.
@safe
package final class SecretBytes: @unchecked Sendable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    // `@unchecked`: no lock is needed, see (4).
    private let bytes: UnsafeMutableRawBufferPointer

    /// Allocates zeroed bytes and calls `fill` to write their contents.
    package init<Failure: Error>(
        byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(byteCount >= 0)
        // SAFETY: this object owns the block until `deinit`. If `fill` throws, the block is zeroed
        // and released here, because `deinit` does not run for an object that was not fully
        // initialized.
        unsafe bytes = SecretArena.shared.allocate(byteCount: byteCount)
        do {
            unsafe try fill(bytes)
        } catch {
            unsafe SecretArena.shared.release(bytes)
            throw error
        }
    }

    deinit {
        // SAFETY: no reference to this object is left, so there is none to its block.
        unsafe SecretArena.shared.release(bytes)
    }

    /// Copies the first `byteCount` bytes. If there are fewer, zeros follow them. The caller is
    /// responsible for erasing the original.
    package convenience init(copying source: some Sequence<UInt8>, byteCount: Int) {
        unsafe self.init(byteCount: byteCount) { target in
            // A loop over a sequence of unknown type is slow.
            let isCopied: Void? = source.withContiguousStorageIfAvailable { bytes in
                let bytes = unsafe UnsafeRawBufferPointer(bytes).prefix(byteCount)
                // SAFETY: the block has at least the size of the copied bytes.
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes))
            }
            guard isCopied == nil else { return }
            var index = 0
            for byte in source where index < byteCount {
                // SAFETY: index < byteCount, the size of the block.
                unsafe target[index] = byte
                index += 1
            }
        }
    }

    package convenience init(copying source: some Collection<UInt8>) {
        self.init(copying: source, byteCount: source.count)
    }

    /// Copies a plaintext. The caller is responsible for erasing the original.
    package convenience init(copying source: Data) {
        // SAFETY: both ranges have the same size and do not overlap.
        unsafe self.init(byteCount: source.count) { target in
            unsafe source.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
        }
    }

    /// Returns `byteCount` bytes, at most 256, from the system's random number generator.
    package static func random(byteCount: Int) -> SecretBytes {
        // SAFETY: the whole block is written.
        unsafe SecretBytes(byteCount: byteCount) { unsafe SystemMemory.fillRandomly($0) }
    }

    // SAFETY: only the size of the block is read, not its bytes.
    package var count: Int { unsafe bytes.count }

    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: `body` runs while this object is alive.
        unsafe try body(UnsafeRawBufferPointer(bytes))
    }

    /// A copy of the bytes. The caller is responsible for erasing it.
    package var data: Data {
        // SAFETY: the bytes are copied during the call.
        unsafe withUnsafeBytes { unsafe Data($0) }
    }

    /// Copies the bytes of several objects, one after the other.
    package convenience init(joining parts: [SecretBytes]) {
        unsafe self.init(byteCount: parts.reduce(0) { $0 + $1.count }) { target in
            var rest = unsafe target[...]
            for part in parts {
                // SAFETY: the parts fill the block exactly.
                unsafe part.withUnsafeBytes { bytes in
                    unsafe UnsafeMutableRawBufferPointer(rebasing: rest).copyMemory(from: bytes)
                }
                unsafe rest = rest.dropFirst(part.count)
            }
        }
    }

    /// Returns these bytes followed by those of `other`.
    package func appending(_ other: SecretBytes) -> SecretBytes {
        SecretBytes(joining: [self, other])
    }

    /// Returns a part of the bytes. `range` must lie within them.
    package func slice(_ range: Range<Int>) -> SecretBytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return unsafe SecretBytes(byteCount: range.count) { target in
            // SAFETY: the range lies within the bytes, and the block has its size.
            unsafe withUnsafeBytes { bytes in
                unsafe target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }

    /// Whether the bytes are equal. For equal sizes, the comparison takes constant time.
    package func isEqual(to other: SecretBytes) -> Bool {
        // SAFETY: equal counts are checked first.
        unsafe withUnsafeBytes { a in
            unsafe other.withUnsafeBytes { b in
                guard a.count == b.count else { return false }
                var difference: UInt8 = 0
                for index in a.indices { unsafe difference |= a[index] ^ b[index] }
                return difference == 0
            }
        }
    }

    /// Whether all secret memory that this process has allocated so far is locked; `false` for good
    /// once the system has refused to lock some, for example because `RLIMIT_MEMLOCK` was
    /// exhausted.
    package static var isMemoryLocked: Bool { SecretArena.shared.isLocked }

    package var description: String { "SecretBytes(\(count) bytes)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
