// Session+Exchange: takes what the relay brings, and tells the relay what to read and write next.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import KeychainSynchronization

extension Session {
    /// How often a machine signs the head of its log, in milliseconds.
    static let headInterval: Int64 = 3_600_000

    mutating func exchange(_ delivered: Delivery) throws(KeychainFailure) -> Demand {
        var delivery = delivered
        try state.refresh(in: engine)
        let before = state.saved
        let suspended = replica.circle.roster.machines[replica.id]?.suspended
        try takeMembership(delivery.membership)
        if isCurrent, replica.circle.roster.machines[replica.id]?.suspended != suspended {
            isOutdated = true
        }
        isOutdated = isOutdated || replica.lacksEntries
        guard isMember else {
            if state.saved != before { try state.save(in: engine) }
            return Demand(.removed)
        }
        if delivery.storedIndex != 0, delivery.storedIndex == replica.readyIndex {
            let hadReturned = replica.ledger.hasReturned
            replica.confirm()
            // `hasReturned` changes with this machine's first entry after a suspension. Until that
            // entry, the other machines delete entries of their logs without waiting for this
            // machine, so they may have deleted entries that this machine hasn't read.
            isOutdated = isOutdated || replica.ledger.hasReturned != hadReturned
        }
        if let entry = unsent.map({ Data($0.bytes) }), delivery.storedIndex == unsent?.index,
            !delivery.entries.contains(entry)
        {
            // The server has stored the entry. The session reads the entry as if the server had
            // shown it.
            delivery.entries.insert(entry, at: 0)
        }
        try take(delivery)
        noteObstructedLogs(delivery)
        try noteEnds(delivery)
        noteSightings()
        if isCurrent {
            try apply(replica.settle(isComplete: rejected.isEmpty && !isOutdated))
            giveMissingKeys()
            if maySign {
                giveUpTokenAddition()
                try signChangeAgain()
                try takeRequests(delivery.tokenRequests)
                try retireLogs()
                try suspendAbsent(after: delivery.absenceLimit)
            }
            // Without the circle's key, a machine that has only some groups doesn't know which
            // groups it has.
            if replica.circleKey != nil { try collect() }
            if isLeaving { replica.appendUndecided() }
        }
        // `sent` is saved before another process, or another machine, can know of the entry.
        let entry = isCurrent ? try nextEntry() : nil
        if let entry {
            state.sent = entry.head
            state.entry = entry
        } else if let entry = state.entry, entry.index <= replica.readHeads[replica.id]?.index ?? 0
        {
            state.entry = nil
        }
        state.circleKey = replica.circleKey ?? state.circleKey
        state.keep(Array(replica.groupKeys.values))
        state.heads.merge(replica.settledHeads) { $1.index > $0.index ? $1 : $0 }
        state.decided = max(state.decided, replica.ledger.decided)
        if state.saved != before { try state.save(in: engine) }
        return try demand(entry)
    }

    // MARK: Taking

    private mutating func takeMembership(_ entries: [Data]) throws(KeychainFailure) {
        for bytes in entries {
            isMembershipRejected = true
            guard let entry = try? MembershipEntry(decoding: Array(bytes)) else { return }
            if replica.circle.digest(at: entry.index) != entry.digest {
                // The replica notes why it rejects an entry, unless entries before it are missing.
                guard (try? replica.take(entry)) != nil else { return }
                try state.append(entry, in: engine)
            }
            isMembershipRejected = false
            if state.change == entry { state.change = nil }
        }
    }

    /// Takes entries and heads of logs, and stores what they contain.
    private mutating func take(_ delivery: Delivery) throws(KeychainFailure) {
        for gap in delivery.gaps where isRestored != (gap.machine == replica.id.bytes) {
            replica.skip(MachineID(gap.machine), to: gap.index)
        }
        var changes: [Replica.Change] = []
        for bytes in delivery.entries {
            guard let entry = try? LogEntry(decoding: Array(bytes)) else {
                // The undecodable entry may belong to any log that isn't read to its end.
                let ends = Set(delivery.ends)
                rejected.formUnion(
                    wantedLogs.filter { !ends.contains($0) }.map { MachineID($0.machine) })
                continue
            }
            let isOwn = entry.frame.writer == replica.id
            if isOwn, isRestored {
                hasPassedOver = true
                // Anyone can write an entry in this machine's name, but only a process with this
                // machine's keys can sign it.
                guard
                    entry.index <= replica.readHeads[replica.id]?.index ?? 0
                        || !entry.isSigned(by: state.keys.description)
                else { throw MachineState.otherProcess }
                continue
            }
            guard isOwn || isRestored else { continue }
            do throws(SynchronizationFailure) {
                changes += isOwn ? try replica.restore(entry) : try replica.take(entry)
                rejected.remove(entry.frame.writer)
                obstructed.remove(entry.frame.writer)
            } catch {
                hasPassedOver = true
                switch error {
                // If this session isn't current yet, and this log isn't read to its end once the
                // relay delivers no more entries, ``noteObstructedLogs(_:)`` records the log.
                case .gap, .repeated: continue
                // The replica has noted the reason.
                default: rejected.insert(entry.frame.writer)
                }
            }
        }
        try apply(changes)
        while let changes = replica.openConfirmed() { try apply(changes) }
        for bytes in delivery.heads {
            guard let head = try? SignedHead(decoding: Array(bytes)) else { continue }
            if head == offeredHead {
                lastHead = head.moment
                offeredHead = nil
            }
            // The server still has the last head of a removed machine, which is nothing to report.
            let circle = replica.circle
            let isRemoved =
                circle.machine(head.machine) != nil && circle.member(head.machine) == nil
            if !isRemoved { try? replica.take(head) }
        }
    }

    /// Records the logs in which the server's next record is one that this session could not take,
    /// not even after it had read all that the server shows of the membership log. A session that
    /// isn't current yet would wait in vain for the logs' next entries, so these logs count as
    /// rejected.
    private mutating func noteObstructedLogs(_ delivery: Delivery) {
        // Within a round, the relay reads a log from the same position a second time only after
        // this session has accepted entries of the membership log. So once the relay delivers no
        // entries, this session has been given all that the server has at the demanded positions.
        // But a delivery that answers the demand for this machine's own log says nothing about
        // other logs.
        let (ends, own) = (Set(delivery.ends), replica.id.bytes)
        guard isRestored, !isCurrent, hasPassedOver, delivery.isMembershipEnd,
            delivery.entries.isEmpty, !ends.contains(where: { $0.machine == own })
        else { return }
        for position in wantedLogs where !ends.contains(position) {
            let machine = MachineID(position.machine)
            if rejected.insert(machine).inserted { obstructed.insert(machine) }
        }
    }

    /// Records whether this machine's own log, and after that the membership log and all other
    /// logs, except those of the machines in ``rejected``, were read to their ends. A log is at its
    /// end if the server has no entry at the log's next position or after that position.
    private mutating func noteEnds(_ delivery: Delivery) throws(KeychainFailure) {
        let ends = Set(delivery.ends)
        if !isRestored {
            let next = replica.nextIndex(of: replica.id)
            guard ends.contains(LogPosition(replica.id, next)) else { return }
            isOwnLogAtEnd = true
            // The log isn't restored before the relay has stored the entry that it got from an
            // earlier session.
            guard unsent == nil else { return }
            isOwnLogMissing =
                next <= state.heads[replica.id]?.index ?? 0
                || !(replica.cursors[replica.id]?.isWhole ?? true)
            isRestored = !isOwnLogMissing
            let own = replica.readHeads[replica.id] ?? state.sent
            if isRestored, own.index >= state.sent.index, own != state.sent {
                // The keychain doesn't know the last entry of this machine's log.
                replica.noteOldCopy()
            }
            replica.isRestoring = isOwnLogMissing
        } else if !isCurrent, delivery.isMembershipEnd,
            wantedLogs.allSatisfy({
                ends.contains($0) || rejected.contains(MachineID($0.machine))
            })
        {
            try compare()
            isCurrent = true
            begun = engine.milliseconds
        }
    }

    /// The next entry of this machine's own log, which an earlier session has given to the relay,
    /// and which the server doesn't show. `nil` if there is none, or if the server has not shown
    /// all that it has of this log.
    var unsent: LogEntry? {
        guard !isRestored, isOwnLogAtEnd, let entry = state.entry,
            entry.frame.previous == replica.readHeads[replica.id]
        else { return nil }
        return entry
    }

    /// The next entries to read of the other machines' logs.
    private var wantedLogs: [LogPosition] {
        let circle = replica.circle
        return circle.roster.machines.keys.sorted().compactMap { machine in
            let next = replica.nextIndex(of: machine)
            guard machine != replica.id else { return nil }
            // In the log of a removed machine, nothing counts beyond where it was closed.
            let isClosed =
                circle.member(machine) == nil && next > circle.closed[machine]?.index ?? 0
            if isClosed, !replica.mayNeedVoidEntries(of: machine) { return nil }
            return LogPosition(machine, next)
        }
    }

    // MARK: Demanding

    private mutating func demand(_ entry: LogEntry?) throws(KeychainFailure) -> Demand {
        var demand = Demand(isCurrent ? .current : isRestored ? .comparing : .restoring)
        demand.circle = Data(replica.circle.id.digest.bytes)
        demand.machine = replica.id.bytes
        demand.membershipIndex = replica.circle.head.index + 1
        demand.logs =
            isRestored
            ? wantedLogs : [LogPosition(replica.id, replica.nextIndex(of: replica.id))]
        // The founding entry is stored once this machine's own log is read. Any other change is
        // stored only while ``maySign`` is `true`, for two reasons: the server may have lost a part
        // of the membership log, and it is possible that a change that an earlier session signed
        // has to be signed again first.
        if let change = state.change,
            maySign || isRestored && change.index == 1,
            !isLeaving || !hasToAppend(entry)
        {
            demand.change = Data(change.bytes)
            demand.changeIndex = change.index
        }
        if let entry = entry ?? unsent {
            demand.entry = Data(entry.bytes)
            demand.entryIndex = entry.index
        }
        guard isCurrent else { return demand }
        // The relay checks whether the server still has the last entry that this machine sent. If
        // not, another session begins, which appends nothing until it has read this machine's own
        // log.
        if let sent = replica.readHeads[replica.id]?.index, sent > 0 {
            demand.logs.append(LogPosition(replica.id, sent))
        }
        demand.firstNeeded = replica.firstNeeded
        let now = engine.milliseconds
        if demand.entry == nil, abs(now - lastHead) >= Self.headInterval {
            demand.head = Data(try signedHead(at: now).bytes)
        }
        let (roster, ledger) = (replica.circle.roster, replica.ledger)
        // No retired log is to be deleted while a signed change waits to be stored: that change can
        // be a removal that was signed before this machine read the copies of the log's items, and
        // such a removal can make the copies void.
        if state.change == nil {
            demand.retired = roster.machines.keys
                .filter { roster.isRetired($0) && ledger.isCopied($0) }.map(\.bytes)
        }
        return demand
    }

    /// The head to store. A head that was offered before and that the server has not stored yet is
    /// offered again, unless it is an hour old. Two relays thus get the same head. If they got
    /// different ones, the older one could be stored last, and other machines would report a fork.
    private mutating func signedHead(at now: Int64) throws(KeychainFailure) -> SignedHead {
        if let head = offeredHead, abs(now - head.moment) < Self.headInterval { return head }
        let head = try replica.signedHead(moment: now)
        offeredHead = head
        return head
    }

    private mutating func nextEntry() throws(KeychainFailure) -> LogEntry? {
        var missing: [Bytes16] = []
        var reset: Set<Bytes16> = []
        var failure: KeychainFailure?
        let (engine, references, retained) = (engine, references, retained)
        let items = replica.ledger.items
        let compacts = replica.ledger.isWorthCompacting
        let entry = try replica.nextEntry(compacts: compacts) { name in
            do throws(KeychainFailure) {
                guard let reference = references[name],
                    let item = try engine.synchronizableItems([reference])[reference],
                    let version = SynchronizedItem(item), version.name == name
                else {
                    if let version = retained[name], version.stamp == items[name]?.stamp {
                        return version
                    }
                    missing.append(name)
                    return nil
                }
                // An item that was reset to an earlier version isn't written yet: it first gets a
                // later date.
                if let held = items[name], version.stamp < held.stamp {
                    reset.insert(name)
                    return nil
                }
                return version
            } catch {
                failure = error
                return nil
            }
        }
        if let failure { throw failure }
        // An item that was deleted without a tombstone comes back with the next session, if a log
        // has it.
        for name in missing { replica.abandon(name) }
        // An item that was reset is collected again, and gets a later date then.
        collected = collected.filter { !reset.contains($0.value) }
        return entry
    }
}
