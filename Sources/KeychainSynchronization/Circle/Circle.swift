// Circle: a verified membership log and the machines in it.
// Documentation/Synchronization.md, "Membership log".
//   (1) A value can be created only by verifying a log from its founding entry on.
//   (2) A rejected entry changes nothing.

package import KeychainCore

package struct Circle: Hashable, Sendable {
    /// A machine that is, or was, in the circle.
    package struct Member: Hashable, Sendable {
        package let description: MachineDescription
        package let scope: GroupScope
        package let sealedName: [UInt8]
        /// How far the signer of the machine's addition had read each log.
        package let heads: LogHeads
    }

    package let id: CircleID
    package let founder: MachineID
    /// The digest of the circle key.
    package let keyCheck: Digest
    /// The public keys derived from the recovery code. No machine can remove them.
    package let recovery: MachineDescription?
    package private(set) var head: LogHead
    package private(set) var roster: Roster
    /// For each machine that was removed or suspended: a head of the machine's log, as given in the
    /// machine's last removal or suspension. Entries of a suspended machine after this head count
    /// only if they were written with knowledge of the suspension. Entries of a removed machine
    /// after this head never count.
    package private(set) var closed: [MachineID: LogHead] = [:]
    /// For each machine, the highest index of its log that the membership log names.
    package private(set) var named: LogIndexes = [:]
    private var machines: [MachineID: Member]
    private var digests: [Digest]
    private var tokens: Set<Bytes16> = []

    /// Creates a circle whose only member is its founder.
    package init(founding entry: MembershipEntry) throws(SynchronizationFailure) {
        guard case .found(let founding) = entry.change, entry.circle == nil, entry.index == 1,
            entry.previous == .zero, entry.signer == founding.founder.id,
            founding.recovery != founding.founder
        else { throw .malformed("the first entry doesn't found a circle") }
        guard founding.founder.isValid(entry.signature, over: entry.signedBytes) else {
            throw .badSignature("the founding entry")
        }
        id = CircleID(entry.digest)
        founder = founding.founder.id
        keyCheck = founding.keyCheck
        recovery = founding.recovery
        head = entry.head
        digests = [entry.digest]
        roster = Roster(founder: founder)
        machines = [
            founder: Member(
                description: founding.founder, scope: .all, sealedName: founding.sealedName,
                heads: [:])
        ]
    }

    // MARK: Machines

    /// A machine that is or was in the circle.
    package func machine(_ id: MachineID) -> Member? { machines[id] }

    /// A machine that is in the circle now.
    package func member(_ id: MachineID) -> Member? {
        roster.isMember(id) ? machines[id] : nil
    }

    /// The digest of an entry; `nil` if the log has no entry with this index.
    package func digest(at index: UInt64) -> Digest? {
        guard index >= 1, index <= head.index else { return nil }
        return digests[Int(index) - 1]
    }

    /// Whether a machine was added with this join token.
    package func hasUsed(_ token: Bytes16) -> Bool { tokens.contains(token) }

    // MARK: Entries

    /// Verifies the next entry and appends it.
    package mutating func append(_ entry: MembershipEntry) throws(SynchronizationFailure) {
        let name = "entry \(entry.index) of the membership log"
        guard entry.circle == id else { throw .misplaced("\(name) belongs to another circle") }
        if let known = digest(at: entry.index) {
            throw known == entry.digest ? .misplaced("\(name), received again") : .fork(name)
        }
        guard entry.index == head.index + 1 else { throw .gap(name) }
        guard entry.previous == head.digest else { throw .fork(name) }
        guard try signer(of: entry, name).isValid(entry.signature, over: entry.signedBytes) else {
            throw .badSignature(name)
        }
        try apply(entry, name)
        head = entry.head
        digests.append(entry.digest)
    }

    /// The public keys of the signer, if the signer may change the membership.
    private func signer(
        of entry: MembershipEntry, _ name: String
    ) throws(SynchronizationFailure) -> MachineDescription {
        if let recovery, recovery.id == entry.signer { return recovery }
        guard let signer = member(entry.signer) else {
            throw .notEntitled("\(name) isn't signed by a member")
        }
        if signer.scope == .all { return signer.description }
        throw .notEntitled("\(name) is signed by a machine that has only some access groups")
    }

    private mutating func apply(
        _ entry: MembershipEntry, _ name: String
    ) throws(SynchronizationFailure) {
        let change: Roster.Change
        switch entry.change {
        case .found:
            throw .malformed("\(name) founds the circle again")
        case .add(let addition):
            guard addition.machine != recovery,
                addition.token.map({ !tokens.contains($0) }) ?? true
            else {
                throw .notEntitled(
                    "\(name) adds a machine with a used token or the recovery code's keys")
            }
            change = .add(addition.machine.id)
        case .remove(let closing): change = .remove(closing.machine, closing.heads.indexes)
        case .suspend(let closing): change = .suspend(closing.machine, closing.heads.indexes)
        case .retire(let closing):
            change = .retire(closing.machine, closing.heads.indexes, signer: entry.signer)
        }
        guard roster.apply(change, at: entry.index) else {
            throw .notEntitled("\(name) makes a change that the current membership doesn't allow")
        }
        named.merge(entry.change.heads.indexes) { max($0, $1) }
        switch entry.change {
        case .remove(let closing), .suspend(let closing):
            closed[closing.machine] = closing.heads[closing.machine] ?? .empty
        case .add(let addition):
            machines[addition.machine.id] = Member(
                description: addition.machine, scope: addition.scope,
                sealedName: addition.sealedName, heads: addition.heads)
            if let token = addition.token { tokens.insert(token) }
        case .found, .retire:
            break
        }
    }
}

extension LogHeads {
    package var indexes: LogIndexes { mapValues(\.index) }
}
