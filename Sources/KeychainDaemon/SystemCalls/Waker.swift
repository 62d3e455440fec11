// Waker: wakes a thread that waits for file descriptors.

import Glibc
import KeychainCrypto

/// Wakes the thread that waits for ``descriptor``. Safe to call from any thread.
final class Waker: Sendable {
    private let reading: OwnedDescriptor
    private let writing: OwnedDescriptor

    /// `nil` if the process has no file descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        // SAFETY: two numbers are written within the call.
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends { Sockets.prepare(end) }
        reading = OwnedDescriptor(ends[0])
        writing = OwnedDescriptor(ends[1])
    }

    var descriptor: Int32 { reading.number }

    func wake() {
        var byte: UInt8 = 1
        // If the pipe is full, nothing is written, but the thread wakes anyway.
        // SAFETY: `write` reads one byte of memory, `byte`, and only within the call.
        _ = unsafe write(writing.number, &byte, 1)
    }

    func rest() { while (try? [UInt8](readingFrom: reading.number, atMost: 64))?.count == 64 {} }
}
