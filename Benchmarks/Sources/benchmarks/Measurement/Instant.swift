// Instant: a time of the monotonic clock, which all processes of a machine share.

import Foundation

struct Instant {
    /// Nanoseconds since the machine was started, without the time in which it was suspended.
    let nanoseconds: UInt64

    static var now: Instant {
        var time = timespec()
        // SAFETY: the call fills the value that it is given.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    func nanoseconds(since start: Instant) -> Double {
        Double(nanoseconds) - Double(start.nanoseconds)
    }
}
