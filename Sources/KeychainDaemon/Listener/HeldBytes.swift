// HeldBytes: how much memory messages hold that have not come whole.
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

    private let shares = Mutex<[UInt64: Share]>([:])

    /// What one connection of a party holds has changed.
    ///
    /// - Returns: Whether it may: it holds less, or all that the party does, or there is room.
    func change(from old: Int, to new: Int, of party: UInt64) -> Bool {
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
