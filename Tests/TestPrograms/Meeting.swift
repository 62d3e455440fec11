// Meeting: a point at which threads wait for each other, so that a test knows that they run at the
// same time.

import Dispatch
import Synchronization

/// Lets a number of callers continue once all of them have arrived.
package final class Meeting: Sendable {
    private struct State {
        var arrived = 0
        var isLate = false
    }

    private let size: Int
    private let state = Mutex(State())
    private let isComplete = DispatchSemaphore(value: 0)

    package init(of size: Int) { self.size = size }

    /// Whether `size` callers arrived and no caller's wait timed out.
    package var tookPlace: Bool { state.withLock { $0.arrived >= size && !$0.isLate } }

    /// Waits until `size` callers have arrived. The wait times out after 30 seconds, far longer
    /// than a successful run needs. Once `size` callers have arrived, or the wait of a caller has
    /// timed out, no further caller waits.
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
