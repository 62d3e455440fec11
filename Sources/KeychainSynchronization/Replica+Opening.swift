// Replica+Opening: opens versions and grants of keys that were read from logs, and decides which
// machine may give or be given a key.

import KeychainCore

extension Replica {
    mutating func open(_ sealed: Unopened) -> [Change] {
        guard isConfirmed(sealed.place) else {
            unconfirmed[sealed.place.writer, default: []].append(sealed)
            return []
        }
        guard let key = groupKeys[sealed.version.key] else {
            unopened[sealed.version.key, default: []].append(sealed)
            return []
        }
        let version: SynchronizedItem
        do {
            version = try sealed.version.open(with: key, at: sealed.place)
        } catch {
            note(error)
            return []
        }
        guard let writer = circle.machine(sealed.place.writer), let circleKey,
            writer.scope.includes(circleKey.label(of: key.group))
        else { return [] }
        let (name, stamp) = (version.name, version.stamp)
        let taken = ledger.take(
            [name: stamp], of: sealed.place.writer, at: sealed.place.index)
        if sealed.place.writer == id {
            if ledger.isVoid(id, sealed.place.index) {
                voided.insert(name)
            } else {
                voided.remove(name)
            }
        }
        return taken.isEmpty ? [] : [.store(version)]
    }

    /// Whether a version at this place can be opened now, not held back. It can if its writer is a
    /// member, or if its entry doesn't count, isn't needed, or is certain to be from before the
    /// writer's removal. A removed machine can write its log anew, but the new log's hash chain
    /// doesn't lead to the entry that the removal names.
    private func isConfirmed(_ place: SealedVersion.Place) -> Bool {
        guard circle.member(place.writer) == nil, let closed = circle.closed[place.writer],
            place.index <= closed.index, ledger.isNeeded(place.writer, place.index)
        else { return true }
        return confirmed[place.writer].map { place.index >= $0 } ?? false
    }

    /// Records that a removed machine's log was read up to the entry that the removal names.
    mutating func confirm(_ writer: MachineID) {
        // The hash chain proves nothing about the entries before a gap.
        confirmed[writer] = cursors[writer]?.endOfGaps ?? 0
    }

    /// Opens the next versions that were held back and are certain now. Not all are opened at once,
    /// because a log can have any number.
    ///
    /// - Returns: `nil` if there are none.
    package mutating func openConfirmed() -> [Change]? {
        for (writer, held) in unconfirmed where confirmed[writer] != nil {
            // The last ones are opened first. Which version counts doesn't depend on the order.
            let sealed = Array(held.suffix(Self.openedAtOnce))
            unconfirmed[writer] = held.count > sealed.count ? held.dropLast(sealed.count) : nil
            return sealed.filter { isConfirmed($0.place) }.flatMap { open($0) }
        }
        return nil
    }

    private static let openedAtOnce = 128

    mutating func take(
        _ grant: KeyGrant, in entry: LogEntry, with keys: MachineKeys
    ) -> [Change] {
        let giver = entry.frame.writer
        let content: KeyGrant.Content
        do {
            content = try grant.open(with: keys, from: giver, in: circle)
        } catch {
            note(error)
            return []
        }
        circleKey = content.circleKey
        if keys.id != id {
            // The grant is to the recovery code. This machine still has to grant the keys to
            // itself.
            owed[id, default: []].formUnion(content.groupKeys.map(\.id))
        }
        var changes: [Change] = []
        // This machine seals nothing more under the keys of earlier epochs, so the keys of those
        // epochs may come from a void entry, too.
        let isVoid = giver != id && ledger.isVoid(giver, entry.index)
        let epoch = circle.roster.epoch(knowing: entry.frame.membership.index)
        for key in content.groupKeys
        where groupKeys[key.id] == nil && key.epoch <= epoch && mayGive(key, giver)
            && (!isVoid || key.epoch < circle.roster.epoch)
        {
            groupKeys[key.id] = key
            answerRequests(for: key)
            for sealed in unopened.removeValue(forKey: key.id) ?? [] {
                changes += open(sealed)
            }
        }
        return changes
    }

    /// Whether this machine takes a key from a giver. A giver that has only some groups may give
    /// only keys of these groups; otherwise it could make others seal items of other groups under a
    /// key that it knows.
    func mayGive(_ key: GroupKey, _ giver: MachineID) -> Bool {
        guard giver != id, let scope = circle.machine(giver)?.scope, scope != .all else {
            return true
        }
        return circleKey.map { scope.includes($0.label(of: key.group)) } ?? false
    }

    /// Whether a machine may be given a key.
    func mayHave(_ key: GroupKey, _ machine: MachineID) -> Bool {
        if machine == circle.recovery?.id { return true }
        guard let member = circle.member(machine), let circleKey else { return false }
        return member.scope.includes(circleKey.label(of: key.group))
    }
}
