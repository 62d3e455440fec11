// Replica: one machine's copy of a circle: its keys, the verified logs, and the entries it has to
// append to its own log. Documentation/Synchronization.md.
//   (1) A replica does no I/O. The caller exchanges entries with the untrusted server, and stores
//       the values of items in the keychain.
//   (2) A rejected entry changes nothing but the list of notices.
//   (3) The next entry is returned again, byte for byte, until the caller confirms it, since the
//       server may have stored it although its answer was lost.

package import KeychainCore
package import KeychainCrypto

package struct Replica: Sendable {
    /// A change to make in the keychain.
    package enum Change: Hashable, Sendable {
        case store(SynchronizedItem)
        case delete(Bytes16)
    }

    struct Unopened: Sendable {
        let version: SealedVersion
        let place: SealedVersion.Place
    }

    struct Ready: Sendable {
        let entry: LogEntry
        let plan: Ledger.Plan
    }

    package let keys: MachineKeys
    /// Whether this machine's own log is being read. Until it has been read, other machines may
    /// know later entries of this log than this machine does.
    package var isRestoring = false
    /// The keys derived from the recovery code, while this machine opens grants to the code with
    /// them.
    package var recoveryKeys: MachineKeys?
    package internal(set) var circle: Circle
    package internal(set) var circleKey: CircleKey?
    package internal(set) var groupKeys: [Bytes16: GroupKey] = [:]
    package internal(set) var ledger: Ledger
    package internal(set) var cursors: [MachineID: LogCursor] = [:]
    /// Evidence against the server, a member or a copy of a machine: failures, except those of
    /// entries that arrive too early or were read before. At most 100 failures.
    package internal(set) var notices: [SynchronizationFailure] = []
    /// For each machine, the latest signed head that this replica has accepted.
    package internal(set) var heads: [MachineID: SignedHead] = [:]
    /// The ``settledHeads`` of this machine's last session.
    private let remembered: LogHeads
    /// For each log, the highest index that entries, signed heads or the last session have named.
    package internal(set) var claimed: LogIndexes = [:]
    var myHead = LogHead.empty
    /// Versions that can't be opened yet, by the identifier of the missing key.
    var unopened: [Bytes16: [Unopened]] = [:]
    /// For each removed machine's log that was read up to the entry that the removal names: the
    /// index from which on the log's entries are certain to be from before the removal.
    var confirmed: LogIndexes = [:]
    /// By writer, the versions in removed machines' logs that are held back until ``confirmed``
    /// includes their entries.
    var unconfirmed: [MachineID: [Unopened]] = [:]
    /// Items whose last version in this machine's own log was in an entry that was void when the
    /// version was opened, since a removal or suspension had named an earlier entry of that log.
    var voided: Set<Bytes16> = []
    /// The group keys that this machine has to grant, by recipient. An empty set stands for a grant
    /// of the circle key alone, which is in every grant.
    var owed: [MachineID: Set<Bytes16>] = [:]
    /// Machines with an agreement key to which nothing can be sealed. They get no grants.
    var unsealable: Set<MachineID> = []
    /// Missing keys that this machine has asked for since this replica was created.
    var askedFor: Set<Bytes16> = []
    /// The keys that other machines have asked for.
    var requests: [MachineID: Set<Bytes16>] = [:]
    /// The keys that the logs grant: by log, index of the entry and recipient.
    var grants: [MachineID: [UInt64: [MachineID: Set<Bytes16>]]] = [:]
    /// For each group key and each log, the index of the last entry with a version under the key.
    var uses: [Bytes16: LogIndexes] = [:]
    /// The index of the first of the entries that repeat the grants of older entries. `nil` once
    /// all these grants are repeated.
    var regranting: UInt64?
    /// Items whose versions are in logs but not in the keychain, so that the caller can't load
    /// them.
    var unloadable: Set<Bytes16> = []
    /// Whether a log couldn't be retired, or this machine's own log couldn't be compacted, because
    /// the keychain lacks versions that would have to be appended again. A new replica, which reads
    /// all logs, gives such versions to the keychain.
    package internal(set) var lacksVersions = false
    /// By log, the last entry that made earlier ones of the log unneeded.
    private var shortened: LogIndexes = [:]
    /// Whether this replica has passed over entries that count. A new replica takes them. This is
    /// so if, since this replica was created, a retired log has begun to count again, or an entry
    /// that made earlier ones of its log unneeded has become void.
    package private(set) var lacksEntries = false
    var ready: Ready?

    // MARK: Beginning

    /// Founds a circle, and returns the founder's replica and the founding entry. `name` is the
    /// machine's name, at most 255 bytes. `created` is in milliseconds since 1970-01-01 00:00:00
    /// UTC.
    package static func found(
        _ keys: MachineKeys, name: String, recovery: RecoveryCode?, created: Int64
    ) throws(KeychainFailure) -> (replica: Replica, entry: MembershipEntry) {
        let circleKey = CircleKey.random()
        let salt =
            recovery.map { MachineKeys.salt($0, founder: keys.description) } ?? Bytes16.random()
        let founding = MembershipEntry.Founding(
            salt: salt, keyCheck: circleKey.check, founder: keys.description,
            recovery: recovery.map { MachineKeys($0, salt: salt).description },
            sealedName: circleKey.seal(name: name, of: keys.id))
        let entry = try MembershipEntry(
            .found(founding), after: .empty, in: nil, created: created, by: keys)
        guard let circle = try? Circle(founding: entry) else {
            preconditionFailure("the founding entry that was just signed is not valid")
        }
        var replica = Replica(keys, circle)
        replica.circleKey = circleKey
        for machine in [keys.id, circle.recovery?.id].compactMap({ $0 }) {
            replica.owed[machine] = []
        }
        return (replica, entry)
    }

    /// Creates the replica of a machine that founded the circle or was added to it. `circle` is
    /// verified at least up to the entry by which the machine became a member. `remembered` and
    /// `decided` are the ``settledHeads`` and the ``Ledger/decided`` of the machine's last session.
    package init(
        _ keys: MachineKeys, _ circle: Circle, circleKey: CircleKey? = nil,
        groupKeys: [GroupKey] = [], remembering remembered: LogHeads = [:], decided: UInt64 = 0
    ) {
        self.keys = keys
        self.circle = circle
        self.circleKey = circleKey
        self.groupKeys = Dictionary(groupKeys.map { ($0.id, $0) }) { first, _ in first }
        self.remembered = remembered
        ledger = Ledger(
            me: keys.id, roster: circle.roster, reached: remembered.indexes, decided: decided)
        claimed = circle.named
        claim(remembered)
    }

    package var id: MachineID { keys.id }

    // MARK: Membership

    /// Takes the next entry of the membership log.
    package mutating func take(_ entry: MembershipEntry) throws(SynchronizationFailure) {
        let lapseCount = circle.roster.lapseCount
        try noting { (replica: inout Replica) throws(SynchronizationFailure) in
            try replica.circle.append(entry)
            try replica.compare(entry.change.heads)
            replica.claim(entry.change.heads)
        }
        ledger.revise(circle.roster)
        lacksEntries =
            lacksEntries || circle.roster.lapseCount != lapseCount
            || shortened.contains { $0.key != id && ledger.isVoid($0.key, $0.value) }
        regrantVoid()
        switch entry.change {
        case .add(let addition) where entry.signer == id:
            owed[addition.machine.id] = neededKeys(of: addition.machine.id)
        case .add(let addition) where entry.signer != circle.recovery?.id:
            oweUnread(to: addition.machine.id)
        case .remove(let closing):
            owed[closing.machine] = nil
            let closed = circle.closed[closing.machine]?.index ?? 0
            if nextIndex(of: closing.machine) > closed { confirm(closing.machine) }
        default:
            break
        }
    }

    /// The heads of all logs, as far as this machine has read them.
    package var readHeads: LogHeads {
        var heads = cursors.mapValues(\.verified)
        heads[id] = myHead
        return heads
    }

    /// How far this machine has read each log. Other machines' logs of which it has missed entries
    /// are left out until it has decided on all items that no log contains. For a retired log of a
    /// removed machine, this is at least the head at which the log was closed, if
    /// ``Ledger/reached`` goes that far. The next session begins with this.
    package var settledHeads: LogHeads {
        var heads = readHeads.filter {
            $0.key == id || $0.value.index <= ledger.reached[$0.key] ?? 0
        }
        for (machine, closed) in circle.closed
        where circle.roster.isRetired(machine) && closed.index <= ledger.reached[machine] ?? 0 {
            if closed.index > heads[machine]?.index ?? 0 { heads[machine] = closed }
        }
        return heads
    }

    // MARK: Reading

    /// The index of the next entry to read of a log.
    package func nextIndex(of writer: MachineID) -> UInt64 {
        (cursors[writer]?.head.index ?? 0) + 1
    }

    /// Continues at a later entry of a log, since the server no longer has the entries before it.
    package mutating func skip(_ writer: MachineID, to index: UInt64) {
        guard index <= LogHead.indexLimit else { return }
        cursors[writer, default: LogCursor(writer: writer)].skip(to: index)
    }

    /// Takes the next entry of another machine's log. ``openConfirmed()`` returns further changes.
    package mutating func take(_ entry: LogEntry) throws(SynchronizationFailure) -> [Change] {
        guard entry.frame.writer != id else {
            throw .misplaced("an entry of this machine's own log")
        }
        return try accept(entry)
    }

    /// Takes the next entry of this machine's own log. A new replica must read this log before any
    /// other, and before it appends an entry.
    package mutating func restore(_ entry: LogEntry) throws(SynchronizationFailure) -> [Change] {
        guard entry.frame.writer == id, ready == nil, cursors.keys.allSatisfy({ $0 == id }) else {
            throw .misplaced("an entry of this machine's own log")
        }
        let changes = try accept(entry)
        myHead = entry.head
        return changes
    }

    private mutating func accept(
        _ entry: LogEntry
    ) throws(SynchronizationFailure) -> [Change] {
        let writer = entry.frame.writer
        try noting { (replica: inout Replica) throws(SynchronizationFailure) in
            var cursor = replica.cursors[writer] ?? LogCursor(writer: writer)
            try cursor.take(entry, in: replica.circle)
            if let head = replica.circle.member(replica.id)?.heads[writer],
                head.index == entry.index, head != entry.head
            {
                throw .fork("entry \(head.index) of \(writer)")
            }
            if let head = replica.remembered[writer],
                head.index == entry.index && head != entry.head
                    || head.index + 1 == entry.index && head != entry.frame.previous
            {
                throw .fork("entry \(entry.index) of \(writer)")
            }
            if let closed = replica.circle.closed[writer], closed.index == entry.index,
                closed != entry.head
            {
                throw .fork("entry \(closed.index) of \(writer)")
            }
            try replica.compare(entry.frame.acknowledged)
            replica.claim(entry.frame.acknowledged)
            replica.cursors[writer] = cursor
        }
        let hasVersions = entry.parts.contains {
            if case .version = $0 { true } else { false }
        }
        let first = ledger.first(of: writer)
        _ = ledger.take(
            Ledger.Entry(
                writer: writer, index: entry.index, known: entry.frame.membership.index,
                first: entry.frame.first,
                acknowledged: entry.frame.acknowledged.indexes, isClean: entry.frame.isClean,
                versions: [:],
                isOfInterest: hasVersions || entry.grants(to: id)))
        if ledger.first(of: writer) != first { shortened[writer] = entry.index }
        noteGrants(entry)
        noteUses(entry)
        var changes: [Change] = []
        for (number, part) in entry.parts.enumerated() {
            switch part {
            case .version(let version):
                changes += open(Unopened(version: version, place: entry.place(ofPart: number)))
            case .grant(let grant):
                if grant.recipient == id {
                    changes += take(grant, in: entry, with: keys)
                } else if let recoveryKeys, grant.recipient == recoveryKeys.id {
                    changes += take(grant, in: entry, with: recoveryKeys)
                }
            case .wanted(let wanted):
                guard writer != id else { continue }
                requests[writer, default: []].formUnion(wanted)
                for key in wanted.compactMap({ groupKeys[$0] }) { answerRequests(for: key) }
            }
        }
        if circle.member(writer) == nil, entry.index == circle.closed[writer]?.index {
            confirm(writer)
            changes += openConfirmed() ?? []
        }
        return changes
    }

    /// Records an item of the keychain that no log contains. Call this when all logs have been read
    /// to their ends.
    package mutating func hold(_ name: Bytes16, _ stamp: VersionStamp) {
        if voided.contains(name), !stamp.isDeletion {
            // This machine wrote the version itself, in an entry that became void.
            write(name, stamp)
        } else {
            ledger.hold(name, stamp, until: neededClaims)
        }
    }

    /// See ``Ledger/appendUndecided()``.
    package mutating func appendUndecided() { ledger.appendUndecided() }

    /// See ``Ledger/forget(_:)``.
    package mutating func forget(_ name: Bytes16) -> Bool { ledger.forget(name) }

    /// Records that the keychain is an older copy of itself: this machine's log has entries that
    /// the keychain doesn't know.
    package mutating func noteOldCopy() { ledger.isOldCopy = true }

    /// Gives up a version that this machine has yet to append, because the keychain doesn't contain
    /// the item any more.
    package mutating func abandon(_ name: Bytes16) {
        // The server may have the entry that waits for its confirmation.
        guard ready?.plan.versions[name] == nil else { return }
        ledger.abandon(name)
        // If a log has the version that is current now, a new replica gives it to the keychain.
        if ledger.items[name]?.places.isEmpty == false { unloadable.insert(name) }
    }

    /// Decides on items that no log contains, after logs were read.
    ///
    /// - Parameter isComplete: Pass `true` only if no entry was rejected, ``lacksEntries`` isn't
    ///   set and, since it read the logs, this machine has neither been suspended nor returned from
    ///   a suspension.
    /// - Returns: The items that were deleted.
    package mutating func settle(isComplete: Bool = true) -> [Change] {
        ledger.appendRepeated(except: unloadable)
        let hasAllGroups = circle.member(id)?.scope == .all
        // A version that can't be opened may be that of any item.
        let isOpened = isAllOpened || !hasAllGroups
        let isConfirmed = unconfirmed.keys.allSatisfy {
            circle.roster.isRetired($0) || nextIndex(of: $0) > circle.closed[$0]?.index ?? 0
        }
        return ledger.settle(
            isComplete: isComplete && isOpened && isConfirmed
                && cursors.values.allSatisfy(\.isWhole),
            hasAllGroups: hasAllGroups, claimed: neededClaims
        ).map { .delete($0) }
    }

    /// Whether the key of each needed version that was read is known. Versions that are held back
    /// in ``unconfirmed`` aren't considered.
    var isAllOpened: Bool {
        !unopened.values.joined().contains { ledger.isNeeded($0.place.writer, $0.place.index) }
    }

    /// Whether to read a removed machine's log beyond where it was closed. A void entry may confirm
    /// that skipped ones aren't needed, or have a key that opens versions.
    package func mayNeedVoidEntries(of machine: MachineID) -> Bool {
        guard !circle.roster.isRetired(machine) else { return false }
        let isWhole = cursors[machine]?.isWhole ?? true
        return !isWhole || !isAllOpened && circle.member(id)?.scope == .all
    }

    /// Takes a machine's signed head.
    package mutating func take(_ head: SignedHead) throws(SynchronizationFailure) {
        try noting { (replica: inout Replica) throws(SynchronizationFailure) in
            try head.verify(in: replica.circle)
            // A later index proves that the head is newer, even if the machine's clock was set
            // back.
            if let before = replica.heads[head.machine],
                (head.log.index, head.moment) < (before.log.index, before.moment)
            {
                throw .fork("an older head of \(head.machine)")
            }
            try replica.compare([head.machine: head.log])
            replica.claim([head.machine: head.log])
            replica.heads[head.machine] = head
        }
    }

    /// Compares the heads that an entry or a signed head names with those read here.
    private func compare(_ acknowledged: LogHeads) throws(SynchronizationFailure) {
        for (writer, head) in acknowledged {
            let mine = writer == id ? myHead : cursors[writer]?.head
            if mine?.index == head.index, mine?.digest != head.digest, mine?.digest != .zero {
                throw .fork("entry \(head.index) of \(writer)")
            }
            if writer == id, !isRestoring, head.index > myHead.index, ready?.entry.head != head {
                throw .fork("entry \(head.index) of this machine's log, which it did not write")
            }
        }
    }

    private mutating func claim(_ heads: LogHeads) {
        claimed.merge(heads.indexes) { max($0, $1) }
    }

    /// How far the logs must be read before this machine decides on an item that is in none.
    /// Retired logs needn't be read: other logs contain their versions that counted.
    private var neededClaims: LogIndexes {
        var needed: LogIndexes = [:]
        for (machine, index) in claimed {
            // Beyond where the log of a removed machine was closed, nothing counts.
            let isMember = circle.member(machine) != nil
            let index = isMember ? index : min(index, circle.closed[machine]?.index ?? index)
            if index > circle.roster.machines[machine]?.retired ?? 0 { needed[machine] = index }
        }
        return needed
    }

    /// For each other log, the number of entries that were skipped and are still needed.
    package var skipped: LogIndexes {
        cursors.mapValues(\.missingCount).filter { $0.key != id && $0.value > 0 }
    }

    /// For each other log, the number of entries that are known to exist and that the server has
    /// not shown, as far as they are needed.
    package var withheld: LogIndexes {
        neededClaims.filter { $0.key != id }.reduce(into: skipped) { result, claim in
            let read = cursors[claim.key]?.head.index ?? 0
            if claim.value > read { result[claim.key, default: 0] += claim.value - read }
        }
    }

    /// Records evidence, once, and no more than 100 pieces.
    package mutating func note(_ failure: SynchronizationFailure) {
        if !notices.contains(failure), notices.count < 100 { notices.append(failure) }
    }

    private mutating func noting(
        _ body: (inout Replica) throws(SynchronizationFailure) -> Void
    ) throws(SynchronizationFailure) {
        do {
            var replica = self
            try body(&replica)
            self = replica
        } catch {
            switch error {
            case .gap, .repeated: break
            default: note(error)
            }
            throw error
        }
    }
}
