// InterruptionTests: exchanges that are interrupted at each of their messages, requests and
// statements. Once the exchange is completed, every acknowledged change is still there, the changes
// of other machines have arrived, the outbox is empty, and no machine's status has a notice.

import KeychainCore
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `Interruptions of a circle` {
    /// Two machines that have changed items. Both have changed the item "a". The second machine has
    /// sent its changes, and the first hasn't.
    private func meeting(_ server: MemoryStore) async throws -> (Device, Device) {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        for account in ["a", "b", "c"] { try one.set(account, "first") }
        try await converge(one, two)
        try two.set("a", "of two")
        try two.delete("b")
        try two.set("d", "of two")
        try await two.settle()
        one.clock.now = two.clock.now
        try one.set("a", "of one")
        try one.delete("c")
        try one.set("e", "of one")
        return (one, two)
    }

    private static let expected = ["a": "of one", "d": "of two", "e": "of one", "f": "later"]

    private func expectAgreement(of devices: Device..., after place: String) async throws {
        for device in devices {
            #expect(try device.values() == Self.expected, "\(device.name), \(place)")
            let status = try await device.status()
            #expect(status.notices == [], "\(device.name), \(place)")
            #expect(status.waitingCount == 0, "\(device.name), \(place)")
            #expect(!status.isOwnLogMissing, "\(device.name), \(place)")
        }
    }

    @Test func `a circle is founded although the server stores nothing at first`() async throws {
        let server = MemoryStore()
        let one = try Device("one", server)
        server.setReadOnly(true)
        _ = try await one.relay.send(.found(name: "one"))
        try one.set("a", "1")
        for _ in 0..<4 { _ = try? await one.settle() }
        server.setReadOnly(false)
        try await one.settle()
        #expect(server.records.keys.contains { $0.contains("/m/") })
        let two = try Device("two", server)
        try await one.add(two)
        #expect(try two.values() == ["a": "1"])
    }

    @Test(arguments: Interruption.Kind.allCases)
    func `an exchange that is interrupted at any step is completed later`(
        _ kind: Interruption.Kind
    ) async throws {
        var step = 0
        var interruption: Interruption
        repeat {
            step += 1
            interruption = Interruption(kind, at: step)
            let server = MemoryStore()
            let (one, two) = try await meeting(server)
            _ = try? await interruption.relay(of: one, server).settle()
            try one.set("f", "later")
            try await converge(one, two)
            try await expectAgreement(of: one, two, after: "\(kind) at step \(step)")
            // The result is the same after both machines are restarted.
            try one.restart()
            try two.restart()
            try await converge(two, one)
            try await expectAgreement(of: one, two, after: "\(kind) at step \(step), anew")
        } while interruption.hasHappened
        // The exchange has at least three steps of each kind: messages, requests and statements.
        #expect(step > 3)
    }

    @Test func `a change that doesn't fit on the disk is refused, and nothing of it is sent`()
        async throws
    {
        var step = 0
        var interruption: Interruption
        repeat {
            step += 1
            interruption = Interruption(.fullDisk, at: step)
            let server = MemoryStore()
            let (one, two) = try await meeting(server)
            let before = try await one.status().waitingCount
            do {
                try interruption.onDisk { try one.set("f", "later") }
                #expect(!interruption.hasHappened)
            } catch let failure as KeychainFailure {
                #expect(failure.status == .diskFull)
                #expect(try await one.status().waitingCount == before)
                try await converge(one, two)
                #expect(try two.values()["f"] == nil)
                #expect(try one.values() == (try two.values()))
                try one.set("f", "later")
            }
            try await converge(one, two)
            try await expectAgreement(of: one, two, after: "step \(step)")
        } while interruption.hasHappened
        // There are at least three statements: for the item, its terms and the entry of the outbox.
        #expect(step > 3)
    }
}
