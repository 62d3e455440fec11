// AbsenceTests: machines that are away are suspended, by one of the others, and come back.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Machines of a circle that are away` {
    private let server = MemoryStore()
    private static let day = 86_400.0
    private static let limit: Int64 = 60 * 86_400_000

    @Test func `a machine that was away suspends none of the others`() async throws {
        let (one, two, three) = try await devices()
        try await pass(7, one, two, limit: 0)
        three.clock.now = one.clock.now
        try await settle(three)
        #expect(suspensionCount == 0)
    }

    private func devices() async throws -> (Device, Device, Device) {
        let one = try Device("one", server)
        let (two, three) = (try Device("two", server), try Device("three", server))
        try await one.found()
        try await one.add(two)
        try await one.add(three)
        try one.set("a", "1")
        try await converge(one, two, three)
        return (one, two, three)
    }

    private func settle(
        _ device: Device, _ store: (any RecordStore)? = nil, limit: Int64 = Self.limit
    ) async throws {
        let relay = device.relay(through: store ?? server, absenceLimit: limit)
        // Several times, to read what others write meanwhile.
        for _ in 0..<3 { try await relay.settle() }
    }

    /// Lets ten days pass several times. After each, only these devices exchange.
    private func pass(_ times: Int, _ devices: Device..., limit: Int64 = Self.limit) async throws {
        for _ in 0..<times {
            for device in devices { device.clock.now += 10 * Self.day }
            for device in devices { try await settle(device, limit: limit) }
        }
    }

    /// The number of suspensions in the membership log.
    private var suspensionCount: Int {
        server.records.count { $0.key.contains("/m/") && $0.value.dropFirst(5).first == 4 }
    }

    private func suspended(_ device: Device) async throws -> [String] {
        try await device.status().machines.filter(\.isSuspended).map(\.name)
    }

    @Test func `a machine is suspended once after the time limit, until it returns`() async throws {
        let (one, two, three) = try await devices()
        try await pass(5, one, two)
        #expect(suspensionCount == 0)
        try three.set("b", "while away")
        try await pass(2, one, two)
        #expect(suspensionCount == 1)
        #expect(try await suspended(one) == ["three"])
        #expect(try await suspended(two) == ["three"])
        // The others don't wait for it.
        try one.delete("a")
        try await pass(3, one, two)
        #expect(suspensionCount == 1)
        three.clock.now = one.clock.now
        try await settle(three)
        try await settle(one)
        try await settle(three)
        try await settle(two)
        for device in [one, two, three] {
            #expect(try device.values() == ["b": "while away"])
            #expect(try await suspended(device) == [])
            #expect(try await device.status().notices == [])
        }
        try await pass(2, one, two, three)
        #expect(suspensionCount == 1)
    }

    @Test func `one machine suspends all others that are away`() async throws {
        let (one, _, _) = try await devices()
        try await pass(7, one)
        #expect(suspensionCount == 2)
        #expect(Set(try await suspended(one)) == ["two", "three"])
    }

    @Test func `of two suspensions signed at the same time, one is in the log`() async throws {
        let (one, two, three) = try await devices()
        try await pass(5, one, two)
        for device in [one, two] { device.clock.now += 11 * Self.day }
        let racing = RacingStore(server, count: 1) { try await self.settle(two) }
        try await settle(one, racing)
        try await settle(two)
        #expect(suspensionCount == 1)
        #expect(try await suspended(one) == [three.name])
    }

    @Test func `no machine is suspended without a time limit or within a day`() async throws {
        let (one, two, _) = try await devices()
        for limit: Int64 in [0, .min, .max] { try await pass(10, one, two, limit: limit) }
        #expect(suspensionCount == 0)
        let four = try Device("four", server)
        try await one.add(four)
        for device in [one, two] { device.clock.now += Self.day / 2 }
        try await settle(two, limit: 1)
        try await settle(one, limit: 1)
        #expect(try await suspended(one) == ["three"])
    }
}
