// SharedKeychainTests: two processes that have one keychain open, and synchronize it at the same
// time.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRelay
import KeychainSQLite
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Two processes that synchronize one keychain` {
    private let server = MemoryStore()
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "shared-\(UUID().uuidString)").path

    private func removeFolder() { try? FileManager.default.removeItem(atPath: folder) }

    /// Both processes, and another machine of the circle.
    private func processes() async throws -> (Device, Device, Device) {
        let one = try Device("one", server, folder: folder)
        try await one.found()
        let other = try Device("one", server, clock: one.clock, folder: folder)
        let two = try Device("two", server)
        try await one.add(two)
        try await other.settle()
        return (one, other, two)
    }

    @Test func `a process doesn't report the other process's entry as a fork`()
        async throws
    {
        defer { removeFolder() }
        let (one, other, two) = try await processes()
        for number in 0..<5 {
            try one.set("a", "\(number)")
            try await one.settle()
            try await two.settle()
            // The other process hasn't read the entry that the first process appended to the log of
            // their machine, and learns that machine two has read this entry.
            try await other.settle()
            #expect(try await other.status().notices == [])
            try other.set("b", "\(number)")
            try await other.settle()
            try await two.settle()
            try await one.settle()
            #expect(try await one.status().notices == [])
        }
        #expect(try two.values() == ["a": "4", "b": "4"])
        #expect(try await two.status().notices == [])
    }

    @Test
    func `a change is sent even if the other process just sent an earlier change of the item`()
        async throws
    {
        defer { removeFolder() }
        let (one, other, two) = try await processes()
        try one.set("a", "1")
        server.leaveUnanswered(1)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        // The other process finds the first process's entry on the server, and empties the outbox.
        try await other.settle()
        #expect(try other.engine.outbox() == [])
        try one.set("a", "2")
        try await one.settle()
        try await two.settle()
        #expect(try two.values() == ["a": "2"])
    }

    @Test func `outbox entries never reuse the number of an earlier entry`() async throws {
        defer { removeFolder() }
        let (one, _, _) = try await processes()
        var seen: Set<OutboxEntry> = []
        for number in 0..<20 {
            try one.set("a", "\(number)")
            try one.set("b", "\(number)")
            let entries = try one.engine.outbox()
            #expect(entries.count == 2)
            #expect(seen.isDisjoint(with: entries))
            seen.formUnion(entries)
            // Removes the last row and adds another one, while an earlier row stays.
            try one.engine.removeFromOutbox([entries[1]])
            try one.set("b", "again")
            let more = try one.engine.outbox()
            #expect(more.first == entries.first && more.count == 2)
            #expect(seen.isDisjoint(with: more.dropFirst()))
            seen.formUnion(more)
            try one.engine.removeFromOutbox(more)
        }
    }

    @Test
    func `a membership change that one process signed isn't lost when the other one exchanges`()
        async throws
    {
        defer { removeFolder() }
        let (one, other, two) = try await processes()
        try other.set("a", "1")
        _ = try await one.relay.send(.remove(try await two.id()))
        // The other process stores what it has read, which must not replace the signed change.
        try await other.settle()
        try one.restart()
        try await one.settle()
        #expect(try await one.status().machines.map(\.name) == ["one"])
        #expect(try await two.settle().state == .removed)
    }

    /// Neither process has sent an entry, so the states of the two differ only in the keys.
    @Test
    func `a process adopts the membership with which the other process replaced an earlier one`()
        async throws
    {
        defer { removeFolder() }
        let two = try Device("two", server)
        try await two.found()
        try two.set("a", "1")
        try await two.settle()
        let one = try Device("one", server, folder: folder)
        let other = try Device("one", server, clock: one.clock, folder: folder)
        func join(_ device: Device) async throws {
            let description = try await device.relay.send(.describe).message
            _ = try await two.relay.send(.add(machine: description, name: "one", groups: nil))
            try await two.settle()
            // A machine that hasn't received the keys of the circle sends nothing.
            server.hide { $0.contains("/l/") }
            try await device.joinListed()
            server.hide { _ in false }
        }
        try await join(one)
        _ = try await other.relay.send(.forget)
        try await join(other)
        // The first process finds that its session is over, and begins another one.
        try await one.settle()
        let id = try await other.id()
        #expect(try await one.id() == id)
        for device in [one, other] {
            try device.restart()
            try device.set(device === one ? "b" : "c", "1")
            try await device.settle()
            #expect(try await device.id() == id)
            let status = try await device.status()
            #expect(status.notices == [] && !status.isOwnLogMissing)
        }
        try await converge(two)
        #expect(try two.values() == ["a": "1", "b": "1", "c": "1"])
    }

    @Test func `exchanges at the same time lose no change and report no problem`() async throws {
        defer { removeFolder() }
        let (one, other, two) = try await processes()
        let count = 12
        for number in 0..<count {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (name, device) in [("one", one), ("other", other), ("two", two)] {
                    group.addTask {
                        try device.set("\(name) \(number)", "\(number)")
                        // An exchange fails if the other process was faster too often. A later
                        // exchange makes up for it.
                        do {
                            try await device.settle()
                        } catch let failure as KeychainFailure {
                            guard failure.cause == .contention else { throw failure }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        for device in [one, other, two, one, other, two] { try await device.settle() }
        let values = try two.values()
        #expect(values.count == 3 * count)
        for device in [one, other, two] {
            #expect(try device.values() == values)
            let status = try await device.status()
            #expect(status.notices == [], "\(device.name)")
            #expect(status.waitingCount == 0)
        }
    }

    /// The copy signs an entry for an index at which the server already has an entry of the
    /// original keychain.
    @Test func `a copied keychain that is one entry behind doesn't bring back a deleted item`()
        async throws
    {
        let copied = folder + "-copy"
        defer {
            removeFolder()
            try? FileManager.default.removeItem(atPath: copied)
        }
        let one = try Device("one", server)
        try await one.found()
        let machine = try Device("machine", server, folder: folder)
        try await one.add(machine)
        try one.set("a", "1")
        try await converge(one, machine)
        try FileManager.default.copyItem(atPath: folder, toPath: copied)
        let copy = try Device("machine", server, clock: machine.clock, folder: copied)
        try await copy.settle()
        let log = "/l/\(Hexadecimal.text(try await machine.id().bytes))/"
        let count = server.records.keys.count { $0.contains(log) }
        try one.delete("a")
        for number in 0..<300 {
            try one.set("b", "\(number)")
            try await one.settle()
            // By then, the log of `one` has the deletion, but no longer the item itself.
            if number == 100 { try await machine.settle() }
        }
        #expect(server.records.keys.count { $0.contains(log) } == count + 1)
        // The machine that has the tombstone is removed.
        let newcomer = try Device("new", server)
        try await one.add(newcomer)
        try await converge(one, newcomer)
        try await newcomer.remove(one)
        try copy.set("c", "1")
        for _ in 0..<3 { for device in [copy, newcomer] { _ = try? await device.settle() } }
        for device in [copy, newcomer] { #expect(try device.values() == ["b": "299", "c": "1"]) }
    }
}
