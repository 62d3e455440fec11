// HeldBytes: limits the memory that incomplete messages, and answers that the client hasn't
// received, may occupy.
//   (1) A single message may have any permitted size. If several connections of a party have
//       incomplete messages at the same time, these messages share a budget. A connection that
//       receives more when the budget is used up is closed. Each party has its own budget.

import Synchronization

final class HeldBytes: Sendable {
    /// The maximum total size in bytes of the incomplete messages of one party, if the party has
    /// more than one incomplete message.
    static let budget = 64 << 20

    private struct Share {
        var byteCount = 0
        /// The number of connections with an incomplete message.
        var holderCount = 0
    }

    private let shares = Mutex<[Party: Share]>([:])

    /// Records that the number of bytes which one connection of a party holds has changed.
    ///
    /// - Returns: `true` if the change is permitted: the connection holds less than before, or no
    ///   other connection of the party holds any bytes, or the party is within its budget.
    func change(from old: Int, to new: Int, of party: Party) -> Bool {
        guard old != new else { return true }
        return shares.withLock { shares in
            var share = shares[party] ?? Share()
            share.byteCount += new - old
            share.holderCount += (new > 0 ? 1 : 0) - (old > 0 ? 1 : 0)
            shares[party] = share.holderCount == 0 ? nil : share
            return new < old || share.holderCount == 1 || share.byteCount <= Self.budget
        }
    }
}

/// Counts the bytes of the answers that are on their way to each party.
final class AnswerBudget: Sendable {
    private struct Share {
        var byteCount = 0
        /// Closures to call once the party is below the budget.
        var waiting: [@Sendable () -> Void] = []
    }

    /// In bytes.
    private let budget: Int
    private let shares = Mutex<[Party: Share]>([:])

    init(_ budget: Int) { self.budget = budget }

    /// Whether another request of a party may be carried out. If not, `then` is called, on any
    /// thread, as soon as the party is below the budget.
    func hasRoom(for party: Party, then: @escaping @Sendable () -> Void) -> Bool {
        shares.withLock { shares in
            guard let share = shares[party], share.byteCount >= budget else { return true }
            shares[party]?.waiting.append(then)
            return false
        }
    }

    func add(_ byteCount: Int, of party: Party) {
        shares.withLock { $0[party, default: Share()].byteCount += byteCount }
    }

    /// Records that an answer was sent completely, or that its connection is closed.
    func remove(_ byteCount: Int, of party: Party) {
        let waiting = shares.withLock { shares -> [@Sendable () -> Void] in
            guard var share = shares[party] else { return [] }
            share.byteCount -= byteCount
            let waiting = share.byteCount < budget ? share.waiting : []
            if !waiting.isEmpty { share.waiting = [] }
            shares[party] = share.byteCount == 0 ? nil : share
            return waiting
        }
        for then in waiting { then() }
    }
}
