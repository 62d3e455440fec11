// StayingItemTests: items that have travelled, and that the user then keeps to one machine, or
// deletes there without a tombstone.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Items that are no longer synchronized` {
    private let server = MemoryStore()

    private func log(of device: Device) async throws -> [LogEntry] {
        let machine = Hexadecimal.text(try await device.id().bytes)
        return try server.records.filter { $0.key.contains("/l/\(machine)/") }
            .map { try LogEntry(decoding: $0.value) }
    }

    @Test
    func `after a removal all of a log's entries are replaced, even one whose item is now local`()
        async throws
    {
        let (one, two) = (try Device("one", server), try Device("two", server))
        let three = try Device("three", server)
        try await one.found()
        try await one.add(two)
        try await one.add(three)
        for account in ["a", "b", "c"] { try one.set(account, "1") }
        try await converge(one, two, three)
        try one.makeLocal("b", "2")
        try await one.settle()
        let removal = UInt64(server.records.keys.count { $0.contains("/m/") }) + 1
        _ = try await one.relay.send(.remove(try await three.id()))
        try await converge(one, two)
        // A later session reads the version that travelled, and appends it again.
        try one.restart()
        try await converge(one, two)
        #expect(try await log(of: one).allSatisfy { $0.frame.membership.index >= removal })
        let four = try Device("four", server)
        try await two.add(four)
        try await converge(one, two, four)
        #expect(try one.values() == ["a": "1", "b": "2", "c": "1"])
        for device in [two, four] {
            #expect(try device.values() == ["a": "1", "b": "1", "c": "1"])
        }
    }

    /// The removed machine's log is the only one with the item. The machine that retires that log
    /// doesn't have the version any more.
    @Test(arguments: [false, true])
    func `a removed machine's log is retired although its item was deleted or made local`(
        isKept: Bool
    ) async throws {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try two.set("a", "1")
        try await converge(one, two)
        let removed = Hexadecimal.text(try await two.id().bytes)
        if isKept {
            try one.makeLocal("a", "2")
        } else {
            try one.delete("a", tombstones: .never)
        }
        try await one.settle()
        _ = try await one.relay.send(.remove(try await two.id()))
        try await converge(one)
        #expect(server.records.keys.contains { $0.contains("/l/\(removed)/") })
        // In the meantime, other changes are sent.
        try one.set("b", "1")
        try await converge(one)
        #expect(try await one.status().waitingCount == 0)
        // After five minutes all logs are read again.
        one.clock.now += 300
        try await converge(one)
        #expect(!server.records.keys.contains { $0.contains("/l/\(removed)/") })
        let three = try Device("three", server)
        try await one.add(three)
        #expect(try one.values() == ["a": isKept ? "2" : "1", "b": "1"])
        #expect(try three.values() == ["a": "1", "b": "1"])
    }

    /// Makes a machine's log so long that it is compacted.
    private func lengthenLog(of device: Device) async throws {
        let first = try await device.settle().firstNeeded
        for number in 0..<80 {
            try device.set("b", "\(number)")
            try await device.settle()
        }
        #expect(try await device.settle().firstNeeded > first)
    }

    /// A machine that returns has an item that the others have deleted and forgotten. It waits for
    /// an entry of the third machine before it deletes the item.
    @Test(arguments: [false, true])
    func `an item that was made local isn't deleted together with the other machines' copies`(
        isKept: Bool
    ) async throws {
        let (one, two) = (try Device("one", server), try Device("two", server))
        let (three, four) = (try Device("three", server), try Device("four", server))
        try await two.found()
        for device in [one, three, four] { try await two.add(device) }
        try two.set("a", "1")
        try await converge(two, one, three, four)
        // The log is compacted, so that it has no older version of the item.
        try two.delete("a")
        try await lengthenLog(of: two)
        let day = 86_400.0
        two.clock.now += 59 * day
        for device in [three, four] { device.clock.now = two.clock.now }
        try await converge(two, three, four)
        two.clock.now += 2 * day
        let relay = two.relay(through: server, absenceLimit: 60 * 86_400_000)
        for _ in 0..<3 { try await relay.settle() }
        #expect(try await two.status().machines.filter(\.isSuspended).map(\.name) == ["one"])
        try await converge(two, three, four)
        // The log is compacted again, and doesn't have the deletion any more.
        try await lengthenLog(of: two)
        // The third machine doesn't know of this removal yet.
        _ = try await two.relay.send(.remove(try await four.id()))
        try await two.settle()
        one.clock.now = two.clock.now
        try one.restart()
        try await one.settle()
        #expect(try one.values() == ["a": "1", "b": "79"])
        if isKept { try one.makeLocal("a", "2") }
        try await converge(one)
        #expect(try one.values()["a"] == (isKept ? "2" : "1"))
        try await converge(three, one)
        #expect(try one.values()["a"] == (isKept ? "2" : nil))
        #expect(try two.values() == ["b": "79"])
    }
}
