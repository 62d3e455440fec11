// RemovedMachineTests: requests to a machine that was removed from its circle, and what it can
// still write.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A removed machine` {
    @Test(arguments: [false, true])
    func `each request about the members says that the machine was removed`(isAnew: Bool)
        async throws
    {
        let server = MemoryStore()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        let id = try await one.id()
        _ = try await one.relay.send(.remove(try await two.id()))
        try await one.settle()
        #expect(try await two.settle().state == .removed)
        if isAnew { try two.restart() }
        let machine = Data(MachineKeys.random().description.bytes)
        let requests: [SynchronizationMessage] = [
            .add(machine: machine, name: "three", groups: nil), .remove(id),
            .makeToken(groups: nil, expires: .max), .membershipHead,
        ]
        for request in requests {
            let refusal = await #expect(throws: KeychainFailure.self) {
                _ = try await two.relay.send(request)
            }
            #expect(refusal?.reason.contains("was removed from its circle") == true)
        }
        #expect(try await two.status().state == .removed)
    }

    /// An earlier copy of the removed machine's keychain doesn't know of the removal. The copy
    /// writes other entries at indexes that the machine's log already has. The server shows this
    /// other log to a restarted process of another machine.
    @Test(arguments: [false, true])
    func `entries rewritten in a removed machine's log before the log is retired don't count`(
        hasLastEntry: Bool
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "removed-\(UUID().uuidString)").path
        let copied = folder + "-copy"
        defer {
            for path in [folder, copied] { try? FileManager.default.removeItem(atPath: path) }
        }
        let (server, other) = (MemoryStore(), MemoryStore())
        let (one, two) = (try Device("one", server), try Device("two", server))
        let removed = try Device("three", server, folder: folder)
        try await one.found()
        for device in [two, removed] { try await one.add(device) }
        try removed.set("a", "1")
        try await converge(one, two, removed)
        removed.engine.close()
        try FileManager.default.copyItem(atPath: folder, toPath: copied)
        try removed.restart()
        other.records = server.records

        for value in 2...5 {
            try removed.set("a", "\(value)")
            try await removed.settle()
        }
        try await converge(one, two)
        let log = "/l/\(Hexadecimal.text(try await removed.id().bytes))/"
        try await one.signRemoval(of: removed)
        _ = try? await one.relay(through: HookedStore.lost(after: 1, creationsOf: "/m/", server))
            .settle()

        let forger = try Device("three", other, clock: removed.clock, folder: copied)
        try await forger.settle()
        for value in ["forged", "forged again"] {
            forger.clock.now += 50
            try forger.set("a", value)
            try await forger.settle()
        }
        let last = try #require(server.records.keys.filter { $0.contains(log) }.max())
        let forged = other.records.filter { $0.key.contains(log) }
        #expect(forged.contains { server.records[$0.key] ?? $0.value != $0.value })
        for (key, value) in forged where key < last || !hasLastEntry { server.records[key] = value }
        try two.beginAgain()
        for _ in 0..<3 { try await two.settle() }
        #expect(try two.values() == ["a": "5"])
        let newcomer = try Device("four", server, clock: two.clock)
        try? await two.add(newcomer)
        _ = try? await newcomer.settle()
        #expect(try newcomer.values()["a"]?.hasPrefix("forged") != true)
    }

    /// While a returning machine reads the removed machine's log, another machine retires and
    /// deletes that log.
    @Test
    func `a returning machine drops a deleted item even if a log is retired while it is read`()
        async throws
    {
        let server = MemoryStore()
        let devices = try await server.circle("one", "two", "three")
        let (one, two, removed) = (devices[0], devices[1], devices[2])
        try one.set("a", "1")
        try await converge(one, two, removed)
        try await one.suspendOthers(through: server)
        let four = try await one.deleteForGood("a", on: server)
        removed.clock.now = one.clock.now
        try removed.restart()
        try await converge(one, removed, four)
        for number in 0..<70 {
            try removed.set("item \(number)", "1")
            try await removed.settle()
        }
        try await converge(one, removed, four)
        let log = "/l/\(Hexadecimal.text(try await removed.id().bytes))/"
        try await one.signRemoval(of: removed)
        _ = try? await one.relay(through: HookedStore.lost(after: 1, creationsOf: "/m/", server))
            .settle()
        two.clock.now = one.clock.now
        try two.restart()
        let count = Counter()
        let racing = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains(log) else { return }
            count.increment()
            guard count.value == 2 else { return }
            for _ in 0..<5 { for device in [one, four] { try await device.settle() } }
        }
        try await two.relay(through: racing).settle()
        try await converge(one, two, four)
        #expect(count.value > 1)
        #expect(try two.values()["a"] == nil)
    }
}

@Suite struct `An agreement key that nothing can be sealed to` {
    /// Anyone who has a join token can have a machine with such a key added.
    @Test
    func `a machine with an invalid agreement key stops no other machine, and can be removed`()
        async throws
    {
        let server = MemoryStore()
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        let valid = MachineKeys.random().description
        // The first coefficient of the ML-KEM key is 4095, which is not below 3329.
        let machine = try #require(
            MachineDescription(
                signingKey: valid.signingKey,
                agreementKey: [0xFF, 0xFF, 0xFF] + valid.agreementKey.dropFirst(3)))
        _ = try await one.relay.send(
            .add(machine: Data(machine.bytes), name: "three", groups: nil))
        try await one.settle()
        try one.set("a", "1")
        try two.set("b", "2")
        try await converge(one, two)
        let entries = server.records.keys.count { $0.contains("/l/") }
        for device in [one, two] {
            try device.restart()
            try await device.settle()
            // A new session doesn't append an entry only because it owes that machine a grant.
            #expect(server.records.keys.count { $0.contains("/l/") } == entries)
            #expect(try device.values() == ["a": "1", "b": "2"])
            #expect(try await device.status().waitingCount == 0)
        }
        _ = try await two.relay.send(.remove(machine.id.bytes))
        try await converge(two, one)
        try one.set("a", "3")
        try await converge(one, two)
        #expect(try two.values() == ["a": "3", "b": "2"])
        #expect(try await one.status().machines.count == 2)
    }
}
