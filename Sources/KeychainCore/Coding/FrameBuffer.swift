// FrameBuffer: the bytes of one frame, or of a part of one.
//   (1) The bytes are overwritten before their memory is freed, because a message may contain a
//       secret.
//   (2) Only the code that creates a buffer writes to it, before any other code has a reference to
//       it. Reads therefore need no lock.

/// Bytes that are erased when the last reference to them is released.
@safe
package final class FrameBuffer: @unchecked Sendable, CustomStringConvertible, CustomReflectable {
    // `@unchecked`: no lock is needed, see (2).
    private let bytes: UnsafeMutableRawBufferPointer
    /// The number of bytes of the block that belong to the buffer.
    package let count: Int

    /// Takes ownership of a block whose first `count` bytes have been written.
    init(taking block: UnsafeMutableRawBufferPointer, count: Int) {
        // SAFETY: the caller passes ownership of the block.
        unsafe bytes = unsafe block
        self.count = count
    }

    /// Allocates zeroed bytes and calls `fill` to write their contents.
    package init<Failure: Error>(
        byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        precondition(byteCount >= 0)
        count = byteCount
        // SAFETY: this object owns the block until `deinit`. If `fill` throws, the block is erased
        // and freed here, because `deinit` does not run for an object that was not fully
        // initialized.
        unsafe bytes = .allocate(byteCount: byteCount, alignment: 16)
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        do {
            unsafe try fill(bytes)
        } catch {
            unsafe Self.release(bytes)
            throw error
        }
    }

    /// Concatenates the bytes of several buffers.
    package convenience init(joining parts: [FrameBuffer]) {
        // SAFETY: the block has as many bytes as all parts together.
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
        // SAFETY: no reference to this object is left, so there is none to its block.
        unsafe Self.release(bytes)
    }

    /// Erases a block and frees it.
    static func release(_ bytes: UnsafeMutableRawBufferPointer) {
        // SAFETY: the caller allocated the block and does not use it after this.
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
