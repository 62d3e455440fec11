// PendingChanges: what changed in the keychain and on the server since the last round, which is an
// exchange of records between the two.
//   (1) All changes that arrive during a round lead to one further round.

import Synchronization

final class PendingChanges: Sendable {
    enum Change: Hashable, Sendable {
        /// The keychain.
        case local
        /// The log of a machine, whose identifier is in hexadecimal digits.
        case log(String)
        /// The signed head of a machine, whose identifier is in hexadecimal digits.
        case head(String)
        /// The membership log, or a request with a join token.
        case circle
        case all

        /// The change that is reported when the record with the given key changes. `nil` if no
        /// round has to read the record: it belongs to an attempt to join, to this machine's own
        /// log or to its signed head.
        init?(_ key: String, _ keys: RecordKeys, besides own: String) {
            guard key.hasPrefix(keys.all) else {
                self = .all
                return
            }
            let parts = key.dropFirst(keys.all.count).split(separator: "/")
            switch (parts.first, parts.dropFirst().first) {
            case ("l", let machine?): self = .log(String(machine))
            case ("h", let machine?): self = .head(String(machine))
            case ("j", _): return nil
            default: self = .circle
            }
            if self == .log(own) || self == .head(own) { return nil }
        }
    }

    /// The changes that were collected since the last round.
    struct Changes: Sendable {
        /// The machines whose logs may have changed. `nil` if all may have.
        fileprivate(set) var machines: Set<String>? = []
        /// The machines whose signed heads may have changed. All may have if `isOfCircle` is set.
        fileprivate(set) var heads: Set<String> = []
        /// Whether the membership log, signed heads or requests with join tokens may have changed.
        fileprivate(set) var isOfCircle = false

        static let everything = Changes(machines: nil, isOfCircle: true)
    }

    /// The maximum number of logs and heads that a round reads one by one. If more have changed,
    /// the round reads everything.
    private static let machineLimit = 10_000

    private let state = Mutex(Changes())
    private let watched = Mutex(false)
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    init() {
        (signals, signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func add(_ change: Change) {
        state.withLock { changes in
            switch change {
            case .local: break
            case .circle: changes.isOfCircle = true
            case .log(let machine): changes.machines?.insert(machine)
            case .head(let machine): changes.heads.insert(machine)
            case .all: changes = .everything
            }
            // This bounds the memory: a server may report any number of machines that don't exist.
            let count = changes.heads.count + (changes.machines?.count ?? 0)
            if count > Self.machineLimit { changes = .everything }
        }
        signal.yield()
    }

    /// Whether a watch of the server reports its changes.
    var isWatched: Bool { watched.withLock { $0 } }

    func setWatched(_ isWatched: Bool) { watched.withLock { $0 = isWatched } }

    /// Makes the next round read everything, without starting one.
    func needAll() { state.withLock { $0 = .everything } }

    /// Yields an element after one or more calls of `add`. The element has all changes since the
    /// previous element.
    var stream: AsyncMapSequence<AsyncStream<Void>, Changes> {
        signals.map { _ in
            self.state.withLock { changes in
                defer { changes = Changes() }
                return changes
            }
        }
    }
}
