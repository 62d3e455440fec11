// GrantTests: which keys a machine accepts from other machines, which versions it accepts under
// these keys, and that no key is lost when the entries that grant it are deleted or void.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSynchronization
import Testing

@Suite struct GrantTests {
    private let server = TestServer()

    /// A machine that began with nothing but its private keys, and has then read everything.
    private func reader(_ keys: MachineKeys) throws -> TestMachine {
        let reader = TestMachine(Replica(keys, try server.circle()), server)
        let own = server.logs[keys.id] ?? [:]
        if let first = own.keys.min() { reader.replica.skip(keys.id, to: first) }
        for (_, bytes) in own.sorted(by: { $0.key < $1.key }) {
            reader.store(try reader.replica.restore(LogEntry(decoding: bytes)))
        }
        try reader.read()
        return reader
    }

    private func recoveryKeys(_ code: RecoveryCode) throws -> MachineKeys {
        let founding = try MembershipEntry(decoding: try #require(server.membership.first))
        guard case .found(let content) = founding.change else {
            throw SynchronizationFailure.malformed("the founding entry")
        }
        return MachineKeys(code, salt: content.salt)
    }

    /// Retires the log of a removed machine, which the server then deletes.
    private func retire(_ removed: TestMachine, by machine: TestMachine) throws {
        var retirement = machine.replica.retirement(of: removed.id)
        for _ in 0..<8 where retirement == nil {
            try machine.exchange()
            retirement = machine.replica.retirement(of: removed.id)
        }
        try machine.carryOut(try #require(retirement))
        server.logs[removed.id] = nil
    }

    // MARK: Which keys are taken

    @Test(arguments: [true, false])
    func `a newcomer refuses a grant with a wrong circle key`(hasAllGroups: Bool) throws {
        let a = try TestMachine.founder(server)
        let key = try #require(a.replica.circleKey)
        let b = try a.add(
            "second", scope: hasAllGroups ? .all : .groups([key.label(of: "web")]))
        try b.set("one", "1", group: "web")
        try converge(a, b)
        let c = try a.add("third")
        try b.read()
        try b.set("two", "2", group: "web")
        let own = try #require(try b.replica.nextEntry(compacts: false) { b.items[$0] })
        // The right group keys, in a grant with another circle key. The labels in a scope are
        // computed with the circle key, so with another one they would mean other groups.
        let content = KeyGrant.Content(
            circleKey: .random(), groupKeys: Array(b.replica.groupKeys.values))
        let grant = try KeyGrant(
            content, to: c.replica.keys.description, from: b.id, in: own.frame.circle)
        server.append(try LogEntry(own.frame, [.grant(grant)], by: b.replica.keys))
        // The newcomer reads this grant before anything that the founder wrote.
        try c.read(b.id)
        #expect(c.replica.circleKey == nil)
        #expect(c.replica.groupKeys.isEmpty)
        #expect(
            c.replica.notices == [
                .malformed("a grant of keys by \(b.id) has another circle key")
            ])
        try a.exchange()
        try c.read()
        #expect(c.replica.circleKey?.check == key.check)
        #expect(c.values == ["one": "1"])
    }

    @Test func `a circle's identifier depends on its circle key`() throws {
        let a = try TestMachine.founder(server)
        let founding = try MembershipEntry(decoding: try #require(server.membership.first))
        guard case .found(var content) = founding.change else {
            throw SynchronizationFailure.malformed("the founding entry")
        }
        #expect(content.keyCheck == a.replica.circleKey?.check)
        content.keyCheck = CircleKey.random().check
        let other = try MembershipEntry(
            .found(content), after: .empty, in: nil, created: 0, by: a.replica.keys)
        #expect(try Circle(founding: other).id != a.replica.circle.id)
    }

    /// Three machines. The second one has only the group "web". Instead of its next entry, it
    /// appends an entry with the parts that `parts` returns. The third machine reads that entry.
    ///
    /// - Returns: The second machine and the third.
    private func threeMachines(
        _ parts: (TestMachine, LogEntry.Frame, TestMachine) throws -> [LogEntry.Part]
    ) throws -> (writer: TestMachine, reader: TestMachine) {
        let a = try TestMachine.founder(server)
        let label = try #require(a.replica.circleKey).label(of: "web")
        let b = try a.add("second", scope: .groups([label]))
        let c = try a.add("third")
        try a.set("one", "1", group: "web")
        try a.set("other", "1", group: "other")
        try converge(a, b, c)
        try b.set("two", "2", group: "web")
        let frame = try #require(try b.replica.nextEntry(compacts: false) { b.items[$0] }).frame
        server.append(try LogEntry(frame, parts(b, frame, c), by: b.replica.keys))
        try c.read()
        return (b, c)
    }

    @Test func `only the keys that the sender may give are accepted from a grant`() throws {
        var good: GroupKey?
        let (_, c) = try threeMachines { b, frame, c in
            let key = { (epoch: UInt64, group: String) in
                GroupKey.random(epoch: epoch, group: group, in: frame.circle)
            }
            let right = key(0, "web")
            good = right
            // The first key belongs to an epoch that hasn't begun, and the last key to a group that
            // isn't in the sender's scope.
            let content = KeyGrant.Content(
                circleKey: try #require(b.replica.circleKey),
                groupKeys: [key(1, "web"), right, key(0, "other")])
            let grant = try KeyGrant(
                content, to: c.replica.keys.description, from: b.id, in: frame.circle)
            return [.grant(grant)]
        }
        let taken = try #require(good)
        #expect(c.replica.groupKeys[taken.id] != nil)
        #expect(c.replica.groupKeys.count == 3)
        #expect(c.replica.groupKeys.values.allSatisfy { $0.epoch == 0 })
        #expect(c.replica.groupKeys.values.count { $0.group == "other" } == 1)
        #expect(c.replica.notices == [])
    }

    @Test func `a version sealed under another group's key is ignored`() throws {
        let (b, c) = try threeMachines { b, frame, _ in
            let key = try #require(b.replica.groupKeys.values.first)
            #expect(key.group == "web")
            let version = { (account: String, group: String, part: UInt32) throws in
                let item = try #require(
                    SynchronizedItem(
                        TestMachine.record(account, group: group, at: 900_000_000),
                        .whenUnlocked, data: Data("3".utf8)))
                let place = SealedVersion.Place(
                    circle: frame.circle, writer: b.id, index: frame.index, part: part)
                return LogEntry.Part.version(SealedVersion(item, under: key, at: place))
            }
            return [try version("other", "other", 0), try version("two", "web", 1)]
        }
        // The second version in the entry is valid, and taken.
        #expect(c.values == ["one": "1", "other": "1", "two": "3"])
        let index = try #require(server.logs[b.id]?.keys.max())
        #expect(
            c.replica.notices == [
                .malformed("part 0 of entry \(index) of \(b.id) has invalid content")
            ])
    }

    @Test func `a version of a group that isn't in its writer's scope is ignored`() throws {
        var key: GroupKey?
        let (_, c) = try threeMachines { b, frame, c in
            // The writer has got hold of the other group's key.
            key = c.replica.groupKeys.values.first { $0.group == "other" }
            let item = try #require(
                SynchronizedItem(
                    TestMachine.record("other", group: "other", at: 900_000_000), .whenUnlocked,
                    data: Data("3".utf8)))
            let place = SealedVersion.Place(
                circle: frame.circle, writer: b.id, index: frame.index, part: 0)
            return [.version(SealedVersion(item, under: try #require(key), at: place))]
        }
        #expect(key != nil)
        #expect(c.values == ["one": "1", "other": "1"])
        #expect(c.replica.notices == [])
    }

    // MARK: Which grants stay

    /// When the second machine made the key, the machine with only some groups had not been added
    /// yet. The second machine has exchanged nothing since then.
    @Test func `a machine with some groups gets a key from a machine that didn't make the key`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try converge(a, b)
        let label = try #require(a.replica.circleKey).label(of: "web")
        try b.set("one", "1", group: "web")
        while try b.append() {}
        let c = try a.add("third", scope: .groups([label]))
        try a.set("two", "2", group: "web")
        try a.exchange()
        try c.read()
        #expect(c.values == ["one": "1", "two": "2"])
    }

    @Test func `the recovery code opens everything after the founder's log is gone`() throws {
        let code = RecoveryCode.random()
        let a = try TestMachine.founder(server, recovery: code)
        let b = try a.add("second")
        try a.set("one", "1")
        try b.set("two", "2", group: "other")
        try converge(a, b)
        try b.carryOut(.remove(b.replica.closing(of: a.id)))
        try retire(a, by: b)
        let reader = try reader(recoveryKeys(code))
        #expect(reader.values == ["one": "1", "two": "2"])
        #expect(reader.replica.name(of: b.id) == "second")
    }

    @Test func `a member's private keys open everything after logs were compacted and retired`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        let c = try a.add("third")
        try a.set("one", "1")
        try converge(a, b, c)
        for round in 0..<20 {
            try a.set("two", "\(round)")
            try converge(a, b, c)
        }
        #expect(a.replica.firstNeeded > 1)
        #expect(try reader(b.replica.keys).values == a.values)
        try b.carryOut(.remove(b.replica.closing(of: a.id)))
        try retire(a, by: b)
        try converge(b, c)
        for keys in [b.replica.keys, c.replica.keys] {
            #expect(try reader(keys).values == ["one": "1", "two": "19"])
        }
    }

    @Test func `keys are granted again if a removal invalidates the entry that granted them`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        let c = try a.add("third")
        try a.set("one", "1")
        try converge(a, b, c)
        // The founder adds a fourth machine, and gives it keys in an entry that the second machine
        // hasn't read when it removes the third machine.
        let d = try a.add("fourth")
        while try a.append() {}
        while b.replica.circle.head.index < server.membership.count {
            try b.replica.take(
                MembershipEntry(
                    decoding: server.membership[Int(b.replica.circle.head.index)]))
        }
        try b.carryOut(.remove(b.replica.closing(of: c.id)))
        let before = Set(server.logs[a.id, default: [:]].keys)
        // The keys are those of an earlier epoch, which a void entry may give.
        try d.read()
        #expect(d.values == ["one": "1"])
        try converge(a, b, d)
        let added = try server.logs[a.id, default: [:]].filter { !before.contains($0.key) }
            .map { try LogEntry(decoding: $0.value) }
        #expect(
            added.contains { entry in
                entry.parts.contains {
                    if case .grant(let grant) = $0 { grant.recipient == d.id } else { false }
                }
            })
        #expect(d.replica.notices.isEmpty)
    }
}
