// Ledger+Appending: what the next entry of this machine's log contains, and which of the log's
// older entries it makes unneeded.

package import KeychainCore

extension Ledger {
    /// The contents of the next entry of this machine's log.
    package struct Plan: Hashable, Sendable {
        package var index: UInt64
        package var first: UInt64
        package var acknowledged: LogIndexes
        package var isClean: Bool
        package var versions: [Bytes16: VersionStamp]
    }

    /// Plans the next entry of this machine's log.
    ///
    /// - Parameters:
    ///   - compacts: Whether to append again the versions in this machine's older entries that are
    ///     still needed, so that these entries can be deleted.
    ///   - renews: Whether to repeat versions in entries from before the last removal, the oldest
    ///     first, if there is nothing else to append. They may be under keys that the removed
    ///     machine has.
    ///   - limit: The maximum number of versions in the entry.
    ///   - kept: Entries of this machine's log from this index on stay.
    ///   - unloadable: Items whose versions this machine can't append again, so that the entries
    ///     that contain them stay.
    ///   - incomplete: Machines whose logs have needed entries that this machine has skipped. The
    ///     planned entry acknowledges nothing more of these logs, since that would include the
    ///     skipped entries.
    /// - Returns: `nil` if there is nothing to append.
    package func plan(
        compacts: Bool, renews: Bool = false, limit: Int = .max, keepingFrom kept: UInt64 = .max,
        unloadable: Set<Bytes16> = [], incomplete: Set<MachineID> = []
    ) -> Plan? {
        let log = logs[me] ?? Log()
        let index = log.head + 1
        let pending = Set(items.filter { $0.value.isPending }.keys)
        let areAbsentCopied = areAbsentCopied
        var names = pending
        var needed: [Bytes16: UInt64] = [:]
        var end: UInt64 = outdated.values.max() ?? 0
        for name in log.items.values.joined() {
            guard let place = items[name]?.places[me] else { continue }
            if isDone(name, areAbsentCopied) { end = max(end, place) } else { needed[name] = place }
        }
        let kept = needed.filter { unloadable.contains($0.key) }.values.reduce(kept, min)
        // If the log is compacted, the entries before `end` are dropped.
        if end > 0 { end = min(end + 1, kept) }
        // Unneeded entries in front of all needed ones, such as acknowledgements, are in themselves
        // a reason to compact the log only if there are more than `spareCount` of them.
        let isSpareInFront =
            needed.values.reduce(min(kept, index), min) > log.first + Self.spareCount
        let copied = copiedElsewhere
        // Other logs have copies of this log's retired entries, but the copies may become void. The
        // retired entries therefore stay while this machine couldn't append all their versions
        // again: it can't load one of the versions, or it hasn't read a copy.
        let keepsRetired =
            !copied.isDisjoint(with: unloadable)
            || mayLoseCopies && !retiredOwn.isDisjoint(with: doubts.keys)
        let compacts =
            compacts && pending.count <= limit && !keepsRetired && (end > 0 || isSpareInFront)
        if compacts {
            names.formUnion(copied)
            names.formUnion(needed.filter { $0.value < end }.keys)
        }
        let renews = renews && names.isEmpty
        if renews {
            let old = needed.filter {
                log.known(at: $0.value) < roster.lastRemoval && !unloadable.contains($0.key)
            }
            let sorted = old.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
            names = Set(sorted.prefix(limit).map(\.key))
        }
        if names.count > limit {
            names = Set((pending.sorted() + names.subtracting(pending).sorted()).prefix(limit))
        }
        for name in names { needed[name] = nil }
        // A pending version may be in a void entry of this log. For a later session, that entry is
        // then the only sign that the item wasn't deleted. So the older entries stay until all
        // pending versions are appended.
        let isShortened =
            (compacts || renews && !names.isEmpty) && !keepsRetired
            && pending.union(copied).isSubset(of: names)
        let first = isShortened ? needed.values.reduce(min(kept, index), min) : log.first
        var acknowledged: LogIndexes = [:]
        let again = names.compactMap { items[$0]?.places[me] }
        let isClean =
            (Array(outdated.values) + again).allSatisfy { $0 < first }
            && items.allSatisfy { !$0.value.isPending || names.contains($0.key) }
        // After a removal or suspension, every machine appends an entry. A clean entry shows that
        // the machine has dealt with the entries that became void; any entry shows that it is
        // present again.
        let known = isClean ? log.settledKnown : log.known
        var isAcknowledging = known < roster.lastClosing
        let lastCopies = self.copied
        for (other, theirs) in logs where other != me && !incomplete.contains(other) {
            let before = log.acknowledged[other] ?? 0
            // The entries with the earlier acknowledgements may be deleted once this one is stored.
            if theirs.head > before || first > log.first { acknowledged[other] = theirs.head }
            let withCopies = min(lastCopies[other] ?? 0, theirs.head)
            if max(theirs.lastOfInterest, withCopies) > before { isAcknowledging = true }
        }
        guard !names.isEmpty || isAcknowledging || first > log.first else { return nil }
        return Plan(
            index: index, first: first, acknowledged: acknowledged, isClean: isClean,
            versions: items.filter { names.contains($0.key) }.mapValues(\.stamp))
    }

    /// A log isn't compacted merely to drop this number of unneeded entries or fewer.
    private static let spareCount: UInt64 = 64

    /// Whether it pays to append the needed versions of this machine's log again. It pays if many
    /// entries contain no version that is the last one of its item in this log: more than
    /// `spareCount` entries, and more entries than the log has items. Deletions that no longer have
    /// to stay aren't counted as items. It also pays if, after a removal or suspension, outdated
    /// versions keep the log from being clean, since other machines wait for a clean entry.
    package var isWorthCompacting: Bool {
        guard let log = logs[me] else { return false }
        if log.settledKnown < roster.lastClosing, !outdated.isEmpty { return true }
        guard log.head - log.first >= Self.spareCount else { return false }
        let length = Int(log.head - log.first) + 1
        let areAbsentCopied = areAbsentCopied
        let current = log.items.values.reduce(0) { $0 + $1.count { !isDone($0, areAbsentCopied) } }
        return length - log.items.count > max(Int(Self.spareCount), current)
    }

    /// The plan of an entry without versions and acknowledgements, which drops no older entries.
    package var emptyPlan: Plan {
        let log = logs[me] ?? Log()
        return Plan(
            index: log.head + 1, first: log.first, acknowledged: [:],
            isClean: outdated.isEmpty && !items.contains { $0.value.isPending },
            versions: [:])
    }

    /// Whether an entry that this ledger has already recorded counts, and no later entry of its log
    /// has declared it unneeded.
    package func isNeeded(_ writer: MachineID, _ index: UInt64) -> Bool {
        guard let log = logs[writer] else { return false }
        return index >= log.first
            && roster.standing(of: writer, at: index, knowing: log.known(at: index)) == .counts
    }

    /// Whether an entry that this ledger has already recorded is void.
    package func isVoid(_ writer: MachineID, _ index: UInt64) -> Bool {
        guard let log = logs[writer] else { return false }
        return roster.standing(of: writer, at: index, knowing: log.known(at: index)) == .void
    }

    /// The index of the first entry of a log that is still needed.
    package func first(of writer: MachineID) -> UInt64 { logs[writer]?.first ?? 1 }

    /// Records that the planned entry is in the log. `known` is the index of the last entry of the
    /// membership log that this machine knew when it appended the entry.
    package mutating func append(_ plan: Plan, knowing known: UInt64) {
        for (name, stamp) in plan.versions {
            if let before = place(of: name, in: me) { outdated[name] = before }
            remove(name, from: me)
            if let held = items[name], held.stamp != stamp {
                // A later version was written or read while the entry was being appended.
                items[name]?.earlier[stamp, default: [:]][me] = plan.index
                outdated[name] = plan.index
            } else {
                items[name, default: Held(stamp: stamp)].places[me] = plan.index
                items[name]?.isPending = false
            }
            logs[me, default: Log()].items[plan.index, default: []].insert(name)
        }
        var log = logs[me] ?? Log()
        log.head = plan.index
        if reached[me] ?? 0 == plan.index - 1 { reached[me] = plan.index }
        log.first = plan.first
        if log.knowledge.last?.known != known {
            log.knowledge.append(.init(index: plan.index, known: known))
        }
        log.acknowledged.merge(plan.acknowledged) { $1 }
        if plan.isClean { log.settledKnown = known }
        if !plan.versions.isEmpty { log.lastOfInterest = plan.index }
        logs[me] = log
        outdated = outdated.filter { $0.value >= plan.first }
        for index in log.items.keys where index < plan.first {
            for name in log.items[index] ?? [] {
                let wasCounting = items[name]?.places[me] != nil
                remove(name, from: me)
                if wasCounting { doubt(name, [:]) }
            }
        }
    }

    /// Whether an item is a deletion that no longer has to stay in this machine's log.
    private func isDone(_ name: Bytes16, _ areAbsentCopied: Bool) -> Bool {
        guard areAbsentCopied, let held = items[name], held.stamp.isDeletion, !held.isPending,
            let place = held.places[me], held.earlier.isEmpty, outdated[name] == nil
        else { return false }
        return roster.members.allSatisfy {
            $0 == me || !isPresent($0) || logs[$0]?.settled[me] ?? 0 >= place
        }
    }
}
