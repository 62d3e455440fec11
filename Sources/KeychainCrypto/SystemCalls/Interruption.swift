// Interruption: ends a wait of another thread, for the answer of a person or for a message.
//   (1) It happens once and stays. A thread that waits is woken through a descriptor.

import Glibc
import Synchronization

package final class Interruption: Sendable {
    /// Shutting down the second end makes the first readable. nil where no descriptors were left:
    /// the wait ends when what it waits for comes.
    private let ends: (OwnedDescriptor, OwnedDescriptor)?
    private let interrupted = Mutex(false)

    package init() {
        ends = UnixSockets.pair()
    }

    package var isInterrupted: Bool { interrupted.withLock { $0 } }

    /// Readable once it happened.
    package var descriptor: Int32? { ends?.0.number }

    package func interrupt() {
        interrupted.withLock { $0 = true }
        if let ends { shutdown(ends.1.number, Int32(SHUT_RDWR)) }
    }
}
