// RepeatedGrantTests: a machine grants a key if a grant of the key is missing, was lost or is about
// to be deleted, and only then.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSynchronization
import Testing

@Suite struct `Grants that are lost or repeated` {
    private let server = TestServer()

    /// A later session of a machine. The machine has kept its keys and items, and the session has
    /// read everything.
    private func begunAgain(_ machine: TestMachine) throws -> TestMachine {
        let again = TestMachine(
            Replica(
                machine.replica.keys, try server.circle(), circleKey: machine.replica.circleKey,
                groupKeys: Array(machine.replica.groupKeys.values),
                remembering: machine.replica.readHeads), server)
        again.items = machine.items
        again.clock = machine.clock
        let own = server.logs[machine.id] ?? [:]
        if let first = own.keys.min() { again.replica.skip(machine.id, to: first) }
        for (_, bytes) in own.sorted(by: { $0.key < $1.key }) {
            _ = try again.replica.restore(LogEntry(decoding: bytes))
        }
        try again.read()
        let known = again.replica.ledger.items
        for (name, item) in again.items where item.stamp != known[name]?.stamp {
            again.replica.write(item)
        }
        again.replica.oweKeys(to: [])
        return again
    }

    /// Adds machines that read and write nothing.
    private func addSilent(_ count: Int, to machine: TestMachine) throws {
        for number in 0..<count {
            let change = try #require(
                machine.replica.addition(
                    of: MachineKeys.random().description, name: "\(number)", scope: .all))
            try machine.carryOut(change)
        }
    }

    private func entries(of machine: TestMachine) throws -> [LogEntry] {
        try (server.logs[machine.id] ?? [:]).values.map { try LogEntry(decoding: $0) }
    }

    /// For each recipient, the keys that a machine's log grants to it.
    private func granted(by machine: TestMachine) throws -> [MachineID: Set<Bytes16>] {
        var granted: [MachineID: Set<Bytes16>] = [:]
        for part in try entries(of: machine).flatMap(\.parts) {
            guard case .grant(let grant) = part else { continue }
            granted[grant.recipient, default: []].formUnion(grant.keys)
        }
        return granted
    }

    /// Appends entries until there is nothing left to append.
    /// - Returns: The number of entries, at most 20.
    private func appendAll(_ machine: TestMachine) throws -> Int {
        for count in 0..<20 where try !machine.append() { return count }
        return 20
    }

    private func recoveryReader(_ code: RecoveryCode) throws -> TestMachine {
        let founding = try MembershipEntry(decoding: try #require(server.membership.first))
        guard case .found(let content) = founding.change else {
            throw SynchronizationFailure.malformed("the founding entry")
        }
        let reader = TestMachine(
            Replica(MachineKeys(code, salt: content.salt), try server.circle()), server)
        try reader.read()
        return reader
    }

    // MARK: Repeated

    @Test
    func `grants that need several entries are repeated after a removal, in fewer than 8 entries`()
        throws
    {
        let a = try TestMachine.founder(server, recovery: .random())
        let b = try a.add("second")
        try addSilent(100, to: a)
        for number in 0..<10 { try a.set("\(number)", "1") }
        try a.exchange()
        let before = try granted(by: a)
        #expect(before.count == 103)
        let first = a.replica.firstNeeded
        try a.carryOut(.remove(a.replica.closing(of: b.id)))
        #expect(try appendAll(a) < 8)
        #expect(a.replica.firstNeeded > first)
        let after = try granted(by: a)
        #expect(Set(after.keys) == Set(before.keys).subtracting([b.id]))
        for (machine, keys) in after { #expect(keys.isSuperset(of: before[machine] ?? [])) }
        // When the log is shortened the next time, the first entry with repeated grants is dropped,
        // and its grants are repeated again.
        let next = a.replica.firstNeeded
        try a.set("0", "2")
        #expect(try appendAll(a) < 8)
        #expect(a.replica.firstNeeded > next)
        #expect(try granted(by: a).count == 102)
    }

    @Test func `a later session doesn't grant a key again that a machine had asked for`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try a.set("one", "1")
        try converge(a, b)
        try b.set("two", "2")
        let own = try #require(try b.replica.nextEntry(compacts: false) { b.items[$0] })
        let asking = try LogEntry(
            own.frame, [.wanted(Set(a.replica.groupKeys.keys))], by: b.replica.keys)
        server.append(asking)
        try a.exchange()
        let count = try entries(of: a).flatMap(\.parts).count
        let again = try begunAgain(a)
        #expect(try appendAll(again) == 0)
        #expect(try entries(of: a).flatMap(\.parts).count == count)
    }

    @Test
    func `a key that a machine asks for is granted once by a later session of another machine`()
        throws
    {
        let a = try TestMachine.founder(server)
        let (b, c) = (try a.add("second"), try a.add("third"))
        try a.set("one", "1")
        try converge(a, b, c)
        try b.set("two", "2")
        let own = try #require(try b.replica.nextEntry(compacts: false) { b.items[$0] })
        let keys = Set(a.replica.groupKeys.keys)
        server.append(try LogEntry(own.frame, [.wanted(keys)], by: b.replica.keys))
        let again = try begunAgain(c)
        #expect(try appendAll(again) == 1)
        #expect(try granted(by: c)[b.id] == keys)
        #expect(try appendAll(begunAgain(again)) == 0)
    }

    // MARK: Lost

    @Test func `a key whose grants never reached the server is granted by the next session`()
        throws
    {
        let code = RecoveryCode.random()
        let a = try TestMachine.founder(server, recovery: code)
        let label = try #require(a.replica.circleKey).label(of: "web")
        let b = try a.add("second", scope: .groups([label]))
        try converge(a, b)
        try a.set("one", "1", group: "web")
        // The machine keeps the key, but the entry with the grants never reaches the server.
        let lost = try a.replica.nextEntry(compacts: false) { a.items[$0] }
        #expect(lost != nil)
        let again = try begunAgain(a)
        #expect(again.replica.groupKeys.count == 1)
        try converge(again, b)
        #expect(b.values == ["one": "1"])
        #expect(try recoveryReader(code).values == ["one": "1"])
        #expect(try appendAll(begunAgain(again)) == 0)
    }

    @Test func `the next session completes a key's grants if only some reached the server`()
        throws
    {
        let code = RecoveryCode.random()
        let a = try TestMachine.founder(server, recovery: code)
        try addSilent(100, to: a)
        try a.exchange()
        try a.set("one", "1")
        #expect(try a.append())
        let machines = 102
        let key = try #require(a.replica.groupKeys.keys.first)
        #expect(try granted(by: a).values.count { $0.contains(key) } < machines)
        let again = try begunAgain(a)
        #expect(try appendAll(again) < 8)
        #expect(try granted(by: a).values.count { $0.contains(key) } == machines)
        #expect(try recoveryReader(code).values == ["one": "1"])
        #expect(try appendAll(begunAgain(again)) == 0)
    }

    @Test(arguments: [true, false])
    func `a machine gets a key that was made before the key's maker knew of the machine`(
        isStoredFirst: Bool
    ) throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try converge(a, b)
        try b.set("one", "1", group: "web")
        let entry = try #require(try b.replica.nextEntry(compacts: false) { b.items[$0] })
        let label = try #require(a.replica.circleKey).label(of: "web")
        let c = try a.add("third", scope: .groups([label]))
        try a.exchange()
        // `isStoredFirst`: whether the server has the entry of the key's maker before the maker
        // learns of the new machine.
        if !isStoredFirst { try b.read() }
        server.append(entry)
        b.replica.confirm()
        try converge(b, a, c)
        #expect(c.values == ["one": "1"])
        #expect(c.replica.notices == [])
        #expect(try granted(by: b)[c.id]?.count == 1)
    }

    @Test func `a machine gets its keys even if the machine that added it is lost`() throws {
        let a = try TestMachine.founder(server)
        let label = try #require(a.replica.circleKey).label(of: "web")
        let b = try a.add("second")
        try a.set("one", "1", group: "web")
        try converge(a, b)
        let c = try a.add("third", scope: .groups([label]))
        try c.read()
        #expect(c.values == [:])
        try converge(begunAgain(b), c)
        #expect(c.values == ["one": "1"])
    }
}
