// IdleRelayTests: a relay that has nothing to do reads everything from the server once an hour, and
// nothing otherwise. After a change on the server, it reads only what the change affects. Some
// tests are about the pauses before it watches the server again.

import Foundation
import KeychainCore
import KeychainCrypto
import KeychainRelay
import KeychainSynchronization
import SynchronizationTestSupport
import Synchronization
import Testing

@Suite struct `A relay without changes` {
    /// A server that records what is read.
    private final class CountingStore: RecordStore {
        /// How long a watch lasts. `nil`: as long as the relay wants.
        let watchTime: Duration?
        /// Other machines use this server directly, so that their reads aren't recorded.
        let server = MemoryStore()
        private let reads = Mutex<[String]>([])

        init(watchTime: Duration? = nil) { self.watchTime = watchTime }

        /// The prefixes that were read, and the deletions, since the last call.
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
            reads.withLock { $0.append("deletion from " + first) }
            try await server.delete(from: first, to: end)
        }

        func changes(
            _ prefix: String
        ) async throws -> AsyncThrowingStream<String, any Error> {
            guard let watchTime else { return try await server.changes(prefix) }
            return AsyncThrowingStream {
                try await Task.sleep(for: watchTime)
                throw MemoryStore.Unreachable()
            }
        }
    }

    /// How many rounds there were, and how many there were since the last one that read something.
    private struct Counts {
        var total = 0
        var quiet = 0

        mutating func add(_ reads: [String]) -> Counts {
            total += 1
            quiet = reads.isEmpty ? quiet + 1 : 0
            return self
        }
    }

    /// Runs the relay of a machine until `isDone`, which gets what each round has read, returns
    /// `true`.
    private func run(
        _ device: Device, _ server: CountingStore, fullRoundCount: Int = .max,
        isDone: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        var timing = Relay.Timing()
        timing.interval = .milliseconds(1)
        timing.fullRoundCount = fullRoundCount
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        try await device.relay.run(localChanges: changes, timing: timing) { _ in
            !isDone(server.takeReads())
        }
    }

    private func circle() async throws -> (CountingStore, Device, Device) {
        let server = CountingStore()
        let (one, two) = (try Device("one", server), try Device("two", server.server))
        try await one.found()
        try await one.add(two)
        try await converge(one, two)
        return (server, one, two)
    }

    @Test func `rounds without changes read nothing while the relay watches the server`()
        async throws
    {
        let (server, one, _) = try await circle()
        // The log gets entries that become unneeded and are deleted.
        for number in 0..<200 {
            try one.set("a", "\(number)")
            try await one.settle()
        }
        let counts = Mutex(Counts())
        try await run(one, server) { reads in
            let now = counts.withLock { $0.add(reads) }
            return now.quiet == 50 || now.total == 5000
        }
        #expect(counts.withLock { $0.quiet } == 50)
    }

    /// The first ten pauses of a relay whose watches end after `watchTime`.
    private func pauses(watchTime: Duration, longestPause: Duration) async throws -> [Duration] {
        let device = try Device("one", CountingStore(watchTime: watchTime))
        try await device.found()
        let pauses = Mutex<[Duration]>([])
        var timing = Relay.Timing()
        timing.interval = .seconds(3600)
        timing.longestPause = longestPause
        if watchTime == .zero {
            // On a busy machine, even a watch that ends at once can take long.
            let start = ContinuousClock.now
            timing.now = { start }
        }
        timing.pause = { pause in
            pauses.withLock { $0.append(pause) }
            await Task.yield()
        }
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        try await device.relay.run(localChanges: changes, timing: timing) { _ in
            pauses.withLock { $0.count } < 10
        }
        return Array(pauses.withLock { $0 }.prefix(10))
    }

    @Test func `a watch that always ends at once is restarted after pauses growing to 30 seconds`()
        async throws
    {
        let expected: [Duration] = [200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]
            .map { .milliseconds($0) }
        let longestPause = Relay.Timing().longestPause
        #expect(try await pauses(watchTime: .zero, longestPause: longestPause) == expected)
    }

    @Test func `a watch that lasts longer than the longest pause is restarted after a short pause`()
        async throws
    {
        let pauses = try await pauses(watchTime: .milliseconds(2), longestPause: .milliseconds(1))
        #expect(pauses == Array(repeating: .milliseconds(200), count: 10))
    }

    @Test func `a signed head is not stored on a server that has lost the machine's log`()
        async throws
    {
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

    @Test func `nothing is deleted on a server that has lost the machine's last entry`()
        async throws
    {
        let (server, one, _) = try await circle()
        for number in 0..<200 {
            try one.set("a", "\(number)")
            try await one.settle()
        }
        let circle = try await one.circle().description
        let log = "\(circle)/l/\(Hexadecimal.text(try await one.id().bytes))/"
        let counts = Mutex(Counts())
        let rounds = Mutex<[[String]]>([])
        try await run(one, server) { reads in
            counts.withLock { counts in
                let now = counts.add(reads)
                let isLost = rounds.withLock { rounds in
                    if !rounds.isEmpty { rounds.append(reads) }
                    return !rounds.isEmpty
                }
                if now.quiet == 50, !isLost {
                    rounds.withLock { $0 = [[]] }
                    let last = server.server.records.keys.filter { $0.hasPrefix(log) }.max()
                    if let last { server.server.records[last] = nil }
                    Task { try await server.server.put("\(circle)/t/0", [1]) }
                }
                return rounds.withLock { $0.joined().contains(log) } || now.total == 5000
            }
        }
        let reads = rounds.withLock { $0.flatMap(\.self) }
        #expect(reads.contains(log))
        #expect(!reads.contains { $0.hasPrefix("deletion") })
    }

    @Test func `a retired log is deleted only in a round that reads everything`() async throws {
        let (server, one, two) = try await circle()
        let three = try Device("three", server.server)
        try await one.add(three)
        try await converge(one, two, three)
        let log = try await server.server.log(of: three)
        try three.set("a", "1")
        try await three.signRemoval(of: three)
        for _ in 0..<3 { try await three.settle() }
        // The other machine acknowledges the copies of the log, and can't delete the log itself.
        let keeping = HookedStore(server.server) { request in
            if case .delete = request { throw HookedStore.Lost() }
        }
        let counts = Mutex(Counts())
        let request = "\(try await one.circle().description)/t/0"
        let (begun, ended) = (Counter(), Counter())
        try await run(one, server) { reads in
            let now = counts.withLock { $0.add(reads) }
            if now.quiet == 50, begun.value == 0 {
                begun.increment()
                Task {
                    for _ in 0..<5 { _ = try? await two.relay(through: keeping).settle() }
                    // In the round after this change, the relay looks for its machine's last entry.
                    try await server.server.put(request, [1])
                    ended.increment()
                }
            }
            return ended.value == 1 && now.quiet > 500 || now.total == 50_000
        }
        let demand = try await one.relay.send(.exchange(Delivery()))
        #expect(try Demand(messageBytes: demand.message).retired.count == 1)
        #expect(server.server.hasRecord(log))
        try await one.settle()
        #expect(!server.server.hasRecord(log))
    }

    @Test func `another machine's change is read while the relay watches the server`() async throws
    {
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

    // MARK: What is read

    /// A change on the server that the relay of machine one learns of.
    enum Change: CaseIterable {
        case log, head, members, tokenRequest, joining

        /// What is read after the change, apart from machine one's own log. The identifier of the
        /// circle is left out, and `two` stands for the identifier of the other machine.
        fileprivate var reads: Set<String> {
            switch self {
            case .log: ["l/two/"]
            case .head: ["h/two"]
            case .members: ["m/", "h/", "t/", "l/two/"]
            case .tokenRequest: ["m/", "h/", "t/"]
            case .joining: []
            }
        }

        /// Whether machine one may then append entries to its own log or delete some, and therefore
        /// first checks that the server has the last entry of this log.
        fileprivate var hasOwnLog: Bool { [.log, .members, .tokenRequest].contains(self) }

        fileprivate func make(by two: Device, on server: MemoryStore, _ circle: String) async throws
        {
            switch self {
            case .log:
                try two.set("a", "1")
                try await two.settle()
            case .head:
                two.clock.now += 3600
                try await two.settle()
            case .members:
                let machine = Data(MachineKeys.random().description.bytes)
                _ = try await two.relay.send(.add(machine: machine, name: "three", groups: nil))
                try await two.settle()
            case .tokenRequest: try await server.put("\(circle)/t/0", [1])
            case .joining: try await server.put("\(circle)/j/0/1", [1])
            }
        }
    }

    /// What the relay reads after it was idle and until it is idle again.
    private final class Observed: Sendable {
        private struct State {
            var counts = Counts()
            var hasBegun = false
            var isChanged = false
            var reads: Set<String> = []
        }

        private let state = Mutex(State())

        var reads: Set<String> { state.withLock { $0.reads } }

        /// Takes what a round has read.
        ///
        /// - Returns: Whether the relay has just become idle. That is when the change is made.
        func begins(after round: [String]) -> Bool {
            state.withLock { state in
                let now = state.counts.add(round)
                if state.hasBegun {
                    state.reads.formUnion(round)
                } else if now.quiet == 50 {
                    state.hasBegun = true
                    return true
                }
                return false
            }
        }

        func noteChange() {
            state.withLock { ($0.isChanged, $0.counts.quiet) = (true, 0) }
        }

        func isOver(with expected: Set<String>) -> Bool {
            state.withLock {
                $0.isChanged && $0.counts.quiet >= 50 && $0.reads.isSuperset(of: expected)
                    || $0.counts.total == 50_000
            }
        }
    }

    @Test(arguments: Change.allCases)
    func `after a change on the server, only the parts that it affects are read`(_ change: Change)
        async throws
    {
        let (server, one, two) = try await circle()
        let circle = try await one.circle().description
        let own = "\(circle)/l/\(Hexadecimal.text(try await one.id().bytes))/"
        let other = Hexadecimal.text(try await two.id().bytes)
        let expected = Set(
            change.reads.map { "\(circle)/\($0.replacing("two", with: other))" })
        let observed = Observed()
        try await run(one, server) { reads in
            if observed.begins(after: reads) {
                Task {
                    try await change.make(by: two, on: server.server, circle)
                    observed.noteChange()
                }
            }
            return observed.isOver(with: expected)
        }
        #expect(observed.reads.subtracting(change.hasOwnLog ? [own] : []) == expected)
    }

    @Test func `all logs, heads and requests with join tokens are read once an hour`() async throws
    {
        let standard = Relay.Timing()
        #expect(standard.interval == .seconds(60))
        #expect(standard.interval * standard.fullRoundCount == .seconds(3600))
        // Here, an hour has seven intervals.
        let (server, one, two) = try await circle()
        let rounds = Mutex<[Set<String>]>([])
        try await run(one, server, fullRoundCount: 7) { reads in
            rounds.withLock { rounds in
                rounds.append(Set(reads))
                return rounds.count { !$0.isEmpty } == 20 || rounds.count == 5000
            }
        }
        let circle = try await one.circle().description
        let logs = [try await one.id(), try await two.id()].map {
            "l/\(Hexadecimal.text($0.bytes))/"
        }
        let everything = Set((["m/", "h/", "t/"] + logs).map { "\(circle)/\($0)" })
        let all = rounds.withLock { $0 }
        #expect(all.filter { !$0.isEmpty }.allSatisfy { $0.isSuperset(of: everything) })
        // Between two rounds that read everything, at most six rounds read nothing, or seven rounds
        // if one of them began just as the seventh interval ended.
        let pauses = all.split { !$0.isEmpty }.map(\.count)
        #expect(pauses.contains { $0 > 1 } && pauses.allSatisfy { $0 <= 7 }, "\(pauses)")
    }
}
