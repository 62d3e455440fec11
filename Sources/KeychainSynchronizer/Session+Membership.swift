// Session+Membership: changes of the circle's membership that this machine signs.
//   (1) A change counts when it has been read from the membership log. Until then, this machine
//       keeps it. If another change has taken its place in the log, this machine signs the change
//       again. A suspension, a retirement or the addition of a machine with a join token isn't
//       signed again, but decided anew.

import FoundationEssentials
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainSynchronization

extension Session {
    static func check(_ name: String) throws(KeychainFailure) {
        guard CircleKey.isName(name) else { throw .param(CircleKey.nameRule) }
    }

    mutating func add(
        _ machine: Data, _ name: String, _ groups: [String]?
    ) throws(KeychainFailure) {
        try Self.check(name)
        guard let description = MachineDescription(decoding: machine) else {
            throw .param("This isn't the description of a machine.")
        }
        guard replica.circle.member(description.id) == nil else {
            throw KeychainFailure(.duplicateItem, "The machine is in the circle already.")
        }
        guard replica.circle.machine(description.id) == nil else {
            throw KeychainFailure(
                .duplicateItem,
                "The machine was in the circle, and can't be added again under the same keys. Run "
                    + "`keychainctl sync leave --force` on it, then let it join again.")
        }
        guard
            let change = replica.addition(of: description, name: name, scope: try scope(groups))
        else { throw .busy("This machine has not been given the circle's keys yet. Try again.") }
        try wish(change)
    }

    mutating func remove(_ machine: MachineID) throws(KeychainFailure) {
        guard replica.circle.member(machine) != nil else {
            throw KeychainFailure(.itemNotFound, "No machine of the circle has this identifier.")
        }
        if machine == replica.id, replica.circle.member(machine)?.scope != .all {
            throw KeychainFailure(
                .missingEntitlement,
                "This machine may see only some access groups, so another machine has to remove "
                    + "it: `keychainctl sync remove`. `keychainctl sync leave --force` only "
                    + "forgets the circle.")
        }
        if machine == replica.id, replica.circleKey == nil {
            // Without these keys, the machine couldn't append its changes before it leaves.
            throw .busy(
                "This machine has not been given the circle's keys yet. Try again. `keychainctl "
                    + "sync leave --force` only forgets the circle.")
        }
        try wish(.remove(replica.closing(of: machine)))
    }

    func token(
        _ groups: [String]?, _ expires: Int64
    ) throws(KeychainFailure) -> SecretBytes {
        guard replica.circle.member(replica.id)?.scope == .all else { throw Self.notEntitled }
        return try JoinToken(
            for: try scope(groups), expires: expires, in: replica.circle, by: replica.keys
        ).bytes
    }

    /// From now on, this session also opens grants that are encrypted for the recovery code. `keys`
    /// are derived from the code.
    mutating func recover(with keys: MachineKeys) {
        replica.recoveryKeys = keys
    }

    // MARK: Changes that no user requests

    /// Signs the addition of a machine that holds a join token, one at a time.
    mutating func takeRequests(_ requests: [Data]) throws(KeychainFailure) {
        guard replica.circle.member(replica.id)?.scope == .all else { return }
        for bytes in requests where state.change == nil {
            guard let request = try? JoinToken.Request(decoding: Array(bytes)),
                replica.circle.machine(request.machine.id) == nil
            else { continue }
            do throws(SynchronizationFailure) {
                try request.verify(in: replica.circle, now: engine.milliseconds)
            } catch {
                // The membership entries that the token refers to may not have been read yet.
                if case .gap = error { continue }
                replica.note(error)
                continue
            }
            let name = "token \(request.machine.id.description.prefix(8))"
            if let change = replica.addition(
                of: request.machine, name: name, scope: request.grant.scope,
                token: request.grant.id)
            {
                try wishIfValid(change)
                tokenExpires = request.grant.expires
            }
        }
    }

    /// Gives up the addition of a machine with a join token in three cases: another change, which
    /// may have removed the token's issuer, has taken the place of the addition; the token has
    /// expired; or an earlier session has signed the addition, and this session doesn't know when
    /// the token expires, since only the machine's request says that.
    mutating func giveUpTokenAddition() {
        guard let entry = state.change, case .add(let addition) = entry.change,
            addition.token != nil,
            entry.index <= replica.circle.head.index || engine.milliseconds >= tokenExpires
        else { return }
        state.change = nil
    }

    /// Gives keys to members that have none, because the member that added them, or its entry with
    /// the grant, is lost. Of the present members that have keys and all groups, the first one does
    /// this one hour after it has noticed the lack, the second one after two hours, and so on.
    mutating func giveMissingKeys() {
        let now = engine.milliseconds
        let without = replica.membersWithoutKeys
        keyless = Dictionary(uniqueKeysWithValues: without.map { ($0, keyless[$0] ?? now) })
        let givers = replica.circle.roster.members.filter {
            replica.ledger.isPresent($0) && replica.circle.member($0)?.scope == .all
                && keyless[$0] == nil
        }
        guard let place = givers.firstIndex(of: replica.id) else { return }
        for (machine, since) in keyless where now - since >= Int64(place + 1) * Self.turn {
            replica.giveKeys(to: machine)
        }
    }

    /// Signs the retirement of the log of a removed or suspended machine, one at a time.
    mutating func retireLogs() throws(KeychainFailure) {
        guard state.change == nil, replica.circle.member(replica.id)?.scope == .all else { return }
        for (machine, closed) in replica.circle.closed
        where !replica.ledger.isPresent(machine)
            && replica.circle.roster.machines[machine]?.retired ?? 0 < closed.index
        {
            guard let change = replica.retirement(of: machine) else { continue }
            try wishIfValid(change)
            return
        }
    }

    // MARK: Signing

    private func scope(_ groups: [String]?) throws(KeychainFailure) -> GroupScope {
        guard let groups else { return .all }
        guard let circleKey = replica.circleKey else {
            throw .busy("This machine has not been given the circle's keys yet. Try again.")
        }
        return .groups(Set(groups.map { circleKey.label(of: $0) }))
    }

    private mutating func wish(_ change: MembershipEntry.Change) throws(KeychainFailure) {
        guard state.change == nil else {
            throw .busy("Another change of the circle's members is under way. Try again.")
        }
        guard try wishIfValid(change) else { throw Self.notEntitled }
    }

    /// - Returns: Whether the change is valid after the last entry of the membership log. If so, it
    ///   was signed and stored.
    @discardableResult
    mutating func wishIfValid(
        _ change: MembershipEntry.Change
    ) throws(KeychainFailure) -> Bool {
        guard let entry = try signed(change) else { return false }
        state.change = entry
        try state.save(in: engine)
        return true
    }

    /// Signs a change again if another change has taken its place in the membership log, and a
    /// removal also if this machine has read more of the logs since. The change is given up if it
    /// isn't valid any more, or if this machine decides anew whether to make it.
    mutating func signChangeAgain() throws(KeychainFailure) {
        // The machine that was to be suspended may be back.
        if case .suspend = state.change?.change { state.change = nil }
        guard let entry = state.change else { return }
        let isDisplaced = entry.index <= replica.circle.head.index
        switch entry.change {
        // No other entry can take the place of the one that founds the circle.
        case .found: break
        case .suspend, .retire: if isDisplaced { state.change = nil }
        case .add: if isDisplaced { state.change = try signed(entry.change) }
        case .remove(let closing):
            let current = self.closing(replacing: closing)
            if isDisplaced || current != closing { state.change = try signed(.remove(current)) }
        }
    }

    /// The content of a removal that was signed before, with the entries that were read since. An
    /// earlier session may have read more than the server shows this one.
    private func closing(replacing earlier: MembershipEntry.Closing) -> MembershipEntry.Closing {
        var closing = replica.closing(of: earlier.machine)
        closing.heads.merge(earlier.heads) { $0.index < $1.index ? $1 : $0 }
        return closing
    }

    /// Whether this machine has signed its own removal.
    var isLeaving: Bool {
        guard case .remove(let closing) = state.change?.change else { return false }
        return closing.machine == replica.id
    }

    /// Whether this machine has changes to append before it leaves. `entry` is the entry that this
    /// machine would append next.
    func hasToAppend(_ entry: LogEntry?) -> Bool {
        guard replica.circleKey != nil else { return false }
        // An entry with nothing but acknowledgements isn't worth waiting for.
        return !(entry?.parts.isEmpty ?? true) || !collected.isEmpty
            || replica.ledger.items.contains { $0.value.isPending }
    }

    /// Signs a change after the last entry of the membership log. `nil` if it isn't valid there.
    func signed(_ change: MembershipEntry.Change) throws(KeychainFailure) -> MembershipEntry? {
        let keys = replica.recoveryKeys.flatMap { isMember ? nil : $0 } ?? replica.keys
        let entry = try MembershipEntry(
            change, after: replica.circle.head, in: replica.circle.id,
            created: engine.milliseconds, by: keys)
        var circle = replica.circle
        return (try? circle.append(entry)) == nil ? nil : entry
    }

    private static let notEntitled = KeychainFailure(
        .missingEntitlement,
        "This machine may see only some access groups, so it can't change who is in the circle.")
}
