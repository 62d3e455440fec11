// RetiredLogTests: a machine leaves. A second machine copies the items of that machine's log into
// its own log, retires the first log, and is then removed by a third machine that has not read the
// copies. No item may be lost. One test checks when a retired log is deleted from the server.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A retired log` {
    private let server = MemoryStore()

    /// What happens to the removing machine before it has read everything.
    enum Obstacle: CaseIterable {
        case none, hourPasses, connectionIsLost, connectionIsLostForAnHour, otherRelay
    }

    /// The removing machine reads the entry with the copy only after it has read the retirement:
    /// the log has more data before the copy than one delivery can contain.
    @Test(arguments: Obstacle.allCases)
    func `items of a retired log are kept although the machine that retired the log is removed`(
        _ obstacle: Obstacle
    ) async throws {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: two)
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        #expect(try await three.status().state == .removed)
        // The last thing that machine two does is to store the retirement.
        let lost = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await two.relay(through: lost).settle()
        #expect(server.records.keys.count { $0.contains("/m/") } == 5)
        let log = try await server.log(of: two)
        let count = Counter()
        let disturbed = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains(log) else { return }
            count.increment()
            guard count.value == 2 else { return }
            switch obstacle {
            case .none, .hourPasses: break
            case .connectionIsLost: throw HookedStore.Lost()
            case .connectionIsLostForAnHour:
                one.clock.now += 3600
                throw HookedStore.Lost()
            case .otherRelay: try await one.settle()
            }
        }
        if obstacle == .hourPasses { one.clock.now += 3600 }
        _ = try? await one.relay(through: disturbed).settle()
        #expect(count.value > 1)
        try await converge(one)
        #expect(try await one.status().machines.map(\.name) == ["one"])
        #expect(try one.values()["a"] == "1")
    }

    /// Machine one, which removes machine two, reads two's log to its end. After that, machine two
    /// copies three's log into its own log, and retires three's log. Machine one gets the
    /// retirement from the relay that read two's log, or from another relay, which delivers no
    /// entries of logs.
    @Test(arguments: [false, true])
    func `items of a retired log are kept although the copier's log was read before the copying`(
        hasOtherRelay: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three")
        let one = devices[0]
        var (two, three) = (devices[1], devices[2])
        // An exchange reads the logs in the order of their machines' identifiers.
        if MachineID(try await three.id()) < MachineID(try await two.id()) { swap(&two, &three) }
        try await one.signRemoval(of: two)
        let log = try await server.log(of: three)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        let (count, copier, server) = (Counter(), two, server)
        let racing = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains(log) else { return }
            count.increment()
            guard count.value == 1 else { return }
            for _ in 0..<4 { try await copier.settle() }
            guard hasOtherRelay else { return }
            var delivery = Delivery()
            delivery.membership = try await server.allRecords("")
                .filter { $0.key.contains("/m/") }.map { Data($0.value) }
            _ = try await one.relay.send(.exchange(delivery))
        }
        try await one.relay(through: racing).settle()
        try await converge(one)
        #expect(try one.values() == ["a": "1"])
    }

    /// The records with the copies are damaged, so machine one can't read two's log any further.
    @Test(arguments: [false, true])
    func `items of a retired log are kept although the removed copier's copies are damaged`(
        isRestarted: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: two)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        let log = try await server.log(of: two)
        let before = Set(server.records.keys)
        for _ in 0..<3 { try await two.settle() }
        for key in server.records.keys where key.contains(log) && !before.contains(key) {
            server.records[key] = [0]
        }
        for _ in 0..<4 {
            one.clock.now += 400
            if isRestarted { try one.restart() }
            try await one.settle()
        }
        #expect(try await !one.status().isChangeWaiting)
        #expect(try await one.status().machines.map(\.name) == ["one"])
        #expect(try one.values() == ["a": "1"])
    }

    @Test func `items of a retired log are kept although another log is longer than one delivery`()
        async throws
    {
        let (one, three) = (try Device("one", server), try Device("three", server))
        try await one.found()
        let (big, two) = try await server.devicesInOrder()
        try await one.add(big, groups: ["other"])
        for device in [two, three] { try await one.add(device) }
        try await converge(one, big, two, three)
        try await one.signRemoval(of: two)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        let lost = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await two.relay(through: lost).settle()
        for number in 0..<40 {
            try big.set("item \(number)", String(repeating: "1", count: 600_000), group: "other")
            try await big.settle()
        }
        try await converge(one)
        #expect(try one.values()["a"] == "1")
    }

    /// The removal of the machine that made the copies is signed after the retirement was read, and
    /// before the copies are read.
    @Test
    func `items of a retired log are kept although the removal is signed before copies are read`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await two.setItems(30, byteCount: 200_000)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        let lost = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await two.relay(through: lost).settle()
        let log = try await server.log(of: two)
        let count = Counter()
        let interrupted = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains(log) else { return }
            count.increment()
            if count.value == 2 { throw HookedStore.Lost() }
        }
        _ = try? await one.relay(through: interrupted).settle()
        try await one.signRemoval(of: two)
        try await converge(one)
        #expect(try one.values()["a"] == "1")
    }

    @Test
    func `items of a retired log are kept although the server hides the copies for a while`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: two)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        let log = try await server.log(of: two)
        let before = Set(server.records.keys)
        let lost = HookedStore.lost(after: 1, creationsOf: "/m/", server)
        _ = try? await two.relay(through: lost).settle()
        server.hide { $0.contains(log) && !before.contains($0) }
        for _ in 0..<5 { try await one.settle() }
        server.hide { _ in false }
        for _ in 0..<3 {
            try one.beginAgain()
            try await converge(one)
        }
        #expect(try one.values()["a"] == "1")
        #expect(try await one.status().machines.map(\.name) == ["one"])
    }

    @Test func `a retired log is deleted once every machine has acknowledged the copies`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        let log = try await server.log(of: three)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        let (first, server) = (Set(server.records.keys), server)
        for _ in 0..<5 { try await two.settle() }
        // Machine two has retired the log, and machine one hasn't read the retirement yet.
        #expect(server.records.keys.contains { $0.contains(log) })
        #expect(server.records.keys.contains { $0.contains("/m/") && !first.contains($0) })
        try await converge(one, two)
        #expect(!server.records.keys.contains { $0.contains(log) })
        #expect(try one.values() == ["a": "1"] && two.values() == ["a": "1"])
    }
}
