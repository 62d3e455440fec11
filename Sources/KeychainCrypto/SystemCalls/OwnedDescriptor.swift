// OwnedDescriptor: a file descriptor that is closed when no code holds it any more.

import Glibc
import Synchronization

package final class OwnedDescriptor: Sendable {
    /// Negative once it was handed on.
    private let state: Mutex<Int32>

    package init(_ descriptor: Int32) {
        state = Mutex(descriptor)
    }

    deinit { close() }

    package var number: Int32 { state.withLock { $0 } }

    /// Gives the descriptor to other code, which closes it.
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
