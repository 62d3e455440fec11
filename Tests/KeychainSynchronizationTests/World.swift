// World: a model of three machines and a server. The model consists of the rules alone, without
// cryptography: what a machine may do, what its programs see, and what the outcome must be.

import KeychainCore
import KeychainSynchronization

/// One item, which three machines write, delete and exchange.
struct World: Hashable {
    static let item = Bytes16(high: 0, low: 7)
    static let machines = (1...3).map { MachineID(Bytes16(high: 0, low: $0)) }

    /// The circle with all three machines.
    static let roster: Roster = {
        var roster = Roster(founder: machines[0])
        for (index, machine) in machines.enumerated().dropFirst() {
            _ = roster.apply(.add(machine), at: UInt64(index + 1))
        }
        return roster
    }()

    enum Event: Hashable, CaseIterable {
        case write1, write2, write3
        case delete1, delete2, delete3
        case exchange1, exchange2, exchange3
        /// The machine appends what it has, without reading what others have appended.
        case append2, append3
        /// The machine reads the membership log and the first machine's log, and no other.
        case glance2
        /// The first machine excludes the third: it suspends the third machine for being away, or
        /// removes that machine for good.
        case suspend3, remove3
        /// The first machine takes over what the third wrote.
        case retire3
        /// The machine begins a new session: it reads all logs again, and appends what it has.
        case restart2, restart3

        static let withoutRestarts = allCases.filter { $0 != .restart2 && $0 != .restart3 }
        static let withRestarts: [Event] = [
            .write1, .write2, .write3, .delete1, .delete2, .exchange1, .exchange2, .exchange3,
            .suspend3, .remove3, .retire3, .restart2, .restart3,
        ]
    }

    struct Machine: Hashable {
        var ledger: Ledger
        /// How much of the membership log it has read.
        var known: UInt64 = 3
        /// What its keychain has: an item or a tombstone.
        var kept: VersionStamp?
        /// Whether its outbox has a change that isn't appended yet.
        var isInOutbox = false
        var read: LogIndexes = [:]

        /// What its programs see. `nil` if there is no item.
        var value: VersionStamp? { kept.flatMap { $0.isDeletion ? nil : $0 } }

        /// Stores a version from a log, unless the keychain has a later one, which is then
        /// appended.
        mutating func store(_ stamp: VersionStamp) {
            if let kept, kept > stamp {
                ledger.write(World.item, kept)
            } else {
                kept = stamp
            }
        }
    }

    struct Write: Hashable {
        let machine: Int
        let stamp: VersionStamp
    }

    private(set) var machines: [Machine]
    private var logs: [MachineID: [Ledger.Entry]] = [:]
    private var membership: [Roster.Change]
    private(set) var writes: [Write] = []
    /// The latest version that is, or was, in a log.
    private var uploaded: VersionStamp?
    /// Whether a machine treated an item as deleted although it wasn't.
    private var isMisled = false
    private(set) var isSuspended = false
    private(set) var isRemoved = false

    init() {
        membership = [.add(Self.machines[0]), .add(Self.machines[1]), .add(Self.machines[2])]
        machines = Self.machines.map {
            Machine(ledger: Ledger(me: $0, roster: Self.roster))
        }
    }

    // MARK: Events

    /// - Returns: `false` if nothing happened. A restart always counts as something that happened.
    mutating func carryOut(_ event: Event, tick: Int) -> Bool {
        switch event {
        case .write1: write(0, tick)
        case .write2: write(1, tick)
        case .write3: write(2, tick)
        case .delete1: return delete(0, tick)
        case .delete2: return delete(1, tick)
        case .delete3: return delete(2, tick)
        case .exchange1: return exchange(0)
        case .exchange2: return exchange(1)
        case .exchange3: return exchange(2)
        case .append2: return append(1, compacts: false)
        case .append3: return append(2, compacts: false)
        case .glance2: return glance(1)
        case .suspend3, .remove3: return exclude(for: event)
        case .retire3: return retireAbsent()
        case .restart2: restart(1)
        case .restart3: restart(2)
        }
        return true
    }

    private mutating func write(_ index: Int, _ tick: Int, isDeletion: Bool = false) {
        // Steps 0 and 1 have the same time, as do 2 and 3, and so on. The third machine's clock is
        // behind.
        let clock = Double(tick / 2) - (index == 2 ? 2 : 0)
        let before = machines[index].ledger.items[Self.item]?.stamp.modified
        // The digest states which machine wrote the version, and in which step.
        let stamp = VersionStamp(
            modified: max(clock, before.map { $0 + 0.001 } ?? clock), isDeletion: isDeletion,
            digest: Digest([UInt8(index), UInt8(tick)] + [UInt8](repeating: 0, count: 30)) ?? .zero
        )
        machines[index].ledger.write(Self.item, stamp)
        machines[index].kept = stamp
        machines[index].isInOutbox = true
        writes.append(Write(machine: index, stamp: stamp))
    }

    private mutating func delete(_ index: Int, _ tick: Int) -> Bool {
        guard machines[index].value != nil else { return false }
        write(index, tick, isDeletion: true)
        return true
    }

    private mutating func exclude(for event: Event) -> Bool {
        guard !isSuspended, !isRemoved else { return false }
        let excluded = Self.machines[2]
        var read = machines[0].read
        read[Self.machines[0]] = UInt64(logs[Self.machines[0]]?.last?.index ?? 0)
        guard UInt64(membership.count) == machines[0].known else { return false }
        if event == .remove3 {
            membership.append(.remove(excluded, read))
            isRemoved = true
        } else {
            membership.append(.suspend(excluded, read))
            isSuspended = true
        }
        return true
    }

    // MARK: Exchanges

    /// One machine reads all there is, then appends what it has.
    mutating func exchange(_ index: Int) -> Bool {
        let id = Self.machines[index]
        let before = (machines[index], membership.count, logs[id]?.count)
        readMembership(&machines[index])
        guard machines[index].ledger.roster.isMember(id) else { return before.0 != machines[index] }
        isMisled = read(&machines[index]) || isMisled
        _ = append(index)
        return before.0 != machines[index] || before.1 != membership.count
            || before.2 != logs[id]?.count
    }

    /// A new session reads all logs and compares the keychain with them.
    private mutating func restart(_ index: Int) {
        let id = Self.machines[index]
        readMembership(&machines[index])
        var machine = machines[index]
        guard machine.ledger.roster.isMember(id) else { return }
        machine.ledger = Ledger(
            me: id, roster: machine.ledger.roster, reached: machine.ledger.reached,
            decided: machine.ledger.decided)
        machine.read = [:]
        for entry in logs[id] ?? [] { take(entry, &machine) }
        readLogs(&machine)
        if let kept = machine.kept {
            if let held = machine.ledger.items[Self.item] {
                if kept > held.stamp { machine.ledger.write(Self.item, kept) }
            } else {
                machine.ledger.hold(Self.item, kept, until: [:])
            }
        }
        isMisled = settle(&machine) || isMisled
        if machine.isInOutbox, let kept = machine.kept { machine.ledger.write(Self.item, kept) }
        machines[index] = machine
        _ = append(index)
    }

    private mutating func glance(_ index: Int) -> Bool {
        let before = machines[index]
        readMembership(&machines[index])
        isMisled = read(&machines[index], only: Self.machines[0]) || isMisled
        return machines[index] != before
    }

    private func readMembership(_ machine: inout Machine) {
        guard machine.known < UInt64(membership.count) else { return }
        var roster = machine.ledger.roster
        while machine.known < UInt64(membership.count) {
            machine.known += 1
            _ = roster.apply(membership[Int(machine.known) - 1], at: machine.known)
        }
        machine.ledger.revise(roster)
    }

    /// - Returns: Whether an item is treated as deleted although it isn't.
    private func read(_ machine: inout Machine, only one: MachineID? = nil) -> Bool {
        readLogs(&machine, only: one)
        return settle(&machine)
    }

    private func readLogs(_ machine: inout Machine, only one: MachineID? = nil) {
        for (writer, log) in logs.sorted(by: { $0.key < $1.key })
        where writer != machine.ledger.me && one ?? writer == writer {
            for entry in log where entry.index > machine.read[writer] ?? 0 {
                machine.read[writer] = entry.index
                take(entry, &machine)
            }
        }
    }

    private func take(_ entry: Ledger.Entry, _ machine: inout Machine) {
        for name in machine.ledger.take(entry) {
            if let stamp = machine.ledger.items[name]?.stamp { machine.store(stamp) }
        }
    }

    /// - Returns: Whether an item is treated as deleted although it isn't.
    private func settle(_ machine: inout Machine) -> Bool {
        for _ in machine.ledger.settle() {
            // An item whose change waits in the outbox stays.
            if machine.isInOutbox { continue }
            machine.kept = nil
            if let uploaded, !uploaded.isDeletion { return true }
        }
        return false
    }

    /// The first machine takes over what the third wrote, and retires the third one's log.
    ///
    /// - Returns: `false` if that isn't possible.
    private mutating func retireAbsent() -> Bool {
        let absent = Self.machines[2]
        var machine = machines[0]
        defer { machines[0] = machine }
        guard let membership = machine.ledger.roster.machines[absent],
            !machine.ledger.isPresent(absent), membership.retired < membership.closed,
            machine.read[absent] ?? 0 >= membership.closed
        else { return false }
        while !machine.ledger.adopt(absent).isEmpty {
            machines[0] = machine
            _ = append(0)
            machine = machines[0]
        }
        var into = machine.read
        into[Self.machines[0]] = UInt64(logs[Self.machines[0]]?.last?.index ?? 0)
        into[absent] = membership.closed
        self.membership.append(.retire(absent, into, signer: Self.machines[0]))
        readMembership(&machine)
        return true
    }

    /// - Returns: false if there is nothing to append, or the machine knows that it was removed.
    private mutating func append(_ index: Int, compacts: Bool = true) -> Bool {
        let id = Self.machines[index]
        // No other machine would accept an entry of a machine that knows of its removal.
        guard machines[index].ledger.roster.isMember(id) else { return false }
        guard let plan = machines[index].ledger.plan(compacts: compacts, renews: compacts) else {
            return false
        }
        let entry = Ledger.Entry(
            writer: id, index: plan.index, known: machines[index].known, first: plan.first,
            acknowledged: plan.acknowledged, isClean: plan.isClean,
            versions: plan.versions)
        machines[index].ledger.append(plan, knowing: machines[index].known)
        if !plan.versions.isEmpty { machines[index].isInOutbox = false }
        logs[id, default: []].append(entry)
        uploaded = (plan.versions.map(\.value) + [uploaded].compactMap { $0 }).max()
        logs[id]?.removeAll { $0.index < plan.first }
        return true
    }

    // MARK: Outcome

    /// What is wrong after all machines have exchanged everything; `nil` if nothing is. With
    /// `restarts`, all of them then begin a new session and exchange again before this is checked.
    func fault(restarts: Bool) -> String? {
        var world = self
        if let fault = world.converge() { return fault }
        if restarts {
            for index in 0..<3 { world.restart(index) }
            if let fault = world.converge() { return fault }
        }
        if world.isMisled { return "an item is treated as deleted although it isn't" }
        let present = isRemoved ? [0, 1] : [0, 1, 2]
        let value = world.machines[0].value
        for index in present where world.machines[index].value != value {
            return "machines 1 and \(index + 1) differ"
        }
        for machine in world.machines {
            let held = machine.ledger.items[Self.item]?.stamp
            if machine.value != held.flatMap({ $0.isDeletion ? nil : $0 }) {
                return "programs of a machine see another version than its ledger has"
            }
        }
        if world.newcomer.value != value { return "a new machine sees something else" }
        return verdict(on: value, in: world)
    }

    /// Lets all machines exchange, and the first one retire the third one's log, until nothing
    /// changes.
    ///
    /// - Returns: A fault on the way, or `nil`.
    private mutating func converge() -> String? {
        for _ in 0..<12 {
            var isOver = true
            for index in 0..<3 {
                if let fault = newcomersFault { return fault }
                if exchange(index) { isOver = false }
            }
            if retireAbsent() { isOver = false }
            if isOver { return nil }
        }
        return "the exchanges don't come to an end"
    }

    /// A new machine that has read all logs.
    private var newcomer: Machine {
        var newcomer = Machine(
            ledger: Ledger(
                me: MachineID(Bytes16(high: 0, low: 9)), roster: Self.roster))
        readMembership(&newcomer)
        _ = read(&newcomer)
        return newcomer
    }

    /// A fault if a new machine doesn't see the latest version that was ever in a log, otherwise
    /// `nil`. Once a machine was excluded, its versions may count or not, so nothing is checked.
    private var newcomersFault: String? {
        if isRemoved || isSuspended { return nil }
        let value = uploaded.flatMap { $0.isDeletion ? nil : $0 }
        return newcomer.value == value ? nil : "a new machine sees an older state"
    }

    private func verdict(on value: VersionStamp?, in world: World) -> String? {
        // Versions of a removed machine may be lost. Those from before its removal may instead be
        // kept.
        let kept = writes.filter { !isRemoved || $0.machine != 2 }
        guard let last = kept.max(by: { $0.stamp < $1.stamp }) else {
            return value == nil || isRemoved ? nil : "an item out of nothing"
        }
        guard let value else {
            let deletions = writes.filter { $0.stamp.isDeletion && $0.stamp >= last.stamp }
            return deletions.isEmpty ? "a write is lost" : nil
        }
        guard let write = writes.first(where: { $0.stamp == value }) else {
            return "an item that no machine wrote"
        }
        if value >= last.stamp { return nil }
        // What a machine wrote while it was away stays, even if the others have made a deletion
        // that is later by the clocks, and have forgotten that deletion.
        if isSuspended, write.machine == 2, last.stamp.isDeletion { return nil }
        return last.stamp.isDeletion ? "a deleted item is back" : "an older value won"
    }
}
