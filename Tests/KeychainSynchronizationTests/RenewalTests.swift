// RenewalTests: after a removal, what was written before is sealed again under keys that the
// removed machine doesn't have. Versions that can't be opened or loaded stay where they are.

import Foundation
import KeychainCore
import KeychainSQLite
import KeychainSynchronization
import Testing

@Suite struct RenewalTests {
    private let server = TestServer()

    /// The entries on the server.
    private func entries() throws -> [LogEntry] {
        try server.logs.values.flatMap { try $0.values.map { try LogEntry(decoding: $0) } }
    }

    private func versions(_ entries: [LogEntry]) -> [SealedVersion] {
        entries.flatMap(\.parts).compactMap {
            if case .version(let version) = $0 { version } else { nil }
        }
    }

    @Test func `after a removal no version on the server is encrypted under an earlier key`() throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        let c = try a.add("third")
        for number in 0..<300 { try a.set("\(number)", "1") }
        for number in 300..<310 { try b.set("\(number)", "2", group: "other") }
        try converge(a, b, c)
        try a.carryOut(.remove(a.replica.closing(of: c.id)))
        server.logs[c.id] = nil
        try converge(a, b)
        let all = versions(try entries())
        #expect(all.count >= 310)
        #expect(Set(all.map { a.replica.groupKeys[$0.key]?.epoch }) == [1])
        #expect(try entries().allSatisfy { versions([$0]).count <= 128 })
        // A newcomer needs none of the earlier keys, and gets none.
        let d = try a.add("fourth")
        try converge(a, d)
        #expect(d.values == a.values)
        #expect(d.values.count == 310)
        #expect(Set(d.replica.groupKeys.values.map(\.epoch)) == [1])
    }

    @Test func `after a removal, a machine sends new changes before it reencrypts old versions`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        for number in 0..<10 { try a.set("\(number)", "1") }
        try converge(a, b)
        try a.carryOut(.remove(a.replica.closing(of: b.id)))
        try a.set("new", "2")
        let first = try #require(try a.replica.nextEntry(compacts: false) { a.items[$0] })
        #expect(versions([first]).count == 1)
        a.replica.confirm()
        let second = try #require(try a.replica.nextEntry(compacts: false) { a.items[$0] })
        #expect(versions([second]).count == 10)
        #expect(second.frame.first == first.index)
    }

    @Test
    func `a machine that can't decrypt a version of its own counts it and reencrypts nothing`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try a.set("one", "1")
        try converge(a, b)
        try a.set("two", "2")
        let own = try #require(try a.replica.nextEntry(compacts: false) { a.items[$0] })
        // The machine doesn't have the key under which its entry's version is sealed.
        let lost = GroupKey.random(epoch: 0, group: "lost", in: own.frame.circle)
        let version = try #require(
            SynchronizedItem(
                TestMachine.record("two", group: "lost", at: a.clock), .whenUnlocked,
                data: Data("2".utf8)))
        let place = SealedVersion.Place(
            circle: own.frame.circle, writer: a.id, index: own.index, part: 0)
        server.append(
            try LogEntry(
                own.frame, [.version(SealedVersion(version, under: lost, at: place))],
                by: a.replica.keys))
        let again = TestMachine(
            Replica(
                a.replica.keys, try server.circle(), circleKey: a.replica.circleKey,
                groupKeys: Array(a.replica.groupKeys.values)), server)
        again.items = a.items
        while let bytes = server.logs[a.id]?[again.replica.nextIndex(of: a.id)] {
            _ = try again.replica.restore(LogEntry(decoding: bytes))
        }
        try again.exchange()
        try again.carryOut(.remove(again.replica.closing(of: b.id)))
        let end = again.replica.readHeads[a.id]?.index ?? 0
        try again.exchange()
        #expect(again.replica.unopenedCount == 1)
        let added = try entries().filter { $0.index > end }
        #expect(versions(added).isEmpty)
        #expect(
            Set(versions(try entries()).map { again.replica.groupKeys[$0.key]?.epoch }) == [0, nil])
    }

    @Test
    func `the oldest versions are reencrypted first, and their old entries become unnecessary`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        try converge(a, b)
        // The order of the items' names has nothing to do with when the items were written.
        var batches: [(index: UInt64, names: Set<Bytes16>)] = []
        for batch in 0..<3 {
            let before = Set(a.items.keys)
            for number in 0..<100 { try a.set("\(batch) \(number)", "1") }
            try a.exchange()
            batches.append(
                (a.replica.readHeads[a.id]?.index ?? 0, Set(a.items.keys).subtracting(before)))
        }
        try converge(a, b)
        try a.carryOut(.remove(a.replica.closing(of: b.id)))
        var loaded: [Set<Bytes16>] = []
        var needed: [UInt64] = []
        for _ in 0..<3 {
            var names: Set<Bytes16> = []
            let entry = try #require(
                try a.replica.nextEntry(compacts: false) { name in
                    names.insert(name)
                    return a.items[name]
                })
            loaded.append(names)
            needed.append(entry.frame.first)
            a.replica.confirm()
        }
        #expect(loaded.map(\.count) == [128, 128, 44])
        #expect(loaded[0].isSuperset(of: batches[0].names))
        #expect(loaded[0].isDisjoint(with: batches[2].names))
        #expect(loaded[1].isSuperset(of: batches[1].names.subtracting(loaded[0])))
        #expect(loaded[2].isSubset(of: batches[2].names))
        #expect(needed[0] == batches[1].index && needed[1] == batches[2].index)
        #expect(needed[2] > batches[2].index)
    }

    @Test func `an item that can't be loaded doesn't prevent the reencryption of other items`()
        throws
    {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        let c = try a.add("third")
        for number in 0..<300 { try a.set("\(number)", "1") }
        try converge(a, b, c)
        let name = try #require(a.items.keys.min())
        a.items[name] = nil
        try a.carryOut(.remove(a.replica.closing(of: c.id)))
        server.logs[c.id] = nil
        try converge(a, b)
        let renewed = versions(try entries()).filter { a.replica.groupKeys[$0.key]?.epoch == 1 }
        #expect(renewed.count == 299)
        // The entry with that item stays, so that other machines don't take the item for deleted.
        #expect(b.values.count == 300)
        let d = try b.add("fourth")
        try converge(a, b, d)
        #expect(d.values.count == 300)
        #expect(try !a.append())
    }

    @Test func `a log is compacted up to an item that can't be loaded`() throws {
        let a = try TestMachine.founder(server)
        let b = try a.add("second")
        for account in ["one", "two", "three"] {
            try a.set(account, "1")
            _ = try a.append()
        }
        try converge(a, b)
        let name = try #require(
            a.items.values.first { $0.record.attributes[.account] == .string("two") }?.name)
        let place = try #require(a.replica.ledger.items[name]?.places[a.id])
        a.items[name] = nil
        for number in 2..<9 {
            try a.set("three", "\(number)")
            try converge(a, b)
        }
        #expect(a.replica.firstNeeded == place)
        #expect(b.values == ["one": "1", "two": "1", "three": "8"])
        // The entry with that item stays, but the versions after it aren't appended again and
        // again.
        #expect(versions(try entries()).count < 12)
        // A later version takes the place of the one that can't be loaded.
        b.clock = a.clock
        try b.set("two", "2")
        try converge(b, a)
        #expect(a.replica.firstNeeded > place)
        #expect(a.values == ["one": "1", "two": "2", "three": "8"])
    }
}
