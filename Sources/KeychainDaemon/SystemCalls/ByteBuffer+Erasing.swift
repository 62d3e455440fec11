// ByteBuffer+Erasing: buffers of the network library, which doesn't erase them itself.

import Glibc
import KeychainCore
import NIOCore

extension ByteBuffer {
    /// Overwrites the readable bytes where they are, for everybody who has a reference to them.
    ///
    /// To be called on the event loop of the channel that the bytes came from or went to, when
    /// they were copied or sent.
    func erase() {
        // SAFETY: the bytes belong to the buffer's own block, which is writable memory; the
        // pointer is not used beyond the call. A method that changes the buffer would copy the
        // block first where another buffer refers to it. The one that does is the channel's pool of
        // buffers, and it looks at a block only to have it filled anew.
        unsafe withUnsafeReadableBytes { bytes in
            if let base = bytes.baseAddress {
                unsafe explicit_bzero(UnsafeMutableRawPointer(mutating: base), bytes.count)
            }
        }
    }

    /// The bytes of some frames, one after the other.
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
