// ByteBuffer+Erasing: erases buffers of the network library, which doesn't do so itself.

import Glibc
import KeychainCore
import NIOCore

extension ByteBuffer {
    /// Overwrites the readable bytes in place, for all references to them.
    ///
    /// To be called on the event loop of the channel, after bytes from the channel were copied, or
    /// bytes for the channel were sent.
    func erase() {
        // SAFETY: the bytes belong to the buffer's own block, which is writable memory, and the
        // pointer isn't used beyond the call. A mutating method would copy the block first if
        // another buffer refers to it. Here, only the channel's buffer pool refers to the block,
        // and a block from the pool is read only after it has been filled again.
        unsafe withUnsafeReadableBytes { bytes in
            if let base = bytes.baseAddress {
                unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: base), bytes.count)
            }
        }
    }

    /// A buffer with the bytes of frames, in order.
    init(_ frames: [FrameBuffer], allocator: ByteBufferAllocator) {
        var buffer = allocator.buffer(capacity: frames.reduce(0) { $0 + $1.count })
        for frame in frames {
            // SAFETY: the bytes are copied within the call.
            unsafe frame.withUnsafeBytes { bytes in
                _ = unsafe buffer.writeBytes(bytes)
            }
        }
        self = buffer
    }

    /// Calls `body` with the readable bytes.
    func withReadableSpan<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
        // SAFETY: `body` runs while the buffer is alive.
        unsafe try withUnsafeReadableBytes { unsafe try body($0.bytes) }
    }
}
