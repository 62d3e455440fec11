// IdleRelayTests: a relay that has nothing to do reads nothing from the server.

import KeychainCore
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Synchronization
import Testing

@Suite struct `A relay without changes` {
    /// A server that counts what is read.
    private final class CountingStore: RecordStore {
        let server = MemoryStore()
        private let reads = Mutex<[String]>([])

        /// The prefixes that were read since the last call.
        func takeReads() -> [String] {
            reads.withLock { reads in
                defer { reads = [] }
                return reads
            }
        }

        func records(
            _ prefix: String, after previous: String?, limit: Int
        ) async throws -> [StoredRecord] {
            reads.withLock { $0.append(prefix) }
            return try await server.records(prefix, after: previous, limit: limit)
        }

        func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
            try await server.create(key, value)
        }

        func put(_ key: String, _ value: [UInt8]) async throws {
            try await server.put(key, value)
        }

        func delete(from first: String, to end: String) async throws {
            try await server.delete(from: first, to: end)
        }

        func changes(
            _ prefix: String
        ) async throws -> AsyncThrowingStream<String, any Error> {
            try await server.changes(prefix)
        }
    }

    /// How many rounds there were, and how many of the last ones have read nothing.
    private struct Counts {
        var total = 0
        var quiet = 0

        mutating func add(_ reads: [String]) -> Counts {
            total += 1
            quiet = reads.isEmpty ? quiet + 1 : 0
            return self
        }
    }

    /// Runs the relay of a machine until `isDone`, which gets what each round has read.
    private func run(
        _ device: Device, _ server: CountingStore, isDone: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        var timing = Relay.Timing()
        timing.interval = .milliseconds(1)
        timing.fullRoundCount = .max
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        try await device.relay.run(localChanges: changes, timing: timing) { _ in
            !isDone(server.takeReads())
        }
    }

    /// A server whose watches fail.
    private struct UnwatchedStore: RecordStore {
        let server = MemoryStore()

        func records(
            _ prefix: String, after previous: String?, limit: Int
        ) async throws -> [StoredRecord] {
            try await server.records(prefix, after: previous, limit: limit)
        }

        func create(_ key: String, _ value: [UInt8]) async throws -> RecordCreation {
            try await server.create(key, value)
        }

        func put(_ key: String, _ value: [UInt8]) async throws {
            try await server.put(key, value)
        }

        func delete(from first: String, to end: String) async throws {
            try await server.delete(from: first, to: end)
        }

        func changes(
            _ prefix: String
        ) async throws -> AsyncThrowingStream<String, any Error> {
            AsyncThrowingStream { $0.finish(throwing: MemoryStore.Unreachable()) }
        }
    }

    private func circle() async throws -> (CountingStore, Device, Device) {
        let server = CountingStore()
        let (one, two) = (try Device("one", server), try Device("two", server))
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        return (server, one, two)
    }

    @Test func `rounds without changes read nothing while the watch runs`() async throws {
        let (server, one, _) = try await circle()
        let counts = Mutex(Counts())
        try await run(one, server) { reads in
            let now = counts.withLock { $0.add(reads) }
            return now.quiet == 50 || now.total == 5000
        }
        #expect(counts.withLock { $0.quiet } == 50)
    }

    @Test func `a watch that fails again and again is begun less and less often`() async throws {
        let device = try Device("one", UnwatchedStore())
        try await device.found()
        let pauses = Mutex<[Duration]>([])
        var timing = Relay.Timing()
        timing.interval = .seconds(3600)
        timing.pause = { pause in
            pauses.withLock { $0.append(pause) }
            await Task.yield()
        }
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        try await device.relay.run(localChanges: changes, timing: timing) { _ in
            pauses.withLock { $0.count } < 10
        }
        let expected: [Duration] = [200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]
            .map { .milliseconds($0) }
        #expect(Array(pauses.withLock { $0 }.prefix(10)) == expected)
    }

    @Test func `a head is not stored on a server that has lost the machine's log`() async throws {
        let (server, one, _) = try await circle()
        let counts = Mutex(Counts())
        try await run(one, server) { reads in
            counts.withLock { counts in
                let now = counts.add(reads)
                if now.quiet == 3 {
                    // The next round has nothing to write but a head.
                    server.server.records = [:]
                    one.clock.now += 4000
                }
                return now.total > 40 || now.quiet == 0 && server.server.records.isEmpty
                    || server.server.records.keys.contains { $0.contains("/h/") } && now.quiet > 6
            }
        }
        #expect(server.server.records == [:])
    }

    @Test func `what another machine writes is read while the watch runs`() async throws {
        let (server, one, two) = try await circle()
        let counts = Mutex(Counts())
        try await run(one, server) { reads in
            let now = counts.withLock { $0.add(reads) }
            if now.quiet == 50 {
                Task {
                    try two.set("a", "1")
                    try await two.settle()
                }
            }
            return (try? one.values()["a"]) == "1" || now.total == 50_000
        }
        #expect(try one.values() == ["a": "1"])
    }
}
