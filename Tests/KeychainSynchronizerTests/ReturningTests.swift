// ReturningTests: machines that were suspended and come back, while others drop deletions, compact
// their logs or leave.

import Foundation
import KeychainCore
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A machine that comes back after a suspension` {
    private let server = MemoryStore()

    /// The members of a circle in the order in which an exchange reads their logs.
    private func sorted(_ devices: [Device]) async throws -> [Device] {
        var ids: [(MachineID, Device)] = []
        for device in devices { ids.append((MachineID(try await device.id()), device)) }
        return ids.sorted { $0.0 < $1.0 }.map(\.1)
    }

    /// The machine added the item before its suspension. Only after the machine has compared its
    /// keychain with the logs does it learn that it may have missed deletions.
    @Test
    func `an item of the returning machine stays although this machine later misses log entries`()
        async throws
    {
        let devices = try await server.circle("one", "two", "returning", "removed")
        let ordered = try await sorted(Array(devices.prefix(2)))
        let (first, second, returning) = (ordered[0], ordered[1], devices[2])
        // The removal begins an epoch. Nothing is sealed with the keys of this epoch yet.
        try await first.remove(devices[3])
        for _ in 0..<4 { for device in devices.prefix(3) { try await device.settle() } }
        let racing = HookedStore.racing(server, count: 1) {
            try returning.set("a", "1")
            try await returning.settle()
        }
        try await first.suspendOthers(except: second, through: racing)
        returning.clock.now = first.clock.now
        try returning.restart()
        let late = try await server.racing(readingEndOfLogOf: second) {
            try first.set("b", "1")
            try await first.settle()
            try await second.settle()
            try second.set("c", "1")
            try await second.settle()
        }
        try await returning.relay(through: late).settle()
        for number in 0..<200 {
            try second.set("c", "\(number)")
            try await second.settle()
        }
        try await returning.settle()
        #expect(try returning.values()["a"] == "1")
        try await converge(returning, first, second)
        for device in [returning, first, second] {
            #expect(try device.values() == ["a": "1", "b": "1", "c": "199"])
        }
    }

    /// The server still has the entry with the item, since the machine that wrote the entry was
    /// lost before it could delete the entry.
    @Test func `a deleted item in an entry that isn't needed any more stays deleted`() async throws
    {
        let devices = try await server.circle("one", "two", "returning")
        let (one, two, returning) = (devices[0], devices[1], devices[2])
        try two.set("a", "1")
        try await converge(one, two, returning)
        try one.delete("a")
        try await converge(one, two)
        try await one.suspendOthers(except: two, through: server)
        let interrupted = HookedStore(server) { request in
            if case .delete = request { throw HookedStore.Lost() }
        }
        _ = try? await two.relay(through: interrupted).settle()
        for number in 0..<200 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        try await one.remove(one)
        returning.clock.now = one.clock.now
        try returning.restart()
        try await converge(returning)
        try await returning.remove(two)
        try await converge(returning)
        #expect(try returning.values() == ["b": "199"])
    }

    /// The machine has read the log with the item before the entry with the item is dropped. At
    /// that time, it has read only the first page of the log with the deletion.
    @Test func `an item whose deletion was dropped while the machine was reading isn't sent again`()
        async throws
    {
        let devices = try await server.circle("one", "two", "returning")
        let ordered = try await sorted(Array(devices.prefix(2)))
        let (first, second, returning) = (ordered[0], ordered[1], devices[2])
        try first.set("a", "1")
        for number in 0..<70 {
            try second.set("item \(number)", "1")
            try await second.settle()
        }
        try await converge(first, second, returning)
        try second.delete("a")
        try await converge(second, first)
        try await second.suspendOthers(except: first, through: server)
        returning.clock.now = second.clock.now
        try returning.restart()
        let late = try await server.racing(readingEndOfLogOf: second) {
            try await first.settle()
            for number in 0..<200 {
                try second.set("b", "\(number)")
                try await second.settle()
            }
            try await first.settle()
        }
        try await returning.relay(through: late).settle()
        try await converge(returning)
        #expect(try returning.values().count == 71)
        #expect(try returning.values()["a"] == nil)
    }

    /// The server doesn't store the first entry that the returning machine appends, so the other
    /// machine doesn't wait for the returning machine yet.
    @Test func `an item stays deleted although an earlier return was interrupted`() async throws {
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        try one.set("a", "1")
        try await converge(one, two)
        try await one.suspendOthers(through: server)
        two.clock.now = one.clock.now
        try two.restart()
        _ = try? await two.relay(through: server.losing(creationsOf: "/l/")).settle()
        let four = try await one.deleteForGood("a", on: server)
        try await four.remove(one)
        two.clock.now = four.clock.now
        try two.restart()
        try await converge(two, four)
        for device in [two, four] { #expect(try device.values() == ["b": "199"]) }
    }

    /// Each of the two machines has the tombstone of an item in its keychain, and the versions of
    /// this item in retired entries of its own log. No entry that counts, and so is neither void
    /// nor retired, contains the deletion any more.
    @Test func `two returning machines don't deadlock, each waiting for the other's clean log`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three, four) = (devices[0], devices[1], devices[2], devices[3])
        for (device, item) in [(two, "x"), (three, "y")] {
            try device.set(item, "1")
            try await device.settle()
            try device.delete(item)
            try await device.settle()
        }
        try await converge(one, two, three, four)
        try await one.suspendOthers(except: four, through: server)
        for device in [one, four] { for _ in 0..<4 { try await device.settle() } }
        for device in [two, three] {
            device.clock.now = one.clock.now
            try device.restart()
        }
        try await converge(one, two, three, four)
        // While machine one appends these entries, it compacts its log and so drops the deletions.
        for number in 0..<200 {
            try one.set("b", "\(number)")
            try await one.settle()
        }
        for (device, item) in [(two, "k"), (three, "l")] {
            for value in ["1", "2"] {
                try device.set(item, value)
                try await device.settle()
            }
        }
        try await converge(one, two, three, four)
        let log = try await server.log(of: two)
        let first = try #require(server.records.keys.filter { $0.contains(log) }.min())
        try await one.remove(four)
        for device in [two, three] { try device.restart() }
        try await converge(one, two, three)
        // Machine two has appended an entry that states that its log is clean. The entries before
        // that one were no longer needed, and have been deleted.
        #expect(!server.hasRecord(first))
    }
}
