// FrameBuffer: the bytes of one frame, or of a part of one.
//   (1) They are overwritten before their memory is given back: a message may hold a secret.
//   (2) Only the code that makes a buffer writes to it, before other code has it; so reads need no
//       lock.

/// Bytes that are erased when the last reference to them is gone.
@safe
package final class FrameBuffer: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    // `@unchecked`: no lock is needed, see (2).
    private let bytes: UnsafeMutableRawBufferPointer
    /// How many bytes of the block are the buffer's.
    package let count: Int

    /// Takes over a block, of which the first bytes were written.
    init(taking block: UnsafeMutableRawBufferPointer, count: Int) {
        // SAFETY: the caller gives the block away.
        unsafe bytes = unsafe block
        self.count = count
    }

    /// Bytes that `fill` writes. They are zero before.
    package init<Failure: Error>(
        byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(byteCount >= 0)
        count = byteCount
        // SAFETY: the block is ours until deinit; when `fill` throws, it is erased and freed here,
        // because deinit does not run for an object that was never whole.
        unsafe bytes = .allocate(byteCount: byteCount, alignment: 16)
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        do {
            unsafe try fill(bytes)
        } catch {
            unsafe Self.release(bytes)
            throw error
        }
    }

    /// The bytes of several buffers, one after the other.
    package convenience init(joining parts: [FrameBuffer]) {
        // SAFETY: the parts have as many bytes as the block, together.
        unsafe self.init(byteCount: parts.reduce(0) { $0 + $1.count }) { target in
            var offset = 0
            for part in parts {
                unsafe part.withUnsafeBytes { source in
                    unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset...])
                        .copyMemory(from: source)
                    offset += source.count
                }
            }
        }
    }

    deinit {
        // SAFETY: no reference to this object is left, so none to its block.
        unsafe Self.release(bytes)
    }

    static func release(_ bytes: UnsafeMutableRawBufferPointer) {
        // SAFETY: the block was allocated above, and is not used any more.
        unsafe SystemMemory.erase(bytes)
        unsafe bytes.deallocate()
    }

    /// Calls `body` with the bytes.
    package func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: `body` runs while this object is alive.
        unsafe try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }

    package var description: String { "FrameBuffer(\(count) bytes)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
