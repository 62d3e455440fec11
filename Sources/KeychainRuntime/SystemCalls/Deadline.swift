// Deadline: when something must have come to its end.

/// A moment at which waiting ends. The clock stands still while the machine sleeps.
struct Deadline: Sendable {
    private let instant: SuspendingClock.Instant

    /// So long from now.
    init(_ limit: Duration) {
        instant = SuspendingClock().now + limit
    }

    /// What is left, rounded up; 0 when nothing is.
    var remainingMilliseconds: Int32 {
        let remaining = SuspendingClock().now.duration(to: instant)
        guard remaining > .zero else { return 0 }
        let (seconds, attoseconds) = remaining.components
        let milliseconds =
            seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: milliseconds)
    }

    /// What is left in seconds and microseconds, at least one of these.
    var remainingTime: (seconds: Int, microseconds: Int) {
        let (seconds, attoseconds) = max(
            SuspendingClock().now.duration(to: instant), .microseconds(1)
        ).components
        return (Int(seconds), Int(attoseconds / 1_000_000_000_000))
    }
}
