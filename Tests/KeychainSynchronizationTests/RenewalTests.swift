// RenewalTests: after a removal, what was written before is sealed again under keys that the removed
// machine doesn't have.

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

    @Test func `after a removal no version on the server is under an earlier key`() throws {
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

    @Test func `what a machine changes comes before what it seals again`() throws {
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

    @Test func `one item that can't be loaded keeps no other from being sealed again`() throws {
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
        // Nothing after it is appended again for that.
        #expect(versions(try entries()).count < 12)
        // A later version takes its place.
        b.clock = a.clock
        try b.set("two", "2")
        try converge(b, a)
        #expect(a.replica.firstNeeded > place)
        #expect(a.values == ["one": "1", "two": "2", "three": "8"])
    }
}
