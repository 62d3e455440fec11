// Replica+Appending: the entries of this machine's own log.

package import KeychainCore
import KeychainSQLite

extension Replica {
    /// The maximum number of versions in an entry, and the maximum number of bytes in all of its
    /// versions. The second limit doesn't apply to an entry with a single version. An entry has at
    /// most 1 MiB.
    static let versionLimit = 128
    static let versionByteLimit = 768 << 10
    /// The number of bytes after which no further grants are added to an entry, and no further keys
    /// to a grant.
    static let grantByteLimit = 96 << 10
    static let grantKeyByteLimit = 64 << 10

    /// The number of versions in this machine's own log for which this machine has no key. Until
    /// this machine gets the keys, it doesn't repeat versions from its older entries.
    package var unopenedCount: Int { unopened.values.joined().count { $0.place.writer == id } }

    /// Records a version that was written on this machine.
    package mutating func write(_ version: SynchronizedItem) {
        write(version.name, version.stamp)
    }

    package mutating func write(_ name: Bytes16, _ stamp: VersionStamp) {
        // A version that is neither in a log nor pending is in doubt. It is written like a new one.
        if let held = ledger.items[name], held.stamp == stamp,
            held.isPending || !held.places.isEmpty
        {
            return
        }
        unloadable.remove(name)
        ledger.write(name, stamp)
    }

    /// The index of the entry that waits for its confirmation. 0: there is none.
    package var readyIndex: UInt64 { ready?.entry.index ?? 0 }

    /// The index of the first entry of this machine's log that is needed.
    package var firstNeeded: UInt64 { ledger.first(of: id) }

    /// Returns the next entry of this machine's log; `nil` if this machine isn't a member or has no
    /// circle key, or if there is nothing to append: no version that `load` returns, no grant, no
    /// request for keys, no acknowledgement of logs or of a removal or suspension, and no older
    /// entry to make unneeded. Call ``confirm()`` when the server has the entry. `load` returns an
    /// item's version in the keychain; `nil` if the keychain has none.
    ///
    /// If `compacts` is set, the versions in older entries that are still needed are appended
    /// again, so that these entries can be deleted. If there is nothing else to append, versions
    /// from before the last removal are appended again, under the keys of the current epoch.
    package mutating func nextEntry(
        compacts: Bool, load: (Bytes16) -> SynchronizedItem?
    ) throws(KeychainFailure) -> LogEntry? {
        if let ready { return ready.entry }
        guard circle.member(id) != nil, circleKey != nil else { return nil }
        owed = owed.filter { mayBeGranted($0.key) }
            .mapValues { $0.filter { groupKeys[$0] != nil } }
        var versions: [SynchronizedItem] = []
        var plan = try plan(compacts: compacts, &versions, load: load)
        if ledger.isWorthCompacting,
            unloadable.contains(where: { ledger.items[$0]?.places[id] != nil })
                || !ledger.copiedElsewhere.isDisjoint(with: unloadable)
        {
            // Before this log can be compacted, a new session has to read the unloadable versions
            // from the logs.
            lacksVersions = true
        }
        let isWithoutItems = plan == nil
        if isWithoutItems {
            guard !owed.isEmpty || !missing.isEmpty else { return nil }
            plan = ledger.emptyPlan
        }
        guard var plan else { return nil }
        let groups = groupKeys(for: versions)
        regrant(before: plan.first)
        var (parts, isAll) = grantParts()
        if isWithoutItems, parts.isEmpty, missing.isEmpty { return nil }
        if plan.first > firstNeeded {
            if isAll {
                regranting = nil
            } else {
                // The older entries stay until all their grants are in later ones.
                regranting = regranting ?? plan.index
                plan = ledger.emptyPlan
                versions = []
            }
        }
        if !missing.isEmpty { parts.append(.wanted(missing)) }
        let frame = LogEntry.Frame(
            circle: circle.id, writer: id, previous: myHead, membership: circle.head,
            first: plan.first,
            acknowledged: cursors.mapValues(\.head).filter {
                plan.acknowledged[$0.key] == $0.value.index
            }, isClean: plan.isClean)
        for version in versions {
            guard let key = groups[version.record.accessGroup] else { continue }
            let place = SealedVersion.Place(
                circle: circle.id, writer: id, index: frame.index, part: UInt32(parts.count))
            parts.append(.version(SealedVersion(version, under: key, at: place)))
        }
        let entry = try LogEntry(frame, parts, by: keys)
        ready = Ready(entry: entry, plan: plan)
        return entry
    }

    private mutating func plan(
        compacts: Bool, _ versions: inout [SynchronizedItem], load: (Bytes16) -> SynchronizedItem?
    ) throws(KeychainFailure) -> Ledger.Plan? {
        var limit = Self.versionLimit
        // This machine can't repeat versions that it can't open. If entries of this machine's log
        // were retired and count again, these entries stay until a new session has read them.
        let isShortening = unopenedCount == 0 && !lacksEntries
        var compacts = compacts && isShortening
        var renews = isShortening
        while true {
            // While grants are repeated in several entries, these entries stay. Otherwise each new
            // entry would make the one before it unneeded, and its grants would have to be repeated
            // in turn.
            let next = ledger.plan(
                compacts: compacts, renews: renews, limit: limit,
                keepingFrom: regranting ?? .max, unloadable: unloadable,
                incomplete: Set(cursors.filter { !$0.value.isWhole }.keys))
            guard var plan = next else { return nil }
            versions = []
            var byteCount = 0
            for name in plan.versions.keys.sorted() {
                guard let version = load(name), version.name == name else { continue }
                byteCount += version.byteCount
                versions.append(version)
            }
            if byteCount > Self.versionByteLimit, plan.versions.count > 1 {
                limit = plan.versions.count / 2
                continue
            }
            let missing = Set(plan.versions.keys).subtracting(versions.map(\.name))
            if compacts || renews, !missing.isEmpty {
                // Entries with a version that can't be loaded stay. If that version isn't appended
                // yet, all older entries stay: if the caller gives the version up, an earlier
                // version of the same item may be needed again.
                if missing.contains(where: { ledger.items[$0]?.isPending ?? false }) {
                    (compacts, renews) = (false, false)
                } else {
                    unloadable.formUnion(missing)
                }
                continue
            }
            // The items may have changed in the keychain since the ledger recorded them.
            for version in versions { write(version) }
            if versions.isEmpty, !plan.versions.isEmpty { return nil }
            plan.versions = Dictionary(uniqueKeysWithValues: versions.map { ($0.name, $0.stamp) })
            plan.isClean = plan.isClean && missing.isEmpty
            return plan
        }
    }

    /// Records that the server has the entry that ``nextEntry(compacts:load:)`` returned.
    package mutating func confirm() {
        guard let ready else { return }
        self.ready = nil
        myHead = ready.entry.head
        let known = ready.entry.frame.membership.index
        ledger.append(ready.plan, knowing: known)
        // A removal or suspension that became known in the meantime may make the entry void.
        if known < circle.head.index { ledger.revise(circle.roster) }
        noteGrants(ready.entry)
        noteUses(ready.entry)
        for (machine, membership) in circle.roster.machines where membership.added > known {
            oweUnread(to: machine)
        }
        for case .wanted(let keys) in ready.entry.parts { askedFor.formUnion(keys) }
    }

    /// Records the keys that an entry grants.
    mutating func noteGrants(_ entry: LogEntry) {
        let writer = entry.frame.writer
        var given: [MachineID: Set<Bytes16>] = [:]
        for case .grant(let grant) in entry.parts {
            given[grant.recipient, default: []].formUnion(grant.keys)
            guard writer == id else { continue }
            owed[grant.recipient]?.subtract(grant.keys)
            if owed[grant.recipient]?.isEmpty ?? false { owed[grant.recipient] = nil }
        }
        var log = (grants[writer] ?? [:]).filter { $0.key >= entry.frame.first }
        if !given.isEmpty { log[entry.index] = given }
        grants[writer] = log.isEmpty ? nil : log
        if writer == id { regrantVoid() }
    }

    /// Records the keys under which an entry's versions are sealed.
    mutating func noteUses(_ entry: LogEntry) {
        for case .version(let version) in entry.parts {
            uses[version.key, default: [:]][entry.frame.writer] = entry.index
        }
    }

    /// The keys for a machine that begins to read now: those in its scope that needed entries use,
    /// and those of the current epoch. While entries are withheld, all keys in its scope, since the
    /// withheld entries may use any of them.
    func neededKeys(of machine: MachineID) -> Set<Bytes16> {
        let isWhole = withheld.isEmpty
        let keys = groupKeys.values.filter { mayHave($0, machine) && (!isWhole || isNeeded($0)) }
        return Set(keys.map(\.id))
    }

    /// Whether a key is of the current epoch, or a needed entry has a version under it.
    private func isNeeded(_ key: GroupKey) -> Bool {
        key.epoch == circle.roster.epoch
            || (uses[key.id] ?? [:]).contains { $0.value >= ledger.first(of: $0.key) }
    }

    /// Signs the head of this machine's log.
    package func signedHead(moment: Int64) throws(KeychainFailure) -> SignedHead {
        try SignedHead(
            myHead, membership: circle.head, moment: moment, in: circle.id, by: keys)
    }

    // MARK: Keys

    /// Whether this machine may write items of an access group.
    package func mayWrite(_ group: String) -> Bool {
        guard let scope = circle.member(id)?.scope else { return false }
        return scope == .all || circleKey.map { scope.includes($0.label(of: group)) } ?? false
    }

    /// Marks the keys that this machine still has to grant: its earlier sessions may have ended
    /// before all grants were in its log. `added` are the machines that it added. Call this after
    /// all logs have been read.
    package mutating func oweKeys(to added: [MachineID]) {
        guard circleKey != nil else { return }
        let (mine, all) = (granted(by: [id]), granted(by: Array(grants.keys)))
        for machine in recipients {
            // A machine that has appended an entry has the circle's key. If the member that added a
            // machine was lost before it granted anything, the other members grant the keys.
            let isNew = circle.member(machine) != nil && nextIndex(of: machine) == 1
            let isMine =
                isNew && added.contains(machine)
                || circle.founder == id && (machine == id || machine == circle.recovery?.id)
            if isMine && mine[machine] == nil || isNew && all[machine] == nil {
                owed[machine, default: []].formUnion(neededKeys(of: machine))
            }
        }
        // A key that no log grants, or that this machine's own log grants, was probably generated
        // by this machine. A key is stored here before its grants are on the server.
        let (givenByMe, given) = (Set(mine.values.joined()), Set(all.values.joined()))
        for key in groupKeys.values
        where isNeeded(key) && (givenByMe.contains(key.id) || !given.contains(key.id)) {
            owe(key)
        }
        for (machine, keys) in all {
            // If a machine asks for a key, it is assumed that the machine can't use the grants of
            // this key by other machines.
            let asked = (requests[machine] ?? []).subtracting(mine[machine] ?? [])
            owed[machine]?.subtract(keys.subtracting(asked))
            if owed[machine]?.isEmpty ?? false { owed[machine] = nil }
        }
    }

    /// Marks a key to be granted to the machines that have asked for it and to which this machine's
    /// log doesn't grant it yet.
    mutating func answerRequests(for key: GroupKey) {
        let asking = requests.filter { $0.value.contains(key.id) && mayHave(key, $0.key) }
        guard !asking.isEmpty else { return }
        let mine = granted(by: [id])
        for machine in asking.keys where mine[machine]?.contains(key.id) != true {
            owed[machine, default: []].insert(key.id)
        }
    }

    /// Marks keys to be granted to a new machine. The member that added the new machine had read
    /// this machine's log up to some entry. Keys that this log grants to other machines in later
    /// entries couldn't be granted by that member, so they are marked here.
    mutating func oweUnread(to machine: MachineID) {
        let read = circle.member(machine)?.heads[id]?.index ?? 0
        let given = granted(by: Array(grants.keys))[machine] ?? []
        let unread = (grants[id] ?? [:]).filter { $0.key > read }.values
        for missing in Set(unread.flatMap { $0.values.joined() }).subtracting(given) {
            guard let key = groupKeys[missing], mayHave(key, machine) else { continue }
            owed[machine, default: []].insert(missing)
        }
    }

    /// All members, and the recovery code's keys.
    private var recipients: [MachineID] {
        circle.roster.members + [circle.recovery?.id].compactMap { $0 }
    }

    /// Marks a key to be granted to all machines that may have it.
    private mutating func owe(_ key: GroupKey) {
        for machine in recipients where mayHave(key, machine) {
            owed[machine, default: []].insert(key.id)
        }
    }

    /// The other members that have been given no keys, as far as this machine has read the logs,
    /// and to which it isn't about to grant any. Without the circle's key they have written
    /// nothing, and can't ask for keys.
    package var membersWithoutKeys: [MachineID] {
        let silent = circle.roster.members.filter {
            $0 != id && nextIndex(of: $0) == 1 && owed[$0] == nil
        }
        guard !silent.isEmpty else { return [] }
        let given = granted(by: Array(grants.keys))
        return silent.filter { given[$0] == nil }
    }

    /// Marks keys to be granted to a member that has been given none.
    package mutating func giveKeys(to machine: MachineID) {
        guard circleKey != nil else { return }
        owed[machine, default: []].formUnion(neededKeys(of: machine))
    }

    /// The identifiers of keys that unopened versions need and that were not asked for yet. Empty
    /// if this machine has only some groups, since it isn't allowed to have the keys of the others.
    private var missing: Set<Bytes16> {
        guard circle.member(id)?.scope == .all else { return [] }
        return Set(unopened.keys).subtracting(askedFor)
    }

    /// The current epoch's keys for the versions' groups. Missing keys are generated. Each key is
    /// marked to be granted to the recovery code, and to all machines whose scope includes the
    /// group, except those to which a log already grants it.
    private mutating func groupKeys(for versions: [SynchronizedItem]) -> [String: GroupKey] {
        var groups: [String: GroupKey] = [:]
        let given = versions.isEmpty ? [:] : granted(by: Array(grants.keys))
        for group in Set(versions.map(\.record.accessGroup)) {
            let epoch = circle.roster.epoch
            let known = groupKeys.values.filter { $0.group == group && $0.epoch == epoch }
            let key =
                known.min { $0.id < $1.id }
                ?? GroupKey.random(epoch: epoch, group: group, in: circle.id)
            groupKeys[key.id] = key
            groups[group] = key
            for machine in recipients
            where given[machine]?.contains(key.id) != true && mayHave(key, machine) {
                owed[machine, default: []].insert(key.id)
            }
        }
        return groups
    }

    /// - Returns: Grants of the keys that are marked to be granted, and whether all of these keys
    ///   are included.
    private mutating func grantParts() -> ([LogEntry.Part], Bool) {
        guard let circleKey else { return ([], true) }
        var isAll = true
        var parts: [LogEntry.Part] = []
        var byteCount = 0
        for machine in owed.keys.sorted() {
            guard
                let description = machine == circle.recovery?.id
                    ? circle.recovery : circle.member(machine)?.description
            else { continue }
            guard byteCount < Self.grantByteLimit else {
                isAll = false
                break
            }
            var keys: [GroupKey] = []
            var keyByteCount = 0
            for key in (owed[machine] ?? []).sorted().compactMap({ groupKeys[$0] }) {
                guard keyByteCount < Self.grantKeyByteLimit else {
                    isAll = false
                    break
                }
                keys.append(key)
                // The key, its identifier, epoch and group.
                keyByteCount += GroupKey.byteCount + 32 + key.group.utf8.count
            }
            let content = KeyGrant.Content(circleKey: circleKey, groupKeys: keys)
            guard let grant = try? KeyGrant(content, to: description, from: id, in: circle.id)
            else {
                // The other machines must not wait for one that has published an invalid key.
                unsealable.insert(machine)
                continue
            }
            parts.append(.grant(grant))
            byteCount += 2 * KeyGrant.encapsulatedKeyByteCount + keyByteCount
        }
        return (parts, isAll)
    }

    /// Marks keys to be granted again if the entries with their grants are about to be deleted. So
    /// the private keys of a member, or the recovery code, still open everything that they opened
    /// before.
    private mutating func regrant(before first: UInt64) {
        let log = grants[id] ?? [:]
        var later: [MachineID: Set<Bytes16>] = [:]
        for (index, given) in log where index >= first { later.merge(given) { $0.union($1) } }
        for (index, given) in log where index < first {
            for (machine, keys) in given {
                let missing = keys.subtracting(later[machine] ?? [])
                if !missing.isEmpty || later[machine] == nil { owe([machine: missing]) }
            }
        }
    }

    /// Marks keys to be granted again if the entries with their grants have become void, since
    /// other machines take from void entries only keys of earlier epochs.
    mutating func regrantVoid() {
        for (index, given) in grants[id] ?? [:] where ledger.isVoid(id, index) {
            owe(given)
            grants[id]?[index] = nil
        }
    }

    private mutating func owe(_ given: [MachineID: Set<Bytes16>]) {
        for (machine, keys) in given where mayBeGranted(machine) {
            owed[machine, default: []].formUnion(keys)
        }
    }

    /// Marks the keys that only an absent machine's log grants and that this machine has, so that
    /// this machine grants them.
    /// - Returns: true if no grants are left to append, so that the log can be retired.
    mutating func adoptGrants(of absent: MachineID) -> Bool {
        let others = granted(
            by: grants.keys.filter { $0 != absent && !circle.roster.isRetired($0) })
        for (machine, keys) in granted(by: [absent]) where mayBeGranted(machine) {
            let missing = keys.filter { groupKeys[$0] != nil }
                .subtracting(others[machine] ?? [])
            if !missing.isEmpty || others[machine] == nil {
                owed[machine, default: []].formUnion(missing)
            }
        }
        return owed.isEmpty
    }

    /// All keys that the given machines' logs grant, by recipient. Void entries, and keys that the
    /// writer isn't allowed to give, are left out.
    private func granted(by writers: [MachineID]) -> [MachineID: Set<Bytes16>] {
        var all: [MachineID: Set<Bytes16>] = [:]
        for writer in writers {
            for (index, given) in grants[writer] ?? [:] where !ledger.isVoid(writer, index) {
                for (machine, keys) in given {
                    all[machine, default: []].formUnion(
                        keys.filter { groupKeys[$0].map { mayGive($0, writer) } ?? true })
                }
            }
        }
        return all
    }

    /// Whether a machine with a valid key is a member, or stands for the recovery code.
    private func mayBeGranted(_ machine: MachineID) -> Bool {
        !unsealable.contains(machine)
            && (machine == circle.recovery?.id || circle.member(machine) != nil)
    }
}
