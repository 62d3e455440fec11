// OwnedDescriptor: a file descriptor that is closed when the last reference to it is released.

import Glibc
import Synchronization

package final class OwnedDescriptor: Sendable {
    /// Negative after the descriptor was closed or its ownership was transferred.
    private let state: Mutex<Int32>

    package init(_ descriptor: Int32) {
        state = Mutex(descriptor)
    }

    deinit { close() }

    package var number: Int32 { state.withLock { $0 } }

    /// Transfers ownership of the descriptor to the caller, which closes it.
    package func handOn() -> Int32 {
        state.withLock { number in
            defer { number = -1 }
            return number
        }
    }

    package func close() {
        let number = handOn()
        if number >= 0 { _ = Glibc.close(number) }
    }
}
