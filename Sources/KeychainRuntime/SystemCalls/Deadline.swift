// Deadline: limits how long an operation may wait.

/// A moment at which waiting ends. Its clock doesn't advance while the machine sleeps.
struct Deadline: Sendable {
    private let instant: SuspendingClock.Instant

    /// A deadline `limit` from now.
    init(_ limit: Duration) {
        instant = SuspendingClock().now + limit
    }

    /// The remaining time in milliseconds, rounded up; 0 if the deadline has passed.
    var remainingMilliseconds: Int32 {
        let remaining = SuspendingClock().now.duration(to: instant)
        guard remaining > .zero else { return 0 }
        let (seconds, attoseconds) = remaining.components
        let milliseconds =
            seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: milliseconds)
    }

    /// The remaining time in seconds and microseconds, at least one microsecond.
    var remainingTime: (seconds: Int, microseconds: Int) {
        let (seconds, attoseconds) = max(
            SuspendingClock().now.duration(to: instant), .microseconds(1)
        ).components
        return (Int(seconds), Int(attoseconds / 1_000_000_000_000))
    }
}
