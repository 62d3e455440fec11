// RefusalTally: limits how many refusals are logged. A program that is refused tends to retry at
// once, and a journal that limits the rate of lines would drop those about other programs too.
//   (1) The first few refusals of a kind in an interval are logged in full. The others are counted,
//       and their number is logged when the interval is over.
//   (2) Refusals are counted per user, so that one user can't hide those of another.

import Glibc
import KeychainCore
import Synchronization

final class RefusalTally: Sendable {
    /// The refusals that are counted together.
    struct Kind: Hashable, Sendable {
        let message: String
        /// `nil` if the kernel doesn't report the user, or for the users beyond `userCount`.
        let user: uid_t?
        /// The name of the peer, or the reason.
        let subject: String
    }

    /// How many refusals of a kind are logged in full per interval.
    static let toldCount = 5
    static let interval: Duration = .seconds(10)
    /// The maximum number of kinds that are distinguished per user and interval. Further kinds with
    /// the same message are counted as one.
    static let kindCount = 64
    /// The maximum number of users that are distinguished per interval. The refusals of further
    /// users with the same message are counted together.
    static let userCount = 256

    private struct State {
        var begin: ContinuousClock.Instant
        var counts: [uid_t?: [Kind: Int]] = [:]

        /// - Returns: The number of refusals of the kind in this interval, this one included.
        mutating func count(_ kind: Kind) -> Int {
            var kind = kind
            if counts[kind.user] == nil, counts.count >= RefusalTally.userCount {
                kind = Kind(message: kind.message, user: nil, subject: "other users")
            } else if counts[kind.user]?[kind] == nil,
                counts[kind.user, default: [:]].count >= RefusalTally.kindCount
            {
                kind = Kind(message: kind.message, user: kind.user, subject: "others")
            }
            counts[kind.user, default: [:]][kind, default: 0] += 1
            return counts[kind.user]?[kind] ?? 0
        }
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
        state = Mutex(State(begin: now()))
    }

    /// Counts a refusal.
    ///
    /// - Returns: `true` if it is to be logged in full.
    func tells(_ kind: Kind) -> Bool {
        state.withLock { $0.count(kind) <= Self.toldCount }
    }

    /// Ends the interval if it is over, and begins the next one.
    ///
    /// - Parameter atOnce: Pass `true` to end the interval in any case.
    /// - Returns: The kinds with more refusals than were logged in full, and for each the number of
    ///   refusals that weren't logged in full.
    func take(atOnce: Bool = false) -> [(kind: Kind, count: Int)] {
        let now = now()
        let counts = state.withLock { state -> [Kind: Int] in
            guard atOnce || state.begin + Self.interval <= now else { return [:] }
            defer { state = State(begin: now) }
            return state.counts.values.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
        }
        return counts.filter { $0.value > Self.toldCount }
            .map { ($0.key, $0.value - Self.toldCount) }
            .sorted {
                ($0.kind.message, $0.kind.subject, $0.kind.user ?? 0)
                    < ($1.kind.message, $1.kind.subject, $1.kind.user ?? 0)
            }
    }
}
