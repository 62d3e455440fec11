// CopiedKeychainTests: a keychain and a copy of it, which are one machine of the circle, while both
// are in use.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `A copied keychain` {
    private let server = MemoryStore()
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "copied-\(UUID().uuidString)").path

    /// The copy can learn only from a change of the membership that the log of its machine has
    /// entries that the copy hasn't read. It reads them in its next session.
    @Test
    func `a copy that appends nothing accepts a membership change after a session of 5 minutes`()
        async throws
    {
        let copied = folder + "-copy"
        defer {
            for path in [folder, copied] { try? FileManager.default.removeItem(atPath: path) }
        }
        let (one, two) = (try Device("one", server, folder: folder), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try one.set("a", "1")
        try await converge(one, two)
        one.engine.close()
        try FileManager.default.copyItem(atPath: folder, toPath: copied)
        try one.restart()
        let copy = try Device("one", server, clock: one.clock, folder: copied)
        try await converge(one, copy)

        let read = Set(server.records.keys)
        try one.set("a", "2")
        try await one.settle()
        try await two.settle()
        let machine = Data(MachineKeys.random().description.bytes)
        _ = try await two.relay.send(.add(machine: machine, name: "three", groups: nil))
        try await two.settle()
        let log = "/l/\(Hexadecimal.text(try await two.id().bytes))/"
        server.hide { $0.contains(log) && !read.contains($0) }

        // `set` has already advanced the clock, which both keychains share, by a second.
        for (seconds, isFollowed) in [(0, false), (298, false), (1, true)] {
            copy.clock.now += Double(seconds)
            try await copy.settle()
            let status = try await copy.status()
            #expect(status.state == .current)
            #expect(status.machines.count == (isFollowed ? 3 : 2), "after \(seconds) s more")
            #expect(try copy.values() == ["a": isFollowed ? "2" : "1"])
        }
    }
}
