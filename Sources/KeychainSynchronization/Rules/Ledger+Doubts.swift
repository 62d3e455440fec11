// Ledger+Doubts: whether an item that no log contains any more was deleted, or whether a version of
// it may still arrive. Documentation/Synchronization.md, "Deletions".

import KeychainCore

extension Ledger {
    /// Whether this machine has read enough to decide on an item in doubt.
    func isSettled(_ doubt: Doubt) -> Bool {
        switch doubt {
        case .abandoned: true
        case .dropped(_, let needed), .retired(let needed), .held(let needed):
            isRead(needed) && roster.members.allSatisfy { isClean($0) || !isPresent($0) }
        }
    }

    /// Whether an absent machine may have had a version of the item in a void entry, and no other
    /// machine may have it.
    func mayBeLost(_ doubt: Doubt) -> Bool {
        switch doubt {
        case .abandoned, .held: false
        // A present writer has appended again what it had read in void entries.
        case .dropped(let writer, let needed): !isPresent(writer) && hasVoid(needed)
        case .retired(let needed): hasVoid(needed)
        }
    }

    /// Whether a machine has appended a clean entry since the last change that closed logs. Until
    /// then it may append versions from void entries again.
    func isClean(_ writer: MachineID) -> Bool {
        writer == me || logs[writer]?.settledKnown ?? 0 >= roster.lastClosing
    }

    /// Whether this machine has read logs that far. A retired log may have been deleted from the
    /// server. In its place, the logs count into which it was retired.
    private func isRead(_ needed: LogIndexes) -> Bool {
        successors(needed).allSatisfy { writer, index in
            writer == me || logs[writer]?.head ?? 0 >= min(index, end(of: writer))
                || roster.isRetired(writer)
        }
    }

    private func hasVoid(_ needed: LogIndexes) -> Bool {
        successors(needed).contains { writer, index in
            writer != me && !isPresent(writer)
                && (index > end(of: writer) || hasVoid(writer, upTo: index))
        }
    }

    private func successors(_ needed: LogIndexes) -> LogIndexes {
        var result: LogIndexes = [:]
        var seen: Set<MachineID> = []
        var left = Array(needed)
        while let (writer, index) = left.popLast() {
            guard let membership = roster.machines[writer] else { continue }
            let isRetired = min(index, end(of: writer)) <= membership.retired
            // Entries beyond the end are void, and were not retired.
            if !isRetired || index > end(of: writer) {
                result[writer] = max(index, result[writer] ?? 0)
            }
            if isRetired, seen.insert(writer).inserted { left += Array(membership.retiredInto) }
        }
        return result
    }

    /// The index of the last entry of a removed machine's log that may count.
    private func end(of writer: MachineID) -> UInt64 {
        guard let membership = roster.machines[writer], membership.removed != nil else {
            return .max
        }
        return membership.closed
    }

    private func hasVoid(_ writer: MachineID, upTo index: UInt64) -> Bool {
        guard let log = logs[writer] else { return false }
        // Of the entries written with the same knowledge, the last one is void if any is.
        let ends = log.knowledge.dropFirst().map { $0.index - 1 } + [log.head]
        return zip(log.knowledge, ends).contains { step, end in
            let last = min(end, index)
            return last >= step.index
                && roster.standing(of: writer, at: last, knowing: step.known) == .void
        }
    }
}
