// Replica+Membership: the changes of the membership that this machine signs.

package import KeychainCore

extension Replica {
    /// Signs a change of the membership, which takes effect once it is in the membership log.
    package func change(
        _ change: MembershipEntry.Change, created: Int64
    ) throws(KeychainFailure) -> MembershipEntry {
        try MembershipEntry(change, after: circle.head, in: circle.id, created: created, by: keys)
    }

    /// Returns the change that adds a machine; `nil` if this machine has no circle key yet.
    package func addition(
        of machine: MachineDescription, name: String, scope: GroupScope, token: Bytes16? = nil
    ) -> MembershipEntry.Change? {
        guard let circleKey else { return nil }
        return .add(
            MembershipEntry.Addition(
                machine: machine, scope: scope, token: token,
                sealedName: circleKey.seal(name: name, of: machine.id), heads: readHeads))
    }

    /// Returns the content of a machine's removal: the logs count as far as this machine has read
    /// them.
    package func closing(of machine: MachineID) -> MembershipEntry.Closing {
        var heads = readHeads
        // A removed machine can't append entries again that become void. So a log that an earlier
        // removal or suspension closed counts at least up to the entry at which it was closed.
        for (other, closed) in circle.closed where closed.index > heads[other]?.index ?? 0 {
            heads[other] = closed
        }
        return MembershipEntry.Closing(machine: machine, heads: heads)
    }

    /// Returns the change that suspends a member: the member's log counts as far as this machine
    /// has read it. `nil` if the member isn't present or is this machine, or if the member's log is
    /// known to have entries that this machine hasn't read.
    package func suspension(of machine: MachineID) -> MembershipEntry.Change? {
        guard ledger.isPresent(machine), machine != id, withheld[machine] == nil else {
            return nil
        }
        let heads = readHeads.filter { $0.key == machine }
        return .suspend(MembershipEntry.Closing(machine: machine, heads: heads))
    }

    /// Returns the change that retires the log of a removed or suspended machine. `nil` if the
    /// machine was neither removed nor suspended, or if ``lacksEntries`` is set. Also `nil` if this
    /// machine first has something else to do: to read the rest of that log, to get keys that open
    /// versions, or to append something, such as versions or grants that no other log has.
    package mutating func retirement(of machine: MachineID) -> MembershipEntry.Change? {
        guard !lacksEntries, let closed = circle.closed[machine],
            nextIndex(of: machine) > closed.index,
            // The keychain contains what earlier sessions have read of the log.
            cursors[machine]?.isWhole ?? true || ledger.reached[machine] ?? 0 >= closed.index,
            isAllOpened
        else { return nil }
        let left = ledger.adopt(machine, unloadable: unloadable)
        lacksVersions = lacksVersions || !left.isDisjoint(with: unloadable)
        guard left.isEmpty, !ledger.isAppendingOrInDoubt,
            adoptGrants(of: machine), ready == nil
        else { return nil }
        var heads = readHeads
        heads[machine] = closed
        return .retire(MembershipEntry.Closing(machine: machine, heads: heads))
    }

    /// The name of a machine; `nil` if this machine has no circle key yet, or if the machine's
    /// addition contains no name that this key opens.
    package func name(of machine: MachineID) -> String? {
        circle.machine(machine).flatMap { circleKey?.name($0.sealedName, of: machine) }
    }
}
