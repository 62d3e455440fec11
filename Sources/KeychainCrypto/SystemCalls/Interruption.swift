// Interruption: ends another thread's wait for a user's answer or for a message.
//   (1) An interruption is permanent. A waiting thread is woken through a descriptor.

import Glibc
import Synchronization

package final class Interruption: Sendable {
    /// Shutting down the second end makes the first readable. `nil` if no descriptors were left; a
    /// wait then ends only when the event that it waits for occurs or its time is over.
    private let ends: (OwnedDescriptor, OwnedDescriptor)?
    private let interrupted = Mutex(false)

    package init() {
        ends = UnixSockets.pair()
    }

    package var isInterrupted: Bool { interrupted.withLock { $0 } }

    /// Readable after the interruption.
    package var descriptor: Int32? { ends?.0.number }

    package func interrupt() {
        interrupted.withLock { $0 = true }
        if let ends { shutdown(ends.1.number, Int32(SHUT_RDWR)) }
    }
}
