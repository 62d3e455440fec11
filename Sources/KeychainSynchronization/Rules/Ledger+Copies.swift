// Ledger+Copies: the copies of what retired logs contained. Until every present machine has
// acknowledged the copies, they may become void.
// Documentation/Decisions/0047-how-long-a-retirement-holds.md.

package import KeychainCore

extension Ledger {
    /// Whether all that counted in the log of an absent machine is retired for good: every present
    /// machine has acknowledged the copies. Before that, a machine that hasn't read them can sign a
    /// removal that makes them void, and the log counts again.
    package func isCopied(_ machine: MachineID) -> Bool {
        guard let membership = roster.machines[machine] else { return false }
        return membership.retired >= membership.closed && hasCopies(membership)
    }

    /// Whether every present machine has acknowledged the copies of a log's retired entries.
    func hasCopies(_ membership: Roster.Membership) -> Bool {
        var left = membership.retirements
        var followed: Set<Roster.Retirement> = []
        while let copies = left.popLast() {
            guard followed.insert(copies).inserted else { continue }
            // The copies may be retired, too.
            let later = roster.machines[copies.signer]?.retirements.filter {
                copies.copied <= $0.end
            }
            if let later, !later.isEmpty {
                left += later
                continue
            }
            let isAcknowledged = roster.members.allSatisfy {
                $0 == copies.signer || !isPresent($0)
                    || logs[$0]?.acknowledged[copies.signer] ?? 0 >= copies.copied
            }
            guard isAcknowledged else { return false }
        }
        return true
    }

    /// For each log with copies from retired logs, the last of its entries that a retirement names.
    var copied: LogIndexes {
        var copied: LogIndexes = [:]
        for retirement in roster.machines.values.flatMap(\.retirements) {
            copied[retirement.signer] = max(copied[retirement.signer] ?? 0, retirement.copied)
        }
        return copied
    }

    /// Whether the logs of all absent machines are retired for good, see ``isCopied(_:)``, and also
    /// the entries of present machines' logs that were retired while these machines were away.
    var areAbsentCopied: Bool {
        roster.machines.allSatisfy { machine, membership in
            (isPresent(machine) || membership.retired >= membership.closed)
                && hasCopies(membership)
        }
    }

    /// Whether the copies of retired entries of this machine's own log may still become void.
    var mayLoseCopies: Bool {
        roster.machines[me].map { !hasCopies($0) } ?? false
    }

    /// The items in retired or void entries of this machine's own log whose current version is only
    /// in the logs with the copies. Empty if the copies can't become void any more.
    var copiedElsewhere: Set<Bytes16> {
        mayLoseCopies ? onlyCopied(retiredOwn.union(voidOwn)) : []
    }

    /// Marks items in void entries of this machine's own log for appending if their current version
    /// is only in the logs with the copies, and the copies may become void. The retired entries
    /// would count again then, but this log may not have them any more: the void entries may have
    /// made them unneeded.
    ///
    /// - Parameter unloadable: Items whose versions this machine can't append.
    package mutating func appendRepeated(except unloadable: Set<Bytes16>) {
        guard mayLoseCopies else { return }
        for name in onlyCopied(voidOwn).subtracting(unloadable) { items[name]?.isPending = true }
    }

    private func onlyCopied(_ names: Set<Bytes16>) -> Set<Bytes16> {
        let signers = Set(roster.machines[me]?.retirements.map(\.signer) ?? [])
        return names.filter {
            guard let held = items[$0] else { return false }
            return !held.places.isEmpty && signers.isSuperset(of: held.places.keys)
        }
    }

    /// Notes the items in an entry of this machine's own log that doesn't count.
    mutating func noteOwn(
        _ names: some Sequence<Bytes16>, of writer: MachineID, _ standing: Roster.Standing
    ) {
        guard writer == me else { return }
        switch standing {
        case .counts: break
        case .retired: retiredOwn.formUnion(names)
        case .void: voidOwn.formUnion(names)
        }
    }
}
