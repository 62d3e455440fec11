// HeldBytes: how much memory messages hold that have not come whole, and answers that have not been
// taken.
//   (1) One message may be as large as any. Several of one party at the same time share a budget:
//       what doesn't fit ends its connection. Another party's have a budget of their own.

import Synchronization

final class HeldBytes: Sendable {
    /// What the messages of one party may hold, if they are more than one; in bytes.
    static let budget = 64 << 20

    private struct Share {
        var byteCount = 0
        /// How many connections hold any of it.
        var holderCount = 0
    }

    private let shares = Mutex<[Party: Share]>([:])

    /// What one connection of a party holds has changed.
    ///
    /// - Returns: Whether it may: it holds less, or all that the party does, or there is room.
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

/// The answers of a party that are on their way.
final class AnswerBudget: Sendable {
    private struct Share {
        var byteCount = 0
        /// Called once there is room.
        var waiting: [@Sendable () -> Void] = []
    }

    /// In bytes.
    private let budget: Int
    private let shares = Mutex<[Party: Share]>([:])

    init(_ budget: Int) { self.budget = budget }

    /// Whether another request of a party may be carried out. Where it may not, `then` is called once
    /// it may, by any thread.
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

    /// An answer was taken, or its connection is gone.
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
