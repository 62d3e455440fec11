// Ledger+Doubts: whether an item that no log contains any more was deleted.
// Documentation/Synchronization.md, "Deletions".
//   (1) A deletion stays in its log until every present machine has acknowledged it. So only a
//       machine that counted as absent, that was added later, or whose keychain is an older copy
//       can have missed one. If an item is in no log, all other machines append it again.
//   (2) A deletion also stays until the logs of all absent machines are retired for good. Before
//       that, such a log counts or can count again, and may contain an older version of the item.
//   (3) An item that is appended again by mistake is deleted again by each machine whose keychain
//       has its tombstone. A lost item can't come back. So if a machine can't tell, it doesn't
//       delete the item.

import KeychainCore

extension Ledger {
    /// Whether a deletion may have been in entries that this machine hasn't read, and that other
    /// machines have dropped without waiting for this machine.
    package var mayHaveMissedDeletions: Bool {
        guard isOldCopy || absence > decided else { return false }
        // An older copy may have missed its own deletions, too.
        return ends.contains { writer, end in
            (isOldCopy || writer != me) && end > reached[writer] ?? 0
        }
    }

    /// Records that this machine has decided on all items that no log contains. `decided` stays as
    /// it is if the machine was suspended and has not appended an entry since: others don't wait
    /// for such a machine, so it may still miss deletions.
    mutating func noteDecided() {
        reached.merge(ends) { max($0, $1) }
        if hasReturned { decided = absence }
    }

    /// Whether this machine has appended an entry since it was last suspended. Before that, others
    /// don't wait for it.
    package var hasReturned: Bool {
        logs[me]?.known ?? 0 >= roster.machines[me]?.suspended ?? 0
    }

    /// The index of the entry of the membership log that added or last suspended this machine.
    private var absence: UInt64 {
        guard let membership = roster.machines[me] else { return 0 }
        return max(membership.added, membership.suspended ?? 0)
    }

    /// The indexes of the last entries of all logs that were read, and of those logs that were
    /// retired and may have been deleted.
    private var ends: LogIndexes {
        var ends = logs.mapValues(\.head)
        for (writer, membership) in roster.machines where roster.isRetired(writer) {
            ends[writer] = max(membership.closed, ends[writer] ?? 0)
        }
        return ends
    }

    /// Whether this machine may have to append a version that no other log contains.
    package var isAppendingOrInDoubt: Bool {
        items.values.contains { $0.isPending }
            || doubts.keys.contains { items[$0]?.stamp.isDeletion == false }
    }

    /// Whether the logs of all other present machines are clean, see ``isClean(_:)``.
    var areAllClean: Bool {
        roster.members.allSatisfy { isClean($0) || !isPresent($0) }
    }

    /// Whether a machine has appended a clean entry that knows of the last removal or suspension.
    /// With a clean entry, the machine's log has no outdated versions, and the machine has no
    /// version left to append. A machine without such an entry may have to append again the
    /// versions in its void entries, which don't count because of a removal or suspension. Always
    /// `true` for this machine.
    func isClean(_ writer: MachineID) -> Bool {
        writer == me || logs[writer]?.settledKnown ?? 0 >= roster.lastClosing
    }

    /// Whether this machine has read the logs as far as `needed`. Its own log counts as read. A
    /// retired log may have been deleted from the server. So instead of that log, this machine must
    /// have read the logs that contain copies of what counted in it. If those copies became void,
    /// the retired log counts again. For such a log, it is enough that an earlier session has read
    /// the log or the copies, see ``hasReadLapsed(_:)``.
    func isRead(_ needed: LogIndexes) -> Bool {
        var left = Array(needed)
        var followed: Set<MachineID> = []
        while let (writer, index) = left.popLast() {
            guard let membership = roster.machines[writer] else { continue }
            // Nothing counts beyond where the log of a removed machine was closed.
            let end = membership.removed == nil ? index : min(index, membership.closed)
            if end <= membership.retired {
                if followed.insert(writer).inserted { left += Array(membership.retiredInto) }
            } else if writer != me, logs[writer]?.head ?? 0 < end, !hasReadLapsed(writer) {
                return false
            }
        }
        return true
    }

    /// Whether two conditions hold for the log of a removed machine: the log was retired and counts
    /// again, because the copies in other logs became void; and an earlier session has read the log
    /// or the copies. The server may not have the log any more. Even if this returns `true`, the
    /// keychain may lack the log's items: the copies may have been void already when that session
    /// read them.
    func hasReadLapsed(_ machine: MachineID) -> Bool {
        guard let membership = roster.machines[machine], membership.removed != nil,
            let lapsed = membership.lapsed, lapsed.end >= membership.closed
        else { return false }
        return reached[machine] ?? 0 >= membership.closed
            || reached[lapsed.signer] ?? 0 >= lapsed.copied
    }

    /// Whether another machine's retired log counts again and may be gone, so that an item that is
    /// in no log may have been in that one.
    var lacksLapsedLog: Bool {
        roster.machines.contains { machine, membership in
            !roster.isRetired(machine) && hasReadLapsed(machine)
                && logs[machine]?.head ?? 0 < membership.closed
        }
    }
}
