// WaitingTokenTests: additions of machines with a join token, also if an addition waits for the
// server while the token expires or its issuer is removed.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `An addition with a join token` {
    private let server = MemoryStore()

    /// Stores the request of a new machine with a token of `issuer` that expires in a minute.
    private func request(
        issuer: Device, groups: [String]? = nil,
        machine: MachineDescription = MachineKeys.random().description
    ) async throws {
        let now = issuer.clock.now + Date.timeIntervalBetween1970AndReferenceDate
        let answer = try await issuer.relay.send(
            .makeToken(groups: groups, expires: Int64((now + 60) * 1000)))
        let secret = try #require(answer.secret)
        let token = try #require(JoinToken(decoding: secret.plainBytes))
        let id = Hexadecimal.text(token.grant.id.bytes)
        server.records["\(token.grant.circle)/t/\(id)"] =
            try token.request(for: machine).bytes
    }

    @Test func `a machine that joins with a token for one group gets only this group's items`()
        async throws
    {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try one.set("a", "1")
        try one.set("b", "2", group: "other")
        let bytes = try await two.relay.send(.describe).message
        try await request(
            issuer: one, groups: ["other"],
            machine: try #require(MachineDescription(decoding: bytes)))
        try await one.settle()
        try await two.joinListed()
        try await converge(one, two)
        #expect(try two.values() == ["b": "2"])
        #expect(try await two.status().machines.first { $0.isThisOne }?.seesAllGroups == false)
    }

    @Test func `a token admits no machine if its issuer's removal comes first`() async throws {
        let names = ["one", "two", "three"]
        let devices = try names.map { try Device($0, server) }
        let (one, two, three) = (devices[0], devices[1], devices[2])
        try await one.found()
        try await one.add(two)
        try await one.add(three)
        try await converge(one, two, three)
        try await request(issuer: one)
        let id = try await one.id()
        let racing = HookedStore.racing(server, count: 1) {
            _ = try await three.relay.send(.remove(id))
            try await three.settle()
        }
        try await two.relay(through: racing).settle()
        try await converge(two, three)
        for device in [two, three] {
            let status = try await device.status()
            #expect(status.machines.map(\.name).sorted() == ["three", "two"])
            #expect(!status.isChangeWaiting)
        }
    }

    /// The addition is signed, and the server stores it only after some time, or after the process
    /// has started again.
    @Test(arguments: [(0, false), (0, true), (59, false), (60, false), (60, true)])
    func `a token admits no machine if it expires before the server stores the addition`(
        _ seconds: Int, _ isAnew: Bool
    ) async throws {
        let one = try Device("one", server)
        try await one.found()
        try await converge(one)
        try await request(issuer: one)
        server.setReadOnly(true)
        await #expect(throws: MemoryStore.Unreachable.self) { try await one.settle() }
        #expect(try await one.status().isChangeWaiting)
        one.clock.now += Double(seconds)
        if isAnew { try one.restart() }
        server.setReadOnly(false)
        try await one.settle()
        let status = try await one.status()
        #expect(status.machines.count == (seconds < 60 ? 2 : 1))
        #expect(!status.isChangeWaiting)
        #expect(status.notices.contains { $0.contains("expired") } == (seconds >= 60))
    }
}
