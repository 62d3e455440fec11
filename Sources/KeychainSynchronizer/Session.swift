// Session: a machine's copy of its circle while a process has the keychain open.
//   (1) A session begins with nothing but what the machine keeps in its keychain, and reads all
//       logs again. The session makes no new entry before it has compared the logs with the
//       keychain.
//   (2) `Ledger.settle` decides whether an item that no log contains is appended again or deleted.
//   (3) A mutating call that throws leaves the session unusable. The caller begins another one.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSQLite
import KeychainSynchronization

struct Session: Sendable {
    let engine: KeychainEngine
    var state: MachineState
    var replica: Replica
    /// Whether this machine's own log was read to its end, and no entry of it is missing.
    var isRestored = false
    /// Whether the server has shown all that it has of this machine's own log.
    var isOwnLogAtEnd = false
    /// Whether all logs, except those of the machines in ``rejected``, were read to their ends, and
    /// the keychain was compared with them.
    var isCurrent = false
    /// Whether this machine was suspended or has returned since the session became current, or
    /// whether entries that the session has passed over count now. Only a session that has read all
    /// logs again can tell what this machine has missed.
    var isOutdated = false
    /// Whether the server no longer shows some entries of this machine's own log that it once had.
    var isOwnLogMissing = false

    /// The machines whose last entry to arrive was rejected. If an entry can't be decoded, this
    /// applies to all machines whose logs aren't read to their ends, because the entry may belong
    /// to any of these logs. The session doesn't wait for the rest of the logs of the machines in
    /// this set. While the set isn't empty, the session takes no item for deleted.
    var rejected: Set<MachineID> = []
    /// The machines in ``rejected`` in whose logs the server's next record is not the next entry,
    /// or is an entry that refers to entries of the membership log that the server doesn't show.
    var obstructed: Set<MachineID> = []
    /// Whether an entry arrived that could be decoded and that this session could not take.
    var hasPassedOver = false
    /// Whether the last entry of the membership log to arrive was rejected. Until it is accepted,
    /// no log entry that refers to it is accepted either.
    var isMembershipRejected = false

    /// The keychain's tombstones, and its items that "travel": these are sent to other machines if
    /// their access group is shared. The dictionary's keys are names in the logs.
    var references: [Bytes16: ItemReference] = [:]
    var names: [ItemReference: Bytes16] = [:]
    /// The stamps of the items and tombstones in the keychain, until the keychain is compared with
    /// the logs.
    var uncompared: [Bytes16: VersionStamp] = [:]
    /// Items that came from logs and that the keychain didn't have when the session began, until
    /// the keychain is compared with the logs.
    var arrived: Set<Bytes16> = []
    /// Synchronizable items that aren't sent to other machines, and why.
    var staying: [ItemReference: SynchronizedItem.ReasonToStay] = [:]
    /// Versions that were read from logs and whose items in the keychain don't travel any more or
    /// can't be opened, by name. The keychain doesn't have these versions, and this machine may
    /// have to append them again.
    var retained: [Bytes16: SynchronizedItem] = [:]
    /// Entries of the outbox whose changes were given to the replica, with the items' names. The
    /// replica has yet to append these changes.
    var collected: [OutboxEntry: Bytes16] = [:]
    /// Members without keys, and when this session noticed that, in milliseconds since 1970-01-01
    /// UTC.
    var keyless: [MachineID: Int64] = [:]
    /// The expiry of the join token for which this session has last signed an addition, in
    /// milliseconds since 1970-01-01 UTC.
    var tokenExpires = Int64.min
    /// When the session began or became current, in milliseconds since 1970-01-01 UTC.
    var begun: Int64
    /// When this session signed the last head that the server has stored, in milliseconds since
    /// 1970-01-01 UTC. 0: none yet.
    var lastHead: Int64 = 0
    /// The head that the server is to store, until the server has stored it.
    var offeredHead: SignedHead?

    init(
        _ state: MachineState, _ circle: Circle, _ engine: KeychainEngine
    ) throws(KeychainFailure) {
        self.engine = engine
        self.state = state
        begun = engine.milliseconds
        replica = Replica(
            state.keys, circle, circleKey: state.circleKey, groupKeys: state.groupKeys,
            remembering: state.heads, decided: state.decided)
        replica.isRestoring = true
        let id = StoredCircle(circle.id.digest.bytes)
        if let id, try engine.circle() != id {
            // A recovery of the keychain doesn't keep the outbox.
            try engine.collectChanges(for: id)
        }
        try survey()
    }

    /// Notes what the keychain has, one item after the other. No value is kept.
    private mutating func survey() throws(KeychainFailure) {
        var session = self
        try engine.forEachSynchronizable { item in
            let version = SynchronizedItem(item)
            session.note(item, version)
            guard let version else { return }
            if session.replica.mayWrite(version.record.accessGroup) {
                session.uncompared[version.name] = version.stamp
            } else {
                session.staying[item.reference] = .groupNotShared
            }
        }
        self = session
    }

    /// Whether this session may sign entries of the membership log: it has read everything, and all
    /// the while the other machines have kept each deletion until this machine acknowledged it.
    var maySign: Bool { isCurrent && !isOutdated && replica.ledger.hasReturned }

    var isMember: Bool { replica.circle.member(replica.id) != nil }

    /// Whether another session is to read all logs again: at once if this machine was suspended or
    /// has returned, if a retired log counts again, or if the server has lost the last entry of
    /// this machine's log; after some time if needed entries were missing or entries were rejected,
    /// since the server may show them now, or if a log can't be retired or compacted before the
    /// keychain has versions that it lacks.
    func isToBeRepeated(after delivery: Delivery) -> Bool {
        if isOutdated { return true }
        let sent = replica.readHeads[replica.id]?.index ?? 0
        if isCurrent,
            delivery.ends.contains(where: { $0.machine == replica.id.bytes && $0.index == sent })
        {
            return true
        }
        let isIncomplete =
            isOwnLogMissing
            || isCurrent
                && (!replica.skipped.isEmpty || !rejected.isEmpty || isMembershipRejected
                    || replica.lacksVersions)
                && !hasChangesToSend
        return isIncomplete && abs(engine.milliseconds - begun) >= Self.repetitionInterval
    }

    /// Whether the outbox may have changes that this session can send. While it has, a current
    /// session isn't replaced only because it lacks entries or versions: a restored item can have
    /// an earlier date than the version in the logs, and a new session would replace the item by
    /// that version.
    private var hasChangesToSend: Bool {
        replica.circleKey != nil && (try? engine.outbox(limit: 1))?.isEmpty != true
    }

    /// After how many milliseconds an incomplete session is replaced by a new one, which reads all
    /// logs again.
    private static let repetitionInterval: Int64 = 300_000

    /// Records under which reference the keychain has an item, or why the item doesn't travel.
    mutating func note(_ item: OpenedItem, _ version: SynchronizedItem?) {
        guard let version else {
            staying[item.reference] = SynchronizedItem.reasonToStay(
                item.record, item.protection, item.data)
            // If the item turns out to be deleted on other machines, it stays here.
            forget(item.reference)
            return
        }
        staying[item.reference] = nil
        note(version.name, item.reference)
    }

    mutating func note(_ name: Bytes16, _ reference: ItemReference) {
        // The item may have had another name.
        forget(reference)
        if let before = references.updateValue(reference, forKey: name) { names[before] = nil }
        names[reference] = name
    }

    private mutating func forget(_ reference: ItemReference) {
        if let name = names.removeValue(forKey: reference) { references[name] = nil }
    }

    // MARK: Status

    func status() throws(KeychainFailure) -> CircleStatus {
        guard isMember else { return CircleStatus(.removed) }
        var status = CircleStatus(isCurrent ? .current : isRestored ? .comparing : .restoring)
        status.circle = Data(replica.circle.id.digest.bytes)
        status.hasRecoveryCode = replica.circle.recovery != nil
        status.isChangeWaiting = state.change != nil
        status.isOwnLogMissing = isOwnLogMissing
        let withheld = replica.withheld
        for id in replica.circle.roster.members {
            status.machines.append(
                CircleStatus.Machine(
                    id: id.bytes, name: replica.name(of: id) ?? "", isThisOne: id == replica.id,
                    seesAllGroups: replica.circle.member(id)?.scope == .all,
                    seen: id == replica.id ? lastHead : replica.heads[id]?.moment ?? 0,
                    isSuspended: !replica.ledger.isPresent(id),
                    withheldCount: withheld[id] ?? 0))
        }
        try countWaiting(&status)
        for reason in SynchronizedItem.ReasonToStay.allCases {
            let count = staying.values.count { $0 == reason }
            if count > 0 { status.staying.append(StayingItems(reason: reason, count: count)) }
        }
        let unopened = isCurrent ? replica.unopenedCount : 0
        if unopened > 0 {
            status.notices.append(
                "Entries of this machine's own log contain \(unopened) "
                    + (unopened == 1 ? "version" : "versions")
                    + " that it has no key for. Until another machine gives it the keys, the "
                    + "versions in its log stay under their old keys, even after a machine is "
                    + "removed.")
        }
        if unsent != nil {
            status.notices.append(
                "The server has not stored the last entry of this machine's log yet. Until it has, "
                    + "this machine reads nothing new.")
        }
        for id in obstructed.sorted().prefix(50) {
            status.notices.append(
                "The server's record after entry \(replica.nextIndex(of: id) - 1) of \(id) is not "
                    + "the next entry, or refers to entries of the membership log that the server "
                    + "doesn't show. This machine goes on without the rest of that log.")
        }
        status.notices += replica.notices.prefix(100 - status.notices.count).map(\.description)
        return status
    }

    /// Counts the items whose changes wait, one page of the outbox after the other.
    private func countWaiting(_ status: inout CircleStatus) throws(KeychainFailure) {
        var counted: Set<ItemReference> = []
        var last = Int64.min
        while true {
            let page = try engine.outbox(after: last, limit: Self.outboxPageCount)
            guard let end = page.last else { break }
            last = end.id
            let new = Set(page.map(\.reference)).subtracting(counted)
            counted.formUnion(new)
            for item in try engine.synchronizableItems(Array(new)).values {
                guard let version = SynchronizedItem(item) else { continue }
                status.waitingSince =
                    status.waitingCount == 0
                    ? version.modified : min(status.waitingSince, version.modified)
                status.waitingCount += 1
            }
        }
        // Some changes wait and aren't in the outbox any more, such as those whose entries became
        // void.
        for (name, held) in replica.ledger.items where isCurrent && held.isPending {
            guard let reference = references[name], !counted.contains(reference) else { continue }
            let seconds = held.stamp.modified
            status.waitingSince =
                status.waitingCount == 0 ? seconds : min(status.waitingSince, seconds)
            status.waitingCount += 1
        }
    }
}

extension SynchronizedItem {
    init?(_ item: OpenedItem) { self.init(item.record, item.protection, data: item.data) }

    /// The item in the form in which the engine stores an item from another machine. The engine
    /// ignores the reference.
    var opened: OpenedItem {
        OpenedItem(
            reference: ItemReference(Bytes16(high: 0, low: 0)), record: record,
            protection: protection, data: data)
    }

    /// Whether all machines prefer this version to another of the same item.
    func supersedes(_ other: SynchronizedItem) -> Bool {
        modified == other.modified ? stamp > other.stamp : modified > other.modified
    }
}
