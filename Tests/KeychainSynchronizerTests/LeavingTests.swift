// LeavingTests: a machine that removes itself. Before that, it appends the items that the other
// machines may not have. A void entry no longer counts, because its writer didn't know yet of a
// removal when it wrote the entry.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A machine that leaves` {
    private let server = MemoryStore()

    @Test(arguments: [false, true])
    func `it first appends again the items of its void entries`(
        settlesFirst: Bool
    ) async throws {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.signRemoval(of: three)
        try two.set("a", "1")
        for _ in 0..<3 { for device in [two, three] { try await device.settle() } }
        // Machine one stores the removal of machine three only now, so machine two's entry is void.
        for _ in 0..<2 { try await one.settle() }
        if settlesFirst { try await two.settle() }
        try await two.signRemoval(of: two)
        for _ in 0..<3 { try await two.settle() }
        #expect(try await two.status().state == .removed)
        try one.beginAgain()
        try await converge(one)
        #expect(try one.values() == ["a": "1"])
        #expect(try await one.status().machines.count == 1)
    }

    /// Machine three, which wrote the item and is expected to append it again, is lost.
    @Test func `it appends the item of another machine's void entry`() async throws {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three, four) = (devices[0], devices[1], devices[2], devices[3])
        try await one.signRemoval(of: four)
        try three.set("a", "1")
        try await three.settle()
        try await two.settle()
        #expect(try two.values() == ["a": "1"])
        // Machine one stores the removal of machine four only now, so machine three's entry is
        // void.
        for _ in 0..<2 { try await one.settle() }
        #expect(try one.values().isEmpty)
        try await two.signRemoval(of: two)
        for _ in 0..<3 { try await two.settle() }
        #expect(try await two.status().state == .removed)
        try await one.signRemoval(of: three)
        try await converge(one)
        #expect(try one.values() == ["a": "1"])
    }

    @Test func `it leaves although another machine keeps writing`() async throws {
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        try two.set("a", "1")
        try await two.signRemoval(of: two)
        let (server, count) = (server, Counter())
        // The leaving machine has to acknowledge each of these changes.
        let busy = HookedStore(server) { request in
            guard case .read(let prefix) = request, prefix.contains("/l/"), count.value < 100
            else { return }
            count.increment()
            try one.set("b", "\(count.value)")
            try await one.settle()
        }
        try await two.relay(through: busy).settle()
        #expect(try await two.status().state == .removed)
        #expect(count.value < 100)
        try await converge(one)
        #expect(try one.values() == ["a": "1", "b": "\(count.value)"])
    }

    /// Both removals are stored, one after the other. The second removal makes no entry void that
    /// counts after the first removal.
    @Test func `it leaves at the same time as another machine, and nothing is lost`() async throws {
        let devices = try await server.circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try one.set("b", "1")
        try await one.signRemoval(of: one)
        let racing = HookedStore.racing(server, count: 1) {
            try two.set("a", "1")
            try await two.signRemoval(of: two)
            for _ in 0..<3 { try await two.settle() }
        }
        try await one.relay(through: racing).settle()
        for device in [one, two] { #expect(try await device.status().state == .removed) }
        try await converge(three)
        #expect(try three.values() == ["a": "1", "b": "1"])
    }

    /// The leaving machine has written more entries than an exchange reads at once.
    @Test func `its items survive a removal that was signed before it wrote them`()
        async throws
    {
        let devices = try await server.circle("one", "two", "three", "four")
        let (one, two, three, four) = (devices[0], devices[1], devices[2], devices[3])
        try await one.signRemoval(of: four)
        for number in 0..<100 {
            try two.set("item \(number)", "1")
            try await two.settle()
        }
        try await two.signRemoval(of: two)
        for _ in 0..<3 { try await two.settle() }
        #expect(try await two.status().state == .removed)
        try await converge(one, three)
        for device in [one, three] { #expect(try device.values().count == 100) }
    }

    @Test func `it can't leave before it has the circle's key, since it can't send its changes`()
        async throws
    {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        let description = try await two.relay.send(.describe).message
        _ = try await one.relay.send(.add(machine: description, name: "two", groups: nil))
        _ = try? await one.relay(through: server.losing(creationsOf: "/l/")).settle()
        try await two.joinListed()
        try two.set("a", "1")
        try await two.settle()
        await #expect {
            try await two.signRemoval(of: two)
        } throws: {
            "\($0)".contains("not been given the circle's keys yet")
        }
        try await converge(one, two)
        try await two.remove(two)
        try await converge(one)
        #expect(try one.values() == ["a": "1"])
    }
}
