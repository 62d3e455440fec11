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

    /// Whether all callers arrived before the deadline of any waiting caller.
    package var tookPlace: Bool { state.withLock { $0.arrived >= size && !$0.isLate } }

    /// Waits for the other callers. The deadline of 30 seconds is far longer than a successful run
    /// needs. Callers that arrive after the meeting, or after a caller missed the deadline, don't
    /// wait.
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
