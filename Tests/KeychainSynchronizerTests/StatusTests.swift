// StatusTests: what the status says of changes that wait, of other machines, and of a server that
// shows different histories.

import Foundation
import KeychainCore
import KeychainEngine
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `The status of synchronization` {
    private let server = MemoryStore()

    @Test func `it says how many changes wait, and since when`() async throws {
        let devices = try await server.circle("one", "two")
        let one = devices[0]
        #expect(try await one.status().waitingCount == 0)
        #expect(try await one.status().waitingSince == 0)
        try one.set("a", "1")
        let since = one.clock.now
        one.clock.now += 100
        try one.set("b", "1")
        for _ in 0..<2 {
            _ = try? await one.relay(through: server.losing(creationsOf: "/l/")).settle()
            let status = try await one.status()
            #expect(status.waitingCount == 2)
            #expect(abs(status.waitingSince - since) < 0.01)
            try one.restart()
        }
        try await one.settle()
        #expect(try await one.status().waitingCount == 0)
    }

    @Test
    func `it says when a machine was last heard of, and how many of its entries are withheld`()
        async throws
    {
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        func other() async throws -> CircleStatus.Machine {
            try #require(try await one.status().machines.first { !$0.isThisOne })
        }
        two.clock.now += 7200
        try await two.settle()
        let last = two.engine.milliseconds
        for days in 0..<3 {
            one.clock.now += Double(days) * 86_400
            try await one.settle()
            #expect(try await other().seen == last)
            #expect(try await other().withheldCount == 0)
        }
        // The server shows later heads, and none of the entries that they name.
        let log = try await server.log(of: two)
        let before = Set(server.records.keys)
        for number in 0..<3 {
            try two.set("\(number)", "1")
            try await two.settle()
        }
        two.clock.now += 7200
        try await two.settle()
        server.hide { $0.contains(log) && !before.contains($0) }
        try await one.settle()
        #expect(try await other().seen == two.engine.milliseconds)
        #expect(try await other().withheldCount == 3)
    }

    /// The server lets two copies of a machine write different entries with the same index.
    @Test func `it says that the server has shown two histories, which are never merged`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "forked-\(UUID().uuidString)").path
        defer {
            for path in [folder, folder + "-copy"] {
                try? FileManager.default.removeItem(atPath: path)
            }
        }
        let (one, two) = (try Device("one", server, folder: folder), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        one.engine.close()
        try FileManager.default.copyItem(atPath: folder, toPath: folder + "-copy")
        try one.restart()
        let other = MemoryStore()
        other.records = server.records
        let copy = try Device("one", other, clock: one.clock, folder: folder + "-copy")
        try one.set("a", "1")
        try copy.set("b", "1")
        try await one.settle()
        try await copy.settle()
        try await two.settle()
        #expect(try two.values() == ["a": "1"])
        #expect(try await two.status().notices == [])
        server.records = server.records.merging(other.records) { $1 }
        try two.restart()
        for _ in 0..<3 { try await two.settle() }
        let notices = try await two.status().notices
        #expect(
            notices.contains { $0.hasPrefix("The server shows a different history than before") },
            "\(notices)")
        #expect(try two.values() == ["a": "1"])
    }
}
