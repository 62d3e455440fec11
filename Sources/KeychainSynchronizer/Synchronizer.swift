// Synchronizer: answers the messages of synchronization for one keychain.
// Documentation/Synchronization.md, "Messages".
//   (1) It does no input or output of its own except through the keychain's engine. The relay, a
//       process that exchanges messages between this keychain and the server, brings what the
//       server has, and is trusted no more than the server.
//   (2) What arrived is stored durably in the keychain before this machine acknowledges it in an
//       entry that it sends to the server. Only versions in a removed machine's log may be
//       acknowledged earlier: they are stored once the log was read up to the entry that the
//       removal names. If storing fails, the session is given up, and everything is read again.
//   (3) A change that has to be sent leaves the outbox only after the server has stored the entry
//       that contains it.

import FoundationEssentials
package import KeychainCore
import KeychainCrypto
package import KeychainEngine
import KeychainSQLite
import KeychainSynchronization
import Synchronization

package final class Synchronizer: SynchronizationAnswerer {
    private let session = Mutex<Session?>(nil)

    package init() {}

    package func answer(
        _ request: Synchronize, in engine: KeychainEngine
    ) throws(KeychainFailure) -> Synchronize.Answer {
        let message = try SynchronizationMessage(messageBytes: request.message)
        return try session.withLock { session throws(KeychainFailure) in
            try Self.answer(message, request.secret, &session, engine)
        }
    }

    private static func answer(
        _ message: SynchronizationMessage, _ secret: SecretBytes?, _ session: inout Session?,
        _ engine: KeychainEngine
    ) throws(KeychainFailure) -> Synchronize.Answer {
        if engine.lockState != .unlocked {
            // The session has the circle's keys. They are in memory until the first message after
            // the lock.
            session = nil
            switch message {
            case .status: return Synchronize.Answer(CircleStatus(.locked).messageBytes)
            case .exchange: return Synchronize.Answer(Demand(.locked).messageBytes)
            default: throw .locked(.whenUnlocked)
            }
        }
        switch message {
        case .exchange(let delivery):
            return Synchronize.Answer(try exchange(delivery, &session, engine).messageBytes)
        case .describe:
            let state = try MachineState.loadOrMake(in: engine)
            return Synchronize.Answer(Data(state.keys.description.bytes))
        case .makeToken(let groups, let expires):
            let session = try current(&session, engine)
            return Synchronize.Answer(Data(), secret: try session.token(groups, expires))
        case .membershipHead:
            let head = try current(&session, engine).replica.circle.head
            return Synchronize.Answer(MembershipHead(head).messageBytes)
        case .status: break
        case .found(let name): try found(name, secret, &session, engine)
        case .join(let membership): try join(membership, &session, engine)
        case .admit(let membership):
            return Synchronize.Answer(Data(try admission(membership, secret, engine).bytes))
        case .recover(let membership): try recover(membership, secret, &session, engine)
        case .add(let machine, let name, let groups):
            try changing(&session, engine) { session throws(KeychainFailure) in
                try session.add(machine, name, groups)
            }
        case .remove(let machine):
            try changing(&session, engine) { session throws(KeychainFailure) in
                try session.remove(MachineID(machine))
            }
        case .forget:
            session = nil
            try engine.stopCollectingChanges()
            try MachineState.delete(from: engine)
        }
        return Synchronize.Answer(try status(&session, engine).messageBytes)
    }

    // MARK: The session

    /// The session, which is begun if there is none. `nil` without a circle.
    private static func begun(
        _ session: inout Session?, _ engine: KeychainEngine
    ) throws(KeychainFailure) -> Session? {
        if session == nil, let state = try MachineState.load(from: engine),
            let circle = try state.circle()
        {
            session = try Session(state, circle, engine)
        }
        return session
    }

    /// The session. Fails unless this machine is a member of a circle and the session has read what
    /// the other members wrote.
    private static func current(
        _ session: inout Session?, _ engine: KeychainEngine
    ) throws(KeychainFailure) -> Session {
        guard let session = try begun(&session, engine) else {
            throw .param(
                "This keychain is in no circle. Found or join one with `keychainctl sync`.")
        }
        // `maySign` alone would not suffice: it can stay true when this machine is removed.
        guard session.isMember else {
            throw .param(
                "This machine was removed from its circle. `keychainctl sync leave` forgets the "
                    + "circle; after that, the machine can join again. Its items stay.")
        }
        guard session.maySign else {
            throw .busy(
                "This machine has not yet read everything that the circle's other machines wrote. "
                    + "Try again.")
        }
        return session
    }

    private static func changing(
        _ session: inout Session?, _ engine: KeychainEngine,
        _ body: (inout Session) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        var changed = try current(&session, engine)
        session = nil
        try body(&changed)
        session = changed
    }

    private static func exchange(
        _ delivery: Delivery, _ session: inout Session?, _ engine: KeychainEngine
    ) throws(KeychainFailure) -> Demand {
        if session?.isToBeRepeated(after: delivery) ?? false { session = nil }
        guard var running = try begun(&session, engine) else { return Demand(.none) }
        session = nil
        let demand = try running.exchange(delivery)
        session = running
        return demand
    }

    // MARK: Membership

    private static func requireNoCircle(_ engine: KeychainEngine) throws(KeychainFailure) {
        guard try MachineState.load(from: engine)?.membership.isEmpty ?? true else {
            throw .param(
                "This keychain is in a circle already. Leave it first with `keychainctl sync "
                    + "leave`."
            )
        }
    }

    private static func found(
        _ name: String, _ secret: SecretBytes?, _ session: inout Session?,
        _ engine: KeychainEngine
    ) throws(KeychainFailure) {
        try requireNoCircle(engine)
        try Session.check(name)
        var state = try MachineState.loadOrMake(in: engine)
        state.clear()
        var code: RecoveryCode?
        if let secret { code = try recoveryCode(secret) }
        let (replica, entry) = try Replica.found(
            state.keys, name: name, recovery: code, created: engine.milliseconds)
        state.circleKey = replica.circleKey
        state.change = entry
        try begin(&state, with: [entry], engine)
        session = nil
    }

    private static func join(
        _ membership: [Data], _ session: inout Session?, _ engine: KeychainEngine
    ) throws(KeychainFailure) {
        try requireNoCircle(engine)
        guard var state = try MachineState.load(from: engine) else {
            throw .param(
                "This keychain has no keys for synchronization yet. Run `keychainctl sync join` "
                    + "again: it creates them.")
        }
        let (circle, entries) = try verified(membership)
        try requireMember(state, circle)
        state.clear()
        try begin(&state, with: entries, engine)
        session = nil
    }

    private static func requireMember(
        _ state: MachineState, _ circle: Circle
    ) throws(KeychainFailure) {
        guard circle.member(state.keys.id) != nil else {
            throw .param("The circle's membership log doesn't include this machine.")
        }
    }

    /// The entry that adds this machine to a circle, signed with the circle's recovery code.
    /// Nothing is stored except this machine's keys: another change may get into the log first, and
    /// then the entry is not valid.
    private static func admission(
        _ membership: [Data], _ secret: SecretBytes?, _ engine: KeychainEngine
    ) throws(KeychainFailure) -> MembershipEntry {
        try requireNoCircle(engine)
        let (circle, entries) = try verified(membership)
        let keys = try recoveryKeys(secret, circle, entries)
        let machine = try MachineState.loadOrMake(in: engine).keys.description
        guard circle.machine(machine.id) == nil else {
            throw .param(
                "This machine is, or was, in the circle with its present keys. "
                    + "`keychainctl sync leave --force` deletes these keys. After that, the "
                    + "machine can join again with new ones.")
        }
        // The name is left out: it would have to be sealed under the circle's key, which this
        // machine doesn't have yet.
        let addition = MembershipEntry.Addition(
            machine: machine, scope: .all, sealedName: [], heads: [:])
        return try MembershipEntry(
            .add(addition), after: circle.head, in: circle.id, created: engine.milliseconds,
            by: keys)
    }

    /// The keys derived from a circle's recovery code.
    private static func recoveryKeys(
        _ secret: SecretBytes?, _ circle: Circle, _ entries: [MembershipEntry]
    ) throws(KeychainFailure) -> MachineKeys {
        guard let secret, let recovery = circle.recovery, let founding = entries.first,
            case .found(let content) = founding.change
        else { throw .param("The circle has no recovery code, or the request contains none.") }
        let code = try recoveryCode(secret)
        let keys = MachineKeys(code, salt: content.salt)
        guard keys.description == recovery,
            content.salt == MachineKeys.salt(code, founder: content.founder)
        else {
            throw KeychainFailure(.authFailed, "This is not the recovery code of the circle.")
        }
        return keys
    }

    private static func recover(
        _ membership: [Data], _ secret: SecretBytes?, _ session: inout Session?,
        _ engine: KeychainEngine
    ) throws(KeychainFailure) {
        let (circle, entries) = try verified(membership)
        let keys = try recoveryKeys(secret, circle, entries)
        var state = try MachineState.loadOrMake(in: engine)
        try requireMember(state, circle)
        if state.membership.isEmpty {
            state.clear()
            try begin(&state, with: entries, engine)
        }
        // The present session may have read the keys granted to the recovery code at a time when it
        // couldn't open these keys. It would not read them again. A new session reads everything.
        session = nil
        guard var running = try begun(&session, engine) else { return }
        running.recover(with: keys)
        session = running
    }

    /// Stores the state and the membership log of a circle that this machine has founded or joined.
    private static func begin(
        _ state: inout MachineState, with entries: [MembershipEntry], _ engine: KeychainEngine
    ) throws(KeychainFailure) {
        guard let id = entries.first?.digest, let circle = StoredCircle(id.bytes) else { return }
        // If another process joins a circle at the same time, one of the two processes fails here.
        try state.save(in: engine)
        try engine.collectChanges(for: circle)
        // The first entry, which makes the log valid, is stored last.
        try state.replaceMembership(by: entries, in: engine)
    }

    private static func verified(
        _ membership: [Data]
    ) throws(KeychainFailure) -> (circle: Circle, entries: [MembershipEntry]) {
        do throws(SynchronizationFailure) {
            var entries: [MembershipEntry] = []
            for bytes in membership { entries.append(try MembershipEntry(decoding: Array(bytes))) }
            guard let founding = entries.first else {
                throw .malformed("a membership log without entries")
            }
            var circle = try Circle(founding: founding)
            for entry in entries.dropFirst() { try circle.append(entry) }
            return (circle, entries)
        } catch {
            throw KeychainFailure(.decode, "The circle's membership log is not valid: \(error)")
        }
    }

    private static func recoveryCode(
        _ secret: SecretBytes
    ) throws(KeychainFailure) -> RecoveryCode {
        guard secret.count == RecoveryCode.byteCount else {
            throw .param("A recovery code has \(RecoveryCode.byteCount) bytes.")
        }
        return RecoveryCode(bytes: secret)
    }

    // MARK: Status

    private static func status(
        _ session: inout Session?, _ engine: KeychainEngine
    ) throws(KeychainFailure) -> CircleStatus {
        guard let session = try begun(&session, engine) else { return CircleStatus(.none) }
        return try session.status()
    }
}
