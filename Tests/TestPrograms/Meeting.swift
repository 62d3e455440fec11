// Meeting: where threads wait for each other, so that a test knows that they ran at the same time.

import Dispatch
import Synchronization

/// Lets so many callers go on once all of them are there at once.
package final class Meeting: Sendable {
    private struct State {
        var arrived = 0
        var isLate = false
    }

    private let size: Int
    private let state = Mutex(State())
    private let isComplete = DispatchSemaphore(value: 0)

    package init(of size: Int) { self.size = size }

    /// Whether all came while the others waited.
    package var tookPlace: Bool { state.withLock { $0.arrived >= size && !$0.isLate } }

    /// Waits for the others, with a deadline that no honest run reaches. Who comes after the
    /// meeting, or after it has failed, doesn't wait.
    package func join() {
        let (arrived, isLate) = state.withLock { state in
            state.arrived += 1
            return (state.arrived, state.isLate)
        }
        guard arrived < size, !isLate else {
            if arrived == size { for _ in 1..<size { isComplete.signal() } }
            return
        }
        guard isComplete.wait(timeout: .now() + 30) == .success else {
            state.withLock { $0.isLate = true }
            return
        }
    }
}
