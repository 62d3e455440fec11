// RefusalTally: which refusals the log tells of. A caller that is refused tries again at once, and
// a journal drops what comes too fast, whoever it is about.
//   (1) Of each kind the first few in a while are told in full; the others are counted, and their
//       number is told when the while is over.

import KeychainCore
import Synchronization

final class RefusalTally: Sendable {
    /// What is counted as one.
    struct Kind: Hashable, Sendable {
        let message: String
        /// Who is refused, or why.
        let subject: String
    }

    /// How many of a kind are told in full in a while.
    static let toldCount = 5
    static let interval: Duration = .seconds(10)
    /// How many kinds are told apart in a while; what is beyond counts as one.
    static let kindCount = 64

    private struct State {
        var begin: ContinuousClock.Instant
        var counts: [Kind: Int] = [:]
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
        state = Mutex(State(begin: now()))
    }

    /// Counts a refusal.
    ///
    /// - Returns: Whether it is to be told.
    func tells(_ kind: Kind) -> Bool {
        state.withLock { state in
            var kind = kind
            if state.counts[kind] == nil, state.counts.count >= Self.kindCount {
                kind = Kind(message: kind.message, subject: "others")
            }
            state.counts[kind, default: 0] += 1
            return (state.counts[kind] ?? 0) <= Self.toldCount
        }
    }

    /// Ends a while that is over, and begins the next one.
    ///
    /// - Parameter atOnce: Whether it ends now, however long it was.
    /// - Returns: What was counted in it and not told.
    func take(atOnce: Bool = false) -> [(kind: Kind, count: Int)] {
        let now = now()
        let counts = state.withLock { state -> [Kind: Int] in
            guard atOnce || state.begin + Self.interval <= now else { return [:] }
            defer { state = State(begin: now) }
            return state.counts
        }
        return counts.filter { $0.value > Self.toldCount }
            .map { ($0.key, $0.value - Self.toldCount) }
            .sorted { ($0.kind.message, $0.kind.subject) < ($1.kind.message, $1.kind.subject) }
    }
}
