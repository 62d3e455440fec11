// BriefWait: looks for an answer again and again, for a short time, before the thread sleeps.
//   (1) Waking a sleeping thread takes tens of microseconds, as long as the service takes to find
//       one item.
//   (2) A wait without an answer wastes the processor's time, so the waits that follow it are
//       skipped: 1 wait after the first wait without an answer, 2 after the second, 4 after the
//       third and so on, up to 64. After a wait with an answer, the series begins with 1 again.
//   (3) Between two looks, other threads, such as those of the service, can run on this processor.

import Glibc

struct BriefWait {
    private let time: Duration
    /// How many waits are skipped after the next wait that ends without an answer.
    private var skipCount = 1
    private var remainingSkips = 0

    static let longestSkip = 64

    init(time: Duration = .microseconds(100)) {
        self.time = time
    }

    /// Returns when `isReady` has returned `true` or the time has passed. A wait that is skipped
    /// returns at once.
    mutating func wait(until isReady: () -> Bool) {
        guard remainingSkips == 0 else {
            remainingSkips -= 1
            return
        }
        let end = ContinuousClock.now + time
        repeat {
            if isReady() {
                skipCount = 1
                return
            }
            sched_yield()
        } while ContinuousClock.now < end
        remainingSkips = skipCount
        skipCount = min(2 * skipCount, Self.longestSkip)
    }
}
