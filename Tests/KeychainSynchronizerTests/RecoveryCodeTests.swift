// RecoveryCodeTests: machines that join a circle with its recovery code.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Joining a circle with its recovery code` {
    private let server = MemoryStore()

    @Test func `a machine can join with the recovery code if all other machines are lost`()
        async throws
    {
        let code = RecoveryCode.random()
        let one = try Device("one", server)
        try await one.found(recovery: code)
        try one.set("a", "1")
        try await one.settle()
        let two = try Device("two", server)
        let before = server.records
        await #expect(throws: KeychainFailure.self) { try await two.recover(.random()) }
        #expect(server.records == before)
        try await two.recover(code)
        try await converge(two)
        #expect(try two.values() == ["a": "1"])
        try two.set("b", "2")
        try await converge(two, one)
        #expect(try one.values() == ["a": "1", "b": "2"])
        // After a restart, the new machine finds the circle's keys in its own log.
        try two.restart()
        try await converge(two)
        #expect(try two.values() == ["a": "1", "b": "2"])
    }

    @Test func `a circle founded by someone with only a recovery code's public keys isn't joined`()
        async throws
    {
        let code = RecoveryCode.random()
        let one = try Device("one", server)
        try await one.found(recovery: code)
        let record = try #require(server.records.first { $0.key.contains("/m/") })
        guard case .found(var content) = try MembershipEntry(decoding: record.value).change else {
            throw SynchronizationFailure.malformed("the founding entry")
        }
        // The content of the forged entry differs from that of the real founding entry only in the
        // founder; even the salt is the same.
        let attacker = MachineKeys.random()
        content.founder = attacker.description
        let founding = try MembershipEntry(
            .found(content), after: .empty, in: nil, created: 0, by: attacker)
        let own = try await one.circle().description
        let key = record.key.replacingOccurrences(
            of: own, with: CircleID(founding.digest).description)
        let forged = MemoryStore()
        _ = try await forged.create(key, founding.bytes)
        let two = try Device("two", forged)
        await #expect(throws: KeychainFailure.self) { try await two.recover(code) }
        #expect(try await two.status().state == .none)
        #expect(forged.records.count == 1)
    }

    @Test func `the recovery code opens a circle whose founder was removed`() async throws {
        let code = RecoveryCode.random()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found(recovery: code)
        try await one.add(two)
        try one.set("a", "1")
        try two.set("b", "2")
        try await converge(one, two)
        let founder = Hexadecimal.text(try await one.id().bytes)
        _ = try await two.relay.send(.remove(try await one.id()))
        try await converge(two)
        #expect(server.records.keys.allSatisfy { !$0.contains("/l/\(founder)/") })
        let three = try Device("three", server)
        try await three.recover(code)
        try await converge(three)
        #expect(try three.values() == ["a": "1", "b": "2"])
        #expect(
            Set(try await three.status().machines.map(\.name)) == ["two", ""])
    }

    /// A server on which another machine is added before each of the first `count` requests to
    /// create a record in the membership log.
    private func racing(_ one: Device, count: Int) -> HookedStore {
        HookedStore.racing(server, count: count) {
            let machine = MachineKeys.random().description
            let addition = SynchronizationMessage.add(
                machine: Data(machine.bytes), name: "other", groups: nil)
            _ = try await one.relay.send(addition)
            try await one.settle()
        }
    }

    @Test func `joining with the recovery code succeeds after nine conflicts with other changes`()
        async throws
    {
        let code = RecoveryCode.random()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found(recovery: code)
        try one.set("a", "1")
        try await one.settle()
        // The first nine times that the machine signs its addition, another change comes first.
        let joining = two.relay(through: racing(one, count: 9))
        try await RecoveryJoiner(joining, circle: try await one.circle()).join(code)
        try await converge(two)
        #expect(try two.values() == ["a": "1"])
        #expect(try await two.status().notices == [])
        #expect(try await two.status().machines.count == 11)
    }

    @Test func `joining with the recovery code changes nothing if every attempt meets a conflict`()
        async throws
    {
        let code = RecoveryCode.random()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found(recovery: code)
        let joining = two.relay(through: racing(one, count: .max))
        let joiner = RecoveryJoiner(joining, circle: try await one.circle())
        await #expect(throws: JoiningFailure.outrun) { try await joiner.join(code) }
        // The machine gave up after ten attempts. During each attempt, another machine was added.
        #expect(try await one.status().machines.count == 11)
        #expect(try await two.status().state == .none)
        try await two.recover(code)
        #expect(try await two.status().state == .current)
    }
}
