// CircleTests: machines that synchronize through a server that works correctly, changes of the
// membership, and what is on the server.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainSynchronization
import Testing

@Suite struct CircleTests {
    private let server = TestServer()

    @Test func `items and deletions reach every machine`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try a.set("one", "1")
        try b.set("two", "2")
        try converge(a, b)
        #expect(a.values == ["one": "1", "two": "2"])
        #expect(b.values == a.values)
        try b.delete("one")
        try converge(a, b)
        #expect(a.values == ["two": "2"])
        #expect(b.values == a.values)
        #expect(a.replica.notices.isEmpty && b.replica.notices.isEmpty)
    }

    @Test func `a deletion is dropped once no log has an older version of the item`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try a.set("one", "1")
        try converge(a, b)
        try b.delete("one")
        try b.exchange()
        #expect(!b.replica.ledger.items.isEmpty)
        try converge(a, b)
        #expect(a.replica.ledger.items.isEmpty)
        #expect(b.replica.ledger.items.isEmpty)
        let c = try a.add("third")
        try converge(a, b, c)
        #expect(c.values.isEmpty)
    }

    @Test func `the modification with the later date wins, even if it was made first`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try converge(a, b)
        b.clock = a.clock + 10
        try b.set("one", "later")
        try a.set("one", "earlier")
        try a.exchange()
        try converge(b, a)
        #expect(a.values == ["one": "later"])
        #expect(b.values == a.values)
    }

    @Test func `logs stay short even if items are overwritten many times`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        for round in 0..<50 {
            try a.set("one", "\(round)")
            try b.set("two", "\(round)")
            try converge(a, b)
        }
        #expect(a.values == ["one": "49", "two": "49"])
        #expect(server.logs.values.allSatisfy { $0.count <= 8 })
    }

    // MARK: Membership

    @Test func `a machine with some groups sees no items of other groups`() throws {
        let a = try TestMachine.founder(server)
        let key = try #require(a.replica.circleKey)
        let b = try a.add("web", scope: .groups([key.label(of: "web")]))
        try a.set("seen", "1", group: "web")
        try a.set("hidden", "2", group: "vault")
        try converge(a, b)
        #expect(b.values == ["seen": "1"])
        #expect(b.replica.groupKeys.values.map(\.group) == ["web"])
        try b.set("more", "3", group: "web")
        try converge(a, b)
        #expect(a.values == ["seen": "1", "hidden": "2", "more": "3"])
    }

    @Test func `a removed machine can't read later epochs, and its own later entries are void`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        let c = try a.add("third")
        try a.set("before", "1")
        try c.set("of the removed", "2")
        try converge(a, b, c)
        // `c` reads this entry only after it was removed from the circle.
        try b.set("unread", "0")
        #expect(try b.append())
        try a.read()
        try a.carryOut(.remove(a.replica.closing(of: c.id)))
        // `c` appends this entry before it learns of its removal. The entry is void.
        try c.set("before", "altered")
        #expect(try c.append())
        try c.read()
        #expect(c.values == ["before": "altered", "of the removed": "2", "unread": "0"])
        try a.set("after", "3")
        try converge(a, b)
        let epoch = a.replica.circle.roster.epoch
        #expect(epoch == 1)
        // The removed machine keeps its items and the keys of epoch 0, and gets no other keys. The
        // keys of epoch 0 open the entries that other machines wrote before they knew of the
        // removal, as long as the server still has these entries.
        try c.read()
        #expect(c.values == ["before": "altered", "of the removed": "2", "unread": "0"])
        #expect(c.replica.groupKeys.values.allSatisfy { $0.epoch == 0 })
        #expect(try !c.append())
        #expect(
            a.values == ["before": "1", "of the removed": "2", "unread": "0", "after": "3"])
        #expect(b.values == a.values)
        // Once the removed machine's log is retired, the log can be deleted: all versions of items
        // in it that still count are also in other logs.
        var retirement = a.replica.retirement(of: c.id)
        while retirement == nil {
            try a.exchange()
            retirement = a.replica.retirement(of: c.id)
        }
        // A machine retires no log while it may have to append an item that is in no log.
        try b.set("last", "4")
        #expect(try b.append())
        var doubtful = a.replica
        try doubtful.take(try b.replica.signedHead(moment: 1))
        doubtful.hold(
            Bytes16(high: 1, low: 2), VersionStamp(modified: 1, isDeletion: false, digest: .zero))
        _ = doubtful.settle()
        #expect(doubtful.retirement(of: c.id) == nil)
        try a.carryOut(try #require(retirement))
        server.logs[c.id] = nil
        try b.read()
        let d = try b.add("fourth")
        try converge(a, b, d)
        #expect(d.values == a.values)
    }

    @Test func `an unauthorized or invalid change of the membership is refused`() throws {
        let recovery = RecoveryCode.random()
        let a = try TestMachine.founder(server, recovery: recovery)
        let key = try #require(a.replica.circleKey)
        let b = try a.add("some groups", scope: .groups([key.label(of: "web")]))
        let stranger = MachineKeys.random()
        let circle = try server.circle()
        func entry(
            _ change: MembershipEntry.Change, by keys: MachineKeys
        ) throws -> MembershipEntry {
            try MembershipEntry(
                change, after: circle.head, in: circle.id, created: 0, by: keys)
        }
        let addition = try #require(
            a.replica.addition(of: stranger.description, name: "", scope: .all))
        for (change, keys) in [
            (addition, stranger), (addition, b.replica.keys),
            (.remove(a.replica.closing(of: a.id)), b.replica.keys),
            // A removal states up to which entry each log counts. A machine with only some groups
            // can't read all entries, so it must not remove any machine, not even itself.
            (.remove(b.replica.closing(of: b.id)), b.replica.keys),
            (.remove(a.replica.closing(of: stranger.id)), a.replica.keys),
            (.suspend(a.replica.closing(of: stranger.id)), a.replica.keys),
            (.retire(a.replica.closing(of: b.id)), a.replica.keys),
        ] {
            var copy = circle
            #expect(throws: SynchronizationFailure.self) {
                try copy.append(entry(change, by: keys))
            }
            #expect(copy == circle)
        }
    }

    @Test func `the recovery code opens a circle that has no members left`() throws {
        let recovery = RecoveryCode.random()
        let a = try TestMachine.founder(server, recovery: recovery)
        let b = try a.add("second")
        try a.set("one", "1")
        try converge(a, b)
        // One member can remove all others, and itself.
        try b.carryOut(.remove(b.replica.closing(of: a.id)))
        try b.carryOut(.remove(b.replica.closing(of: b.id)))
        var circle = try server.circle()
        #expect(circle.roster.members.isEmpty)
        let founding = try MembershipEntry(decoding: try #require(server.membership.first))
        guard case .found(let content) = founding.change else {
            throw SynchronizationFailure.malformed("the founding entry")
        }
        let keys = MachineKeys(recovery, salt: content.salt)
        #expect(keys.description == circle.recovery)
        // The keys granted to the recovery code open all entries on the server.
        var reader = Replica(keys, circle)
        var items: [SynchronizedItem] = []
        for (writer, log) in server.logs {
            if let first = log.keys.min() { reader.skip(writer, to: first) }
            for (_, bytes) in log.sorted(by: { $0.key < $1.key }) {
                for case .store(let version) in try reader.take(LogEntry(decoding: bytes)) {
                    items.append(version)
                }
            }
        }
        #expect(items.map(\.data) == [Data("1".utf8)])
        let machine = MachineKeys.random()
        let addition = try #require(
            reader.addition(of: machine.description, name: "new", scope: .all))
        try circle.append(
            MembershipEntry(addition, after: circle.head, in: circle.id, created: 0, by: keys))
        #expect(circle.roster.members == [machine.id])
    }

    @Test(arguments: [
        ("a", true), ("Rechner für Ämter", true), ("\u{A0}", true),
        (String(repeating: "é", count: 127) + "e", true),
        (String(repeating: "é", count: 128), false), ("", false), ("a\u{0}", false),
        ("a\u{1F}b", false), ("\u{7F}", false), ("a\u{80}", false), ("\u{9B}31m", false),
        ("a\u{9F}", false),
    ])
    func `a machine's name has 1 to 255 bytes and no control characters`(
        name: String, isName: Bool
    ) {
        #expect(CircleKey.isName(name) == isName)
    }

    // MARK: What is on the server

    @Test func `names and values are on the server only in encrypted form`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("PLANTED-machine")
        try a.set("PLANTED-account", "PLANTED-value", group: "PLANTED-group")
        try converge(a, b)
        #expect(b.values == ["PLANTED-account": "PLANTED-value"])
        #expect(b.replica.name(of: b.id) == "PLANTED-machine")
        let needle = Data("PLANTED".utf8)
        #expect(server.everything.allSatisfy { Data($0).range(of: needle) == nil })
    }

    @Test func `an unconfirmed entry is sent again unchanged`() throws {
        let a = try TestMachine.founder(server)
        try a.set("one", "1")
        let first = try a.replica.nextEntry(compacts: true) { a.items[$0] }
        try a.set("one", "2")
        let again = try a.replica.nextEntry(compacts: true) { a.items[$0] }
        #expect(first == again)
        server.append(try #require(first))
        a.replica.confirm()
        try a.exchange()
        let b = try a.add("second")
        try converge(a, b)
        #expect(b.values == ["one": "2"])
    }
}
