// The asynchronous forms: they do the same, block nobody and heed cancellation.

import Foundation
import KeychainModel
import Synchronization
import Testing

@testable import Keychain

/// Holds every search until the gate is opened.
final class GatedService: KeychainService {
    private let base = InMemoryService()
    private let gate = NSCondition()
    // Guarded by `gate`.
    nonisolated(unsafe) private var isOpen = false
    private let waiting = Mutex(0)

    /// How many searches have begun.
    var searchCount: Int { waiting.withLock { $0 } }

    func open() {
        gate.withLock {
            // SAFETY: the condition is locked.
            unsafe isOpen = true
            gate.broadcast()
        }
    }

    func find(
        _ query: ItemQuery, _ retrieval: Retrieval, as caller: AccessGroups
    ) throws(KeychainFailure) -> [Item] {
        waiting.withLock { $0 += 1 }
        gate.withLock {
            // SAFETY: the condition is locked.
            while unsafe !isOpen { gate.wait() }
        }
        return try base.find(query, retrieval, as: caller)
    }

    func add(_ item: NewItem, as caller: AccessGroups) throws(KeychainFailure) -> Item {
        try base.add(item, as: caller)
    }

    func update(
        _ query: ItemQuery, _ changes: ItemChanges, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try base.update(query, changes, as: caller)
    }

    func delete(
        _ query: ItemQuery, tombstones: TombstonePolicy, as caller: AccessGroups
    ) throws(KeychainFailure) -> Int {
        try base.delete(query, tombstones: tombstones, as: caller)
    }
}

@Suite(.timeLimit(.minutes(1))) struct AsyncTests {
    @Test(arguments: Way.allCases)
    func `the asynchronous forms do what the synchronous ones do`(way: Way) async throws {
        let keychain = TestDatabase(way).keychain()
        try await keychain.add("1", for: .token)
        try await keychain.save("2", for: .token)
        #expect(try await keychain.load(.token) == "2")
        #expect(try await keychain.load(.token, orAdd: { "3" }) == "2")
        #expect(try await keychain.exists(.token))
        #expect(try await keychain.item(.token)?.account == "token")
        try await keychain.update(.token) { $0 = ($0 ?? "") + "+" }
        let result = try await keychain.compareExchange(
            expected: "2+", desired: "4", for: .token)
        #expect(result.exchanged)
        #expect(try await keychain.delete(.token))
        try await keychain.save("text", for: "a")
        try await keychain.save(PairingCode(digits: [1, 2, 3, 4, 5, 6]), for: "b")
        try await keychain.save([1], for: "c")
        #expect(try await keychain.load(for: "a") == "text")
        #expect(try await keychain.load(PairingCode.self, for: "b")?.digits.count == 6)
        #expect(try await keychain.load([Int].self, for: "c") == [1])
        #expect(try await keychain.exists("a"))
        #expect(try await keychain.item("a")?.account == "a")
        #expect(try await keychain.items().count == 3)
        #expect(try await keychain.delete("a"))
        #expect(try await keychain.removeAll() == 2)
    }

    @Test @MainActor
    func `the main actor goes on while more operations than cores wait`() async throws {
        let service = GatedService()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(service, TestDatabase.groups))
        let operations = (0..<100).map { _ in
            Task { @MainActor in try await keychain.load(.token) }
        }
        // All of them have begun on the main actor once this task, which queues behind them,
        // has run on it; and Swift's own threads are free too.
        await Task { @MainActor in }.value
        let sum = await withTaskGroup(of: Int.self) { group in
            for number in 0..<100 { group.addTask { number } }
            return await group.reduce(0, +)
        }
        #expect(sum == 4950)
        service.open()
        for operation in operations { #expect(try await operation.value == nil) }
        #expect(service.searchCount == 100)
    }

    @Test
    func `an operation cancelled before it starts does nothing`() async throws {
        let keychain = TestDatabase(.typed).keychain()
        let task = Task {
            // SAFETY: the task is used during the call only.
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await keychain.save("x", for: .token)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await !keychain.exists(.token))
    }

    @Test
    func `an operation cancelled while it waits for a thread ends at once and never runs`()
        async throws
    {
        let pool = BlockingPool(width: 1)
        let gate = DispatchSemaphore(value: 0)
        let (began, signal) = AsyncStream<Void>.makeStream()
        let ran = Mutex(false)
        let first = Task {
            try await pool.run {
                signal.yield()
                gate.wait()
            }
        }
        for await _ in began { break }
        // The only thread is taken: whatever comes next waits.
        let second = Task { try await pool.run { ran.withLock { $0 = true } } }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.signal()
        try await first.value
        // Whatever still waits has its turn before this.
        try await pool.run {}
        #expect(!ran.withLock { $0 })
    }

    @Test
    func `a pool runs as many operations at a time as it is wide and all in the end`()
        async throws
    {
        let pool = BlockingPool(width: 3)
        let counts = Mutex((now: 0, most: 0, all: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    try await pool.run {
                        counts.withLock {
                            $0.now += 1
                            $0.most = max($0.most, $0.now)
                        }
                        counts.withLock {
                            $0.now -= 1
                            $0.all += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counts.withLock { $0.all } == 500)
        #expect(counts.withLock { $0.most } <= 3)
    }

    @Test
    func `an error of the work is thrown by the asynchronous form`() async throws {
        let keychain = TestDatabase(.typed).keychain(group: "group.foreign")
        do {
            try await keychain.save("x", for: .token)
            Issue.record("saved")
        } catch KeychainError.Code.missingEntitlement {
        }
    }
}
