// Readiness: waiting for several descriptors at once, and being woken from it.

import Glibc
import KeychainCrypto

enum Readiness {
    /// Waits until one of the descriptors can be read or is at its end.
    ///
    /// - Parameters:
    ///   - descriptors: What to wait for.
    ///   - milliseconds: How long; negative: for ever.
    /// - Returns: Whether each is ready, in their order.
    static func wait(for descriptors: [Int32], milliseconds: Int32) -> [Bool] {
        var polls = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        // SAFETY: as many structures as are said, used within the call.
        let count = unsafe polls.withUnsafeMutableBufferPointer {
            unsafe poll($0.baseAddress, nfds_t($0.count), milliseconds)
        }
        return polls.map { count > 0 && $0.revents != 0 }
    }
}

/// Wakes the thread that waits for its descriptor. Safe to call from any thread.
final class Waker: Sendable {
    private let reading: OwnedDescriptor
    private let writing: OwnedDescriptor

    /// nil: there are no more descriptors.
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
        // A pipe that is full wakes as well.
        // SAFETY: one byte is read within the call.
        _ = unsafe write(writing.number, &byte, 1)
    }

    func rest() { while (try? [UInt8](readingFrom: reading.number, atMost: 64))?.count == 64 {} }
}
