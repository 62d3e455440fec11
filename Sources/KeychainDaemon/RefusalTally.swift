// RefusalTally: which refusals the log tells of. A caller that is refused tries again at once, and
// a journal drops what comes too fast, whoever it is about.
//   (1) Of each kind the first few in a while are told in full; the others are counted, and their
//       number is told when the while is over.
//   (2) Each user's are counted apart: what one does hides nothing of what another does.

import Glibc
import KeychainCore
import Synchronization

final class RefusalTally: Sendable {
    /// What is counted as one.
    struct Kind: Hashable, Sendable {
        let message: String
        /// nil: the kernel doesn't say who it is.
        let user: uid_t?
        /// Who is refused, or why.
        let subject: String
    }

    /// How many of a kind are told in full in a while.
    static let toldCount = 5
    static let interval: Duration = .seconds(10)
    /// How many kinds of one user are told apart in a while; what is beyond counts as one.
    static let kindCount = 64
    /// The same for users.
    static let userCount = 256

    private struct State {
        var begin: ContinuousClock.Instant
        var counts: [uid_t?: [Kind: Int]] = [:]

        /// - Returns: How many of the kind there are now.
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
    /// - Returns: Whether it is to be told.
    func tells(_ kind: Kind) -> Bool {
        state.withLock { $0.count(kind) <= Self.toldCount }
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
