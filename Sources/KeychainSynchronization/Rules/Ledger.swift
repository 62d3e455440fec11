// Ledger: one machine's knowledge of all logs: the current version of each item, and the entries
// that contain it. Documentation/Synchronization.md, "Logs" and "Deletions".
//   (1) The current version of an item is the greatest among the versions in all entries that count
//       and are still needed, and the versions that this machine has yet to append. If an item of
//       the keychain has no such version, and no other machine is expected to append the item
//       again, the item is in doubt: this machine decides whether it was deleted.
//   (2) A deletion stays in its log until no log contains an older version: every present machine
//       has acknowledged it and declared its own log clean, and the logs of all absent machines are
//       retired for good.
//   (3) The rules use no cryptography, files or clock. `ModelTests` tries all sequences of up to
//       six events, none of them a restart, on three new machines.

package import KeychainCore

package struct Ledger: Hashable, Sendable {
    /// The parts of a log's entry that the rules need.
    package struct Entry: Hashable, Sendable {
        package var writer: MachineID
        package var index: UInt64
        /// The index of the last entry of the membership log that the writer knew.
        package var known: UInt64
        /// The index of the first entry of the log that is still needed.
        package var first: UInt64
        /// How far the writer has read other logs, see `LogEntry.Frame`. Logs that the entry leaves
        /// out stay acknowledged as far as earlier entries say.
        package var acknowledged: LogIndexes
        /// Whether the log is clean with this entry: from `first` on, it contains no version that
        /// the writer knows to be superseded or that a later entry repeats, and the writer has no
        /// version left to append.
        package var isClean: Bool
        package var versions: [Bytes16: VersionStamp]
        /// Whether this machine has to acknowledge the entry, because the entry contains versions
        /// or contains grants to this machine. `versions` can be empty although the entry contains
        /// versions: it lacks those that are opened later.
        package var isOfInterest: Bool

        package init(
            writer: MachineID, index: UInt64, known: UInt64, first: UInt64,
            acknowledged: LogIndexes, isClean: Bool, versions: [Bytes16: VersionStamp],
            isOfInterest: Bool? = nil
        ) {
            self.isOfInterest = isOfInterest ?? !versions.isEmpty
            self.writer = writer
            self.index = index
            self.known = known
            self.first = first
            self.acknowledged = acknowledged
            self.isClean = isClean
            self.versions = versions
        }
    }

    /// What this machine knows of an item: its current version, and the earlier ones in the logs.
    package struct Held: Hashable, Sendable {
        /// The stamp of the current version.
        package internal(set) var stamp: VersionStamp
        /// For each log that contains the current version, the last entry that does.
        package internal(set) var places: LogIndexes = [:]
        /// Earlier versions. For each of them, the logs whose last entry with the item has this
        /// version, and the index of that entry.
        package internal(set) var earlier: [VersionStamp: LogIndexes] = [:]
        /// Whether this machine has yet to append the current version.
        package internal(set) var isPending = false

        /// The version in the last of those entries of `writer`'s log that contain the item.
        func stamp(in writer: MachineID) -> VersionStamp? {
            if places[writer] != nil { return stamp }
            return earlier.first { $0.value[writer] != nil }?.key
        }
    }

    struct Log: Hashable, Sendable {
        var head: UInt64 = 0
        var first: UInt64 = 1
        /// How far the writer knew the membership log when it wrote the entries of its own log.
        var knowledge: [Step] = []
        var acknowledged: LogIndexes = [:]
        /// How far the writer had read other logs, and the membership log, at its last clean entry.
        var settled: LogIndexes = [:]
        var settledKnown: UInt64 = 0
        /// For each entry that counts, by its index: the items whose last version in this log is in
        /// the entry.
        var items: [UInt64: Set<Bytes16>] = [:]
        /// The index of the last entry that has to be acknowledged.
        var lastOfInterest: UInt64 = 0

        /// From the entry at `index` on, the writer knew the membership log as far as `known`.
        struct Step: Hashable, Sendable {
            let index: UInt64
            let known: UInt64
        }

        var known: UInt64 { knowledge.last?.known ?? 0 }

        /// After a void entry, the writer states again what it acknowledges.
        mutating func forgetAcknowledgements() {
            acknowledged = [:]
            settled = [:]
            settledKnown = 0
        }

        func known(at index: UInt64) -> UInt64 {
            knowledge.last { $0.index <= index }?.known ?? 0
        }
    }

    package let me: MachineID
    package private(set) var roster: Roster
    package internal(set) var items: [Bytes16: Held] = [:]
    var logs: [MachineID: Log] = [:]
    /// Items whose current version no log contains, and that this machine doesn't have to append,
    /// except those in `awaited`. ``settle(isComplete:hasAllGroups:claimed:)`` decides on each of
    /// them once the logs are read up to the given indexes: entries up to there may contain the
    /// version, or a later one.
    var doubts: [Bytes16: LogIndexes] = [:]
    /// Items whose current version was in an entry that became void since this ledger was created,
    /// each with the entry's writer, which is expected to append the version again.
    var awaited: [Bytes16: MachineID] = [:]
    /// Items in entries of this machine's own log that were retired while the machine was away.
    var retiredOwn: Set<Bytes16> = []
    /// Items in void entries of this machine's own log.
    var voidOwn: Set<Bytes16> = []
    /// By item, the last entry in this machine's log that contains an outdated copy of it: an older
    /// version, or the same version as a later entry of this log.
    var outdated: [Bytes16: UInt64] = [:]

    /// How far this machine has read each log without a gap. A gap doesn't count if, after it, this
    /// machine has decided on all items that no log contains. See ``mayHaveMissedDeletions``.
    package internal(set) var reached: LogIndexes
    /// The index in the membership log of the last change that added or suspended this machine, and
    /// after which it has decided on all items that no log contained.
    package internal(set) var decided: UInt64
    /// Whether the keychain is an older copy of itself, so that this machine doesn't know what it
    /// has acknowledged.
    package var isOldCopy = false

    /// `reached` and `decided` are those at the end of the session before.
    package init(
        me: MachineID, roster: Roster, reached: LogIndexes = [:], decided: UInt64 = 0
    ) {
        self.me = me
        self.roster = roster
        self.reached = reached
        self.decided = decided
    }

    // MARK: Changes on this machine

    /// Records a version that was written on this machine, unless a later one is current.
    package mutating func write(_ name: Bytes16, _ stamp: VersionStamp) {
        if let held = items[name], stamp < held.stamp { return }
        replace(name, stamp)
        awaitAppending(name)
    }

    /// Records an item of the keychain that no log contains. This machine decides on the item once
    /// it has read the logs up to `needed`.
    package mutating func hold(_ name: Bytes16, _ stamp: VersionStamp, until needed: LogIndexes) {
        guard items[name] == nil else { return }
        items[name] = Held(stamp: stamp)
        doubts[name] = needed
    }

    /// Gives up a version that this machine has yet to append, because it doesn't have the item any
    /// more. If a log has the version, it stays current; otherwise an earlier one becomes current
    /// again, if a log has one.
    package mutating func abandon(_ name: Bytes16) {
        guard let held = items[name], held.isPending else { return }
        items[name]?.isPending = false
        guard held.places.isEmpty else { return }
        guard let next = held.earlier.max(by: { $0.key < $1.key }) else {
            items[name] = nil
            return
        }
        items[name]?.stamp = next.key
        items[name]?.places = next.value
        items[name]?.earlier[next.key] = nil
        if outdated[name] == next.value[me] { outdated[name] = nil }
    }

    /// Forgets an item that came into doubt while this machine read the logs: the machine first
    /// read an entry with the item's version, and later read that this entry is no longer needed or
    /// doesn't count.
    ///
    /// - Returns: `false` if the item isn't in doubt, for example because this machine has to
    ///   append it, or if a log contains a version of it.
    package mutating func forget(_ name: Bytes16) -> Bool {
        guard doubts[name] != nil, items[name]?.earlier.isEmpty ?? true else { return false }
        doubts[name] = nil
        items[name] = nil
        return true
    }

    // MARK: Reading

    /// Takes the next entry of a log.
    /// - Returns: The items whose current version changed to the one in the entry.
    package mutating func take(_ entry: Entry) -> [Bytes16] {
        note(entry)
        return take(entry.versions, of: entry.writer, at: entry.index)
    }

    /// Takes versions of an entry that was taken without them, because they had not been opened
    /// yet.
    /// - Returns: The items whose current version changed to the one in the entry.
    package mutating func take(
        _ versions: [Bytes16: VersionStamp], of writer: MachineID, at index: UInt64
    ) -> [Bytes16] {
        guard let log = logs[writer], index >= log.first else { return [] }
        let standing = roster.standing(of: writer, at: index, knowing: log.known(at: index))
        noteOwn(versions.keys, of: writer, standing)
        guard standing == .counts else { return [] }
        var taken: [Bytes16] = []
        for (name, stamp) in versions {
            let before = place(of: name, in: writer)
            if let before, index <= before {
                guard let held = items[name], let stated = held.stamp(in: writer) else { continue }
                if index < before {
                    // The version in the later entry was opened first.
                    guard stamp > held.stamp else { continue }
                    replace(name, stamp)
                    taken.append(name)
                    // The log's last entry with the item has a version that is superseded.
                    doubt(name, [:])
                    continue
                }
                guard stamp > stated else { continue }
            }
            let wasCounting = items[name]?.places[writer] != nil
            remove(name, from: writer)
            if writer == me, let before { outdated[name] = before }
            if let held = items[name], stamp < held.stamp {
                items[name]?.earlier[stamp, default: [:]][writer] = index
                if writer == me { outdated[name] = index }
                if wasCounting { doubt(name, [:]) }
            } else {
                if items[name]?.stamp != stamp {
                    replace(name, stamp)
                    taken.append(name)
                }
                items[name]?.places[writer] = index
                items[name]?.isPending = false
                doubts[name] = nil
                awaited[name] = nil
            }
            logs[writer]?.items[index, default: []].insert(name)
        }
        return taken.sorted()
    }

    private mutating func note(_ entry: Entry) {
        let writer = entry.writer
        var log = logs[writer] ?? Log()
        log.head = entry.index
        let before = reached[writer] ?? 0
        if entry.index == before + 1 { reached[writer] = entry.index }
        if log.knowledge.last?.known != entry.known {
            log.knowledge.append(.init(index: entry.index, known: entry.known))
        }
        let standing = roster.standing(of: writer, at: entry.index, knowing: entry.known)
        if standing == .counts {
            if entry.isOfInterest { log.lastOfInterest = entry.index }
            log.acknowledged.merge(entry.acknowledged) { $1 }
            if entry.isClean {
                log.settled = log.acknowledged
                log.settledKnown = entry.known
            }
        } else if standing == .void {
            log.forgetAcknowledgements()
        }
        let old = log.first
        // The `first` of this machine's next entry can't be lower, even if this entry is void.
        if standing == .counts || writer == me { log.first = max(old, entry.first) }
        logs[writer] = log
        guard log.first > old else { return }
        if writer == me { outdated = outdated.filter { $0.value >= log.first } }
        for index in log.items.keys where index < log.first {
            for name in log.items[index] ?? [] {
                let wasCounting = items[name]?.places[writer] != nil
                remove(name, from: writer)
                guard wasCounting else { continue }
                if standing == .counts {
                    doubt(name, log.acknowledged)
                } else if items[name]?.places.isEmpty ?? false {
                    // Only the void entry still has the version.
                    awaitAppending(name)
                }
            }
        }
    }

    /// Takes the roster of a newer membership log.
    package mutating func revise(_ roster: Roster) {
        self.roster = roster
        for (writer, log) in logs {
            for (index, names) in log.items {
                let standing = roster.standing(of: writer, at: index, knowing: log.known(at: index))
                guard standing != .counts else { continue }
                noteOwn(names, of: writer, standing)
                for name in names {
                    let wasCounting = items[name]?.places[writer] != nil
                    remove(name, from: writer)
                    guard wasCounting, items[name]?.places.isEmpty ?? false else { continue }
                    if standing == .retired {
                        doubt(name, roster.machines[writer]?.retiredInto ?? [:])
                    } else {
                        awaited[name] = writer
                    }
                }
            }
        }
        for (name, writer) in awaited where writer == me || !isPresent(writer) {
            // No other machine is expected to append the version again.
            awaitAppending(name)
        }
        // What void entries acknowledge doesn't count.
        for (writer, log) in logs where isVoid(writer, log.head) {
            logs[writer]?.forgetAcknowledgements()
        }
    }

    /// Decides on items whose current version no log contains. This machine appends the version
    /// again, unless the item was deleted or the version is a deletion that isn't needed any more.
    ///
    /// - Parameters:
    ///   - isComplete: Whether this machine has read and opened all needed entries. Otherwise no
    ///     item is taken for deleted.
    ///   - hasAllGroups: Whether this machine sees all access groups. Otherwise it can't open all
    ///     versions. So if it may have missed an item's deletion, it doesn't take the item for
    ///     deleted.
    ///   - claimed: How far logs are known to go. Entries up to there may still make earlier
    ///     entries unneeded, so that no log contains an item any more.
    /// - Returns: The items that were deleted.
    package mutating func settle(
        isComplete: Bool = true, hasAllGroups: Bool = true, claimed: LogIndexes = [:]
    ) -> [Bytes16] {
        for (name, writer) in awaited where isClean(writer) {
            // The writer didn't have the version any more, and appended a clean entry without it.
            awaitAppending(name)
        }
        var deleted: [Bytes16] = []
        let mayHaveMissed = mayHaveMissedDeletions
        let lacksLapsed = lacksLapsedLog
        for (name, needed) in doubts.sorted(by: { $0.key < $1.key }) {
            guard let held = items[name] else { continue }
            let isDeletion = held.stamp.isDeletion
            guard isRead(needed) else { continue }
            if !held.earlier.isEmpty || !isDeletion && (!mayHaveMissed || lacksLapsed) {
                awaitAppending(name)
            } else if isComplete, areAllClean, isDeletion || hasAllGroups {
                doubts[name] = nil
                items[name] = nil
                if !isDeletion { deleted.append(name) }
            }
        }
        let isUndecided = doubts.keys.contains { items[$0]?.stamp.isDeletion == false }
        if isComplete, isRead(claimed), !mayHaveMissed || !isUndecided { noteDecided() }
        return deleted
    }

    /// Whether a machine is a member and, if it was suspended, has appended an entry since it read
    /// of its last suspension. For this machine, it suffices to be a member.
    package func isPresent(_ machine: MachineID) -> Bool {
        roster.isPresent(
            machine, knowing: machine == me ? .max : logs[machine]?.known ?? 0)
    }

    /// Marks for appending what other machines are expected to append, and items in doubt whose
    /// deletion this machine can't have missed. To be called before this machine leaves the circle.
    package mutating func appendUndecided() {
        let undecided =
            mayHaveMissedDeletions
            ? [] : doubts.keys.filter { items[$0]?.stamp.isDeletion == false }
        for name in undecided + awaited.keys { awaitAppending(name) }
    }

    // MARK: Retiring

    /// Marks for appending the current versions that only the log of an absent machine contains,
    /// except those of `unloadable`.
    ///
    /// - Parameters:
    ///   - machine: The absent machine.
    ///   - unloadable: Items whose versions this machine doesn't have, and can't append.
    /// - Returns: The items of that log with a version that is yet to be appended. While there are
    ///   any, the log can't be retired.
    package mutating func adopt(
        _ machine: MachineID, unloadable: Set<Bytes16> = []
    ) -> Set<Bytes16> {
        var left: Set<Bytes16> = []
        for name in (logs[machine]?.items ?? [:]).values.joined() {
            guard let held = items[name] else { continue }
            let isAlone = held.places.keys.elementsEqual([machine])
            if isAlone, !unloadable.contains(name) { awaitAppending(name) }
            if isAlone || held.isPending { left.insert(name) }
        }
        return left
    }

    // MARK: Places

    /// Marks the current version as one that this machine has yet to append.
    private mutating func awaitAppending(_ name: Bytes16) {
        items[name]?.isPending = true
        doubts[name] = nil
        awaited[name] = nil
    }

    /// Makes a version the current one. The previous one, if a log contains it, becomes an earlier
    /// version.
    private mutating func replace(_ name: Bytes16, _ stamp: VersionStamp) {
        var held = Held(stamp: stamp)
        if let before = items[name] {
            held.earlier = before.earlier
            if !before.places.isEmpty {
                held.earlier[before.stamp, default: [:]].merge(before.places) { $1 }
            }
            held.places = held.earlier.removeValue(forKey: stamp) ?? [:]
            if let mine = place(of: name, in: me) { outdated[name] = mine }
        }
        doubts[name] = nil
        awaited[name] = nil
        items[name] = held
    }

    /// The last entry of a log that has a version of the item.
    func place(of name: Bytes16, in writer: MachineID) -> UInt64? {
        guard let held = items[name] else { return nil }
        if let index = held.places[writer] { return index }
        for places in held.earlier.values {
            if let index = places[writer] { return index }
        }
        return nil
    }

    /// Forgets that a log contains a version of the item.
    mutating func remove(_ name: Bytes16, from writer: MachineID) {
        guard let index = place(of: name, in: writer) else { return }
        logs[writer]?.items[index]?.remove(name)
        if logs[writer]?.items[index]?.isEmpty ?? false { logs[writer]?.items[index] = nil }
        guard items[name]?.places.removeValue(forKey: writer) == nil else { return }
        for stamp in items[name].map({ Array($0.earlier.keys) }) ?? [] {
            items[name]?.earlier[stamp]?[writer] = nil
            if items[name]?.earlier[stamp]?.isEmpty ?? false { items[name]?.earlier[stamp] = nil }
        }
    }

    /// Notes a doubt about an item if no log contains its current version any more. This machine
    /// decides on the item once it has read the logs up to `needed`.
    mutating func doubt(_ name: Bytes16, _ needed: LogIndexes) {
        guard let held = items[name], held.places.isEmpty, !held.isPending else { return }
        doubts[name] = needed
    }
}
