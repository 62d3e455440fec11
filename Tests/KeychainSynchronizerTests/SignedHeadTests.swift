// SignedHeadTests: when a machine signs the head of its log.

import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Testing

@Suite struct `The signed head of a machine` {
    private let server = MemoryStore()

    private func head() throws -> SignedHead {
        try SignedHead(
            decoding: try #require(server.records.first { $0.key.contains("/h/") }).value)
    }

    @Test func `the head of a machine's log is signed once an hour`() async throws {
        let one = try Device("one", server)
        try await one.found()
        var last = try head().moment
        for (seconds, isSigned) in [
            (0, false), (3599, false), (1, true), (1, false), (3598, false), (1, true),
            (100_000, true),
        ] {
            one.clock.now += Double(seconds)
            for _ in 0..<2 { try await one.settle() }
            let moment = try head().moment
            #expect((moment != last) == isSigned, "after \(seconds) s more")
            if isSigned { #expect(moment == one.engine.milliseconds) }
            last = moment
        }
    }

    @Test func `the log's head is signed only after all waiting entries are appended`() async throws
    {
        let one = try Device("one", server)
        try await one.found()
        one.clock.now += 3600
        // More items than fit into one entry.
        for number in 0..<300 { try one.set("\(number)", "1") }
        try await one.settle()
        let entries = try server.records.filter { $0.key.contains("/l/") }
            .map { try LogEntry(decoding: $0.value).index }
        #expect(entries.count >= 3)
        #expect(try head().log.index == entries.max())
    }

    @Test func `a head that the server did not store is sent again, and entries are read anyway`()
        async throws
    {
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        let machine = Hexadecimal.text(try await one.id().bytes)
        let key = "\(try await one.circle())/h/\(machine)"
        func moment() throws -> Int64 {
            try SignedHead(decoding: try #require(server.records[key])).moment
        }
        let failing = HookedStore(server) { request in
            if case .put = request { throw HookedStore.Lost() }
        }
        one.clock.now += 3600
        let signed = one.engine.milliseconds
        try two.set("a", "1")
        try await two.settle()
        await #expect(throws: HookedStore.Lost.self) {
            try await one.relay(through: failing).settle()
        }
        #expect(try one.values() == ["a": "1"])
        #expect(try moment() < signed)
        one.clock.now += 1
        try await one.settle()
        #expect(try moment() == signed)
        one.clock.now += 3598
        try await one.settle()
        #expect(try moment() == signed)
    }

    @Test func `a new session that has read all logs signs the head of its machine's log at once`()
        async throws
    {
        let one = try Device("one", server)
        try await one.found()
        let before = try head().moment
        one.clock.now += 1
        try one.restart()
        try await one.settle()
        #expect(try head().moment == before + 1000)
    }

    @Test func `two relays of one keychain never replace a stored head with an older one`()
        async throws
    {
        let devices = try await server.circle("one", "two")
        let (one, two) = (devices[0], devices[1])
        one.clock.now += 3600
        let count = Counter()
        let slow = HookedStore(server) { request in
            guard case .put = request, count.value == 0 else { return }
            count.increment()
            try one.set("a", "1")
            try await one.settle()
            try await two.settle()
        }
        try await one.relay(through: slow).settle()
        try await two.settle()
        #expect(count.value == 1)
        for device in [one, two] { #expect(try await device.status().notices == []) }
    }
}
