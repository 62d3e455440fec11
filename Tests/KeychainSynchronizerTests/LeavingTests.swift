// LeavingTests: a machine that removes itself. It first appends what the others may not have.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A machine that leaves` {
    private let server = MemoryStore()

    /// Machines of one circle. The first one founded it.
    private func circle(_ names: String...) async throws -> [Device] {
        let devices = try names.map { try Device($0, server) }
        try await devices[0].found()
        for device in devices.dropFirst() { try await devices[0].add(device) }
        for _ in 0..<4 { for device in devices { try await device.settle() } }
        return devices
    }

    /// Lets a machine sign a removal, which isn't on the server before its next exchange.
    private func signRemoval(of removed: Device, by device: Device) async throws {
        _ = try await device.relay.send(.remove(try await removed.id()))
    }

    @Test(arguments: [false, true])
    func `it appends what was in void entries first`(
        settlesFirst: Bool
    ) async throws {
        let devices = try await circle("one", "two", "three")
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await signRemoval(of: three, by: one)
        try two.set("a", "1")
        for _ in 0..<3 { for device in [two, three] { try await device.settle() } }
        // The removal is stored now.
        for _ in 0..<2 { try await one.settle() }
        if settlesFirst { try await two.settle() }
        try await signRemoval(of: two, by: two)
        for _ in 0..<3 { try await two.settle() }
        #expect(try await two.status().state == .removed)
        one.clock.now += 400
        try one.restart()
        try await converge(one)
        #expect(try one.values() == ["a": "1"])
        #expect(try await one.status().machines.count == 1)
    }

    /// The machine that wrote the item, and that is expected to append it again, is lost.
    @Test func `it appends an item that another machine's void entry had`() async throws {
        let devices = try await circle("one", "two", "three", "four")
        let (one, two, three, four) = (devices[0], devices[1], devices[2], devices[3])
        try await signRemoval(of: four, by: one)
        try three.set("a", "1")
        try await three.settle()
        try await two.settle()
        #expect(try two.values() == ["a": "1"])
        // The removal is stored now, and makes the entry void.
        for _ in 0..<2 { try await one.settle() }
        #expect(try one.values().isEmpty)
        try await signRemoval(of: two, by: two)
        for _ in 0..<3 { try await two.settle() }
        #expect(try await two.status().state == .removed)
        try await signRemoval(of: three, by: one)
        try await converge(one)
        #expect(try one.values() == ["a": "1"])
    }

    @Test func `it leaves although another machine keeps writing`() async throws {
        let devices = try await circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        try two.set("a", "1")
        try await signRemoval(of: two, by: two)
        let (server, count) = (server, Counter())
        // This machine has to acknowledge each of the changes.
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
}
