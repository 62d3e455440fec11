// RenewalTests: after a removal, what was written before is sealed again under keys that the
// removed machine doesn't have.

import Foundation
import KeychainCore
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

    @Test func `a machine sends its changes before the versions it seals again`() throws {
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
}
