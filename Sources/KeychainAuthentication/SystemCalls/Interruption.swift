// Interruption: takes back a question that a person is being asked.
//   (1) It happens once and stays. A thread that waits is woken through a descriptor.

#if !canImport(Darwin)

import Glibc
import Synchronization

package final class Interruption: Sendable {
    /// Closing the second end makes the first readable. nil where no descriptors were left: the
    /// question is taken back when its answer comes.
    private let ends: (Int32, Int32)?
    private let interrupted = Mutex(false)

    package init() {
        ends = Descriptor.socketPair()
    }

    deinit {
        guard let ends else { return }
        close(ends.0)
        close(ends.1)
    }

    package var isInterrupted: Bool { interrupted.withLock { $0 } }

    /// Readable once it happened.
    var descriptor: Int32? { ends?.0 }

    package func interrupt() {
        interrupted.withLock { $0 = true }
        if let ends { shutdown(ends.1, Int32(SHUT_RDWR)) }
    }
}

#endif
