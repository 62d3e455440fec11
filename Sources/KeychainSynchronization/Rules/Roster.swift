// Roster: the machines of a circle, and which entries of their logs count, according to the
// membership log. Documentation/Synchronization.md, "Membership log".
//   (1) Which entries count depends only on the membership log, not on the order in which entries
//       arrive, so all machines decide alike.
//   (2) `Circle` verifies signatures, and this type doesn't.

import KeychainCore

/// How far several logs go, by the index of their last entries.
package typealias LogIndexes = [MachineID: UInt64]

package struct Roster: Hashable, Sendable {
    /// A change, at its index in the membership log.
    package enum Change: Hashable, Sendable {
        case add(MachineID)
        /// The machine is a member no more. Of every log counts what the indexes include, and what
        /// was written knowing this change.
        case remove(MachineID, LogIndexes)
        /// The machine was away too long. The same for its log alone, to which it may add again once
        /// it knows this change.
        case suspend(MachineID, LogIndexes)
        /// What counts of the machine's log up to its index, others have in their logs, which go at
        /// least as far as the indexes say.
        case retire(MachineID, LogIndexes)
    }

    /// What an entry of a machine's log counts for.
    package enum Standing: Hashable, Sendable {
        case counts
        /// It was written without knowledge of the change that closed the log before it.
        case void
        /// Others have in their logs what counted of it.
        case retired
    }

    package struct Membership: Hashable, Sendable {
        package fileprivate(set) var added: UInt64
        package fileprivate(set) var removed: UInt64?
        package fileprivate(set) var suspended: UInt64?
        /// Up to which index its log was closed last.
        package fileprivate(set) var closed: UInt64 = 0
        /// Up to which index its log is retired, and how far the other logs go that have it.
        package fileprivate(set) var retired: UInt64 = 0
        package fileprivate(set) var retiredInto: LogIndexes = [:]
    }

    private struct Closing: Hashable, Sendable {
        let index: UInt64
        /// nil: every machine's log.
        let machine: MachineID?
        let counted: LogIndexes
    }

    package private(set) var machines: [MachineID: Membership] = [:]
    /// 0 at the founding, one more with each removal.
    package private(set) var epoch: UInt64 = 0
    private var closings: [Closing] = []

    /// The index of the last change that closed logs.
    package var lastClosing: UInt64 { closings.last?.index ?? 0 }

    package init(founder: MachineID) {
        machines[founder] = Membership(added: 1)
    }

    // MARK: Members

    package func isMember(_ machine: MachineID) -> Bool {
        machines[machine].map { $0.removed == nil } ?? false
    }

    /// Those that are in the circle, in order of their identifiers.
    package var members: [MachineID] {
        machines.filter { $0.value.removed == nil }.keys.sorted()
    }

    /// Whether a machine belonged to the circle when the membership log was so long.
    package func wasMember(_ machine: MachineID, at index: UInt64) -> Bool {
        guard let membership = machines[machine] else { return false }
        return membership.added <= index && index < membership.removed ?? .max
    }

    /// Whether a machine takes part: it is a member, and has written since it was suspended. `known` is
    /// how much of the membership log its last entry knew.
    package func isPresent(_ machine: MachineID, knowing known: UInt64) -> Bool {
        guard let membership = machines[machine], membership.removed == nil else { return false }
        return known >= membership.suspended ?? 0
    }

    /// What the entry at an index of its writer's log counts for, which knew so much of the membership
    /// log.
    package func standing(
        of writer: MachineID, at index: UInt64, knowing known: UInt64
    ) -> Standing {
        if index <= machines[writer]?.retired ?? 0 { return .retired }
        let isClosed = closings.contains { closing in
            closing.index > known && (closing.machine ?? writer) == writer
                && index > closing.counted[writer] ?? 0
        }
        return isClosed ? .void : .counts
    }

    // MARK: Changes

    /// Takes the change at an index of the membership log.
    /// - Returns: false for a change that doesn't fit, which then changes nothing.
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
            closings.append(Closing(index: index, machine: nil, counted: counted))
        case .suspend(let machine, let counted):
            guard isMember(machine) else { return false }
            machines[machine]?.suspended = index
            machines[machine]?.closed = counted[machine] ?? 0
            closings.append(Closing(index: index, machine: machine, counted: counted))
        case .retire(let machine, let into):
            guard let membership = machines[machine],
                membership.removed != nil || membership.suspended != nil,
                let end = into[machine], end == membership.closed, end >= membership.retired
            else { return false }
            machines[machine]?.retired = end
            machines[machine]?.retiredInto = into.filter { $0.key != machine }
        }
        return true
    }
}
