// Roster: the machines of a circle, and which entries of their logs count, according to the
// membership log. Documentation/Synchronization.md, "Membership log".
//   (1) Which entries count depends only on the membership log, and on how far the writer of an
//       entry knew the membership log, not on the order in which entries arrive. So all machines
//       decide alike.
//   (2) `Circle` verifies signatures, and this type doesn't.

import KeychainCore

/// For several logs, the index of the last entry that a change takes into account.
package typealias LogIndexes = [MachineID: UInt64]

package struct Roster: Hashable, Sendable {
    /// A change of the membership.
    package enum Change: Hashable, Sendable {
        case add(MachineID)
        /// Removes a machine. In every log, only these entries still count: those up to the given
        /// index, and those that were written with knowledge of this change.
        case remove(MachineID, LogIndexes)
        /// Suspends a machine that was away too long. The rule for `remove` applies, but only to
        /// the log of this machine. Entries that the machine appends with knowledge of this change
        /// count again.
        case suspend(MachineID, LogIndexes)
        /// Retires a machine's log up to the index given for it. The other logs, up to the indexes
        /// given for them, contain what counts in the retired log; the signer has copied into its
        /// own log what no other log had. If the signer's entry at the index given for the signer's
        /// log becomes void, the retirement lapses: the retired log counts again.
        case retire(MachineID, LogIndexes, signer: MachineID)
    }

    /// Whether an entry of a machine's log counts.
    package enum Standing: Hashable, Sendable {
        case counts
        /// The entry was written without knowledge of a removal or suspension after which the log
        /// counts only up to an earlier entry.
        case void
        /// Other logs contain what counted in the entry.
        case retired
    }

    package struct Membership: Hashable, Sendable {
        package fileprivate(set) var added: UInt64
        package fileprivate(set) var removed: UInt64?
        package fileprivate(set) var suspended: UInt64?
        /// The index of the last entry of the machine's log that counted when the machine was last
        /// removed or suspended.
        package fileprivate(set) var closed: UInt64 = 0
        /// The retirements of the machine's log that haven't lapsed, in the order of the membership
        /// log.
        fileprivate(set) var retirements: [Retirement] = []
        /// The last retirement of the machine's log that has lapsed.
        fileprivate(set) var lapsed: Retirement?

        /// The index up to which the machine's log is retired.
        package var retired: UInt64 { retirements.last?.end ?? 0 }
        /// The indexes up to which the other logs contain what counted in the retired entries.
        package var retiredInto: LogIndexes { retirements.last?.into ?? [:] }
    }

    /// The entry at `index` of the membership log retired a log up to the log's entry at `end`. The
    /// other logs, up to the entries at `into`, contain what counted in the retired log. The log of
    /// `signer` contains what only the retired log had.
    struct Retirement: Hashable, Sendable {
        let index: UInt64
        let end: UInt64
        let signer: MachineID
        let into: LogIndexes

        /// The index of the signer's last entry at the time of the retirement. The signer's copies
        /// are in entries up to this one.
        var copied: UInt64 { into[signer] ?? 0 }
    }

    private struct Closing: Hashable, Sendable {
        let index: UInt64
        /// `nil` if the change closed the logs of all machines.
        let machine: MachineID?
        let counted: LogIndexes
    }

    package private(set) var machines: [MachineID: Membership] = [:]
    /// The number of removals so far.
    package private(set) var epoch: UInt64 = 0
    private var closings: [Closing] = []
    /// The number of retirements that have lapsed so far.
    package private(set) var lapseCount = 0

    /// The epoch after the entry at an index of the membership log.
    package func epoch(knowing known: UInt64) -> UInt64 {
        UInt64(closings.count { $0.machine == nil && $0.index <= known })
    }

    /// The index of the last removal or suspension, each of which closes logs. 0: there was none.
    package var lastClosing: UInt64 { closings.last?.index ?? 0 }

    /// The index of the last removal, with which the current epoch began. 0: there was none.
    package var lastRemoval: UInt64 { closings.last { $0.machine == nil }?.index ?? 0 }

    package init(founder: MachineID) {
        machines[founder] = Membership(added: 1)
    }

    // MARK: Members

    package func isMember(_ machine: MachineID) -> Bool {
        machines[machine].map { $0.removed == nil } ?? false
    }

    /// The current members, in order of their identifiers.
    package var members: [MachineID] {
        machines.filter { $0.value.removed == nil }.keys.sorted()
    }

    /// Whether a machine was a member after the entry at an index of the membership log.
    package func wasMember(_ machine: MachineID, at index: UInt64) -> Bool {
        guard let membership = machines[machine] else { return false }
        return membership.added <= index && index < membership.removed ?? .max
    }

    /// Whether a machine is a member and, if it was suspended, has appended an entry since it read
    /// of its last suspension. `known` is the index of the last entry of the membership log that
    /// the machine knew at its last entry.
    package func isPresent(_ machine: MachineID, knowing known: UInt64) -> Bool {
        guard let membership = machines[machine], membership.removed == nil else { return false }
        return known >= membership.suspended ?? 0
    }

    /// Whether the entry at an index of its writer's log counts. `known` is the index of the last
    /// entry of the membership log that the writer knew.
    package func standing(
        of writer: MachineID, at index: UInt64, knowing known: UInt64
    ) -> Standing {
        let retirement = machines[writer]?.retirements.first {
            index <= $0.end && known < $0.index
        }
        // Entries that were void when the log was retired were not copied to other logs.
        let isVoid = closings.contains { closing in
            closing.index > known && closing.index < retirement?.index ?? .max
                && (closing.machine ?? writer) == writer
                && index > closing.counted[writer] ?? 0
        }
        return isVoid ? .void : retirement == nil ? .counts : .retired
    }

    /// Whether a machine was removed and everything that counted in its log is retired. The log may
    /// be retired further than the removal closed it, if the machine had been suspended before.
    package func isRetired(_ machine: MachineID) -> Bool {
        guard let membership = machines[machine] else { return false }
        return membership.removed != nil && membership.retired >= membership.closed
    }

    // MARK: Changes

    /// Takes the change at an index of the membership log.
    /// - Returns: `false` if the change doesn't fit. In that case, nothing is changed.
    package mutating func apply(_ change: Change, at index: UInt64) -> Bool {
        switch change {
        case .add(let machine):
            guard machines[machine] == nil else { return false }
            machines[machine] = Membership(added: index)
        case .remove(let machine, let counted):
            guard isMember(machine) else { return false }
            machines[machine]?.removed = index
            machines[machine]?.closed = counted[machine] ?? 0
            epoch += 1
            close(Closing(index: index, machine: nil, counted: counted))
        case .suspend(let machine, let counted):
            guard isMember(machine) else { return false }
            machines[machine]?.suspended = index
            machines[machine]?.closed = counted[machine] ?? 0
            close(Closing(index: index, machine: machine, counted: counted))
        case .retire(let machine, let into, let signer):
            guard signer != machine, let membership = machines[machine],
                membership.removed != nil || membership.suspended != nil,
                let end = into[machine], end == membership.closed, end >= membership.retired
            else { return false }
            // The keys of the recovery code have no log.
            let copies = into.filter { $0.key != machine && machines[$0.key] != nil }
            machines[machine]?.retirements.append(
                Retirement(index: index, end: end, signer: signer, into: copies))
        }
        return true
    }

    /// Closes logs, and drops the retirements whose copies become void as a result.
    private mutating func close(_ closing: Closing) {
        closings.append(closing)
        var left = machines.keys.sorted().flatMap { machine in
            retirements(of: machine) { $0.copied > closing.counted[$0.signer] ?? 0 }
        }
        while let (machine, retirement) = left.popLast() {
            let copies = standing(
                of: retirement.signer, at: retirement.copied, knowing: retirement.index - 1)
            guard copies == .void, let all = machines[machine]?.retirements,
                let place = all.firstIndex(of: retirement)
            else { continue }
            // Later retirements of the log lapse, too: their signers have not copied what was
            // retired already.
            machines[machine]?.retirements.removeSubrange(place...)
            machines[machine]?.lapsed = all.last
            lapseCount += all.count - place
            // The log counts again, so copies in it that were retired may now be void.
            for other in machines.keys.sorted() {
                left += retirements(of: other) { $0.signer == machine }
            }
        }
    }

    private func retirements(
        of machine: MachineID, where isIncluded: (Retirement) -> Bool
    ) -> [(machine: MachineID, retirement: Retirement)] {
        (machines[machine]?.retirements ?? []).filter(isIncluded).map { (machine, $0) }
    }
}
