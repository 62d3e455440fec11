// The asynchronous functions do the same as the synchronous functions, don't block threads, and
// support cancellation.

import Foundation
import KeychainCore
import Synchronization
import Testing

@testable import Keychain

#if !canImport(Darwin)
import TestPrograms
#endif

/// Blocks every search until the gate is opened, and then finds nothing.
final class GatedService: RequestHandler {
    private let gate = NSCondition()
    // Guarded by `gate`.
    nonisolated(unsafe) private var isOpen = false
    private let searches = Mutex(0)

    /// The number of searches that have begun.
    var searchCount: Int { searches.withLock { $0 } }

    func open() {
        gate.withLock {
            // SAFETY: the condition is locked.
            unsafe isOpen = true
            gate.broadcast()
        }
    }

    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        guard R.code == .find else { throw R.code == .add ? .duplicateItem : .itemNotFound }
        searches.withLock { $0 += 1 }
        gate.withLock {
            // SAFETY: the condition is locked.
            while unsafe !isOpen { gate.wait() }
        }
        throw .itemNotFound
    }
}

/// A value that several tasks change.
final class Shared<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    @discardableResult
    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

/// Counts its deallocations.
private final class Captured: Sendable {
    private let released: Shared<Int>

    init(_ released: Shared<Int>) {
        self.released = released
    }

    deinit { released.withLock { $0 += 1 } }
}

@Suite(.timeLimit(.minutes(20))) struct AsyncTests {
    @Test(arguments: Way.allCases)
    func `asynchronous functions do the same as synchronous ones`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
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
        try await keychain.save("text", for: KeychainKey("a"))
        try await keychain.save(PairingCode(digits: [1, 2, 3, 4, 5, 6]), for: KeychainKey("b"))
        try await keychain.save([1], for: KeychainKey("c"))
        #expect(try await keychain.load(KeychainKey<String>("a")) == "text")
        #expect(try await keychain.load(KeychainKey<PairingCode>("b"))?.digits.count == 6)
        #expect(try await keychain.load(KeychainKey<[Int]>("c")) == [1])
        #expect(try await keychain.exists(.account("a")))
        #expect(try await keychain.item(.account("a"))?.account == "a")
        #expect(try await keychain.items().count == 3)
        #expect(try await keychain.delete(.account("a")))
        #expect(try await keychain.removeAll() == 2)
    }

    @Test @MainActor
    func `the main actor isn't blocked while more operations than cores wait`() async throws {
        let service = GatedService()
        let keychain = Keychain(
            service: "s", in: Way.typed.database(service))
        let operations = (0..<100).map { _ in
            Task { @MainActor in try await keychain.load(.token) }
        }
        // This task is queued behind the operations. When the task has run on the main actor, all
        // operations have begun there.
        await Task { @MainActor in }.value
        // The threads of Swift's concurrency pool aren't blocked either.
        for number in 0..<100 {
            let other = Task.detached { number }
            #expect(await other.value == number)
        }
        service.open()
        for operation in operations { #expect(try await operation.value == nil) }
        #expect(service.searchCount == 100)
    }

    @Test
    func `an operation that is canceled before it starts does nothing`() async throws {
        let keychain = try TestDatabase(.typed).keychain()
        let task = Task {
            // SAFETY: the task is used during the call only.
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await keychain.save("x", for: .token)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await !keychain.exists(.token))
    }

    @Test
    func `an operation that is canceled while waiting for a thread ends at once and never runs`()
        async throws
    {
        let pool = BlockingPool(width: 1)
        let gate = DispatchSemaphore(value: 0)
        let (began, signal) = AsyncStream<Void>.makeStream()
        let ran = Shared(false)
        let first = Task {
            try await pool.run {
                signal.yield()
                gate.wait()
            }
        }
        for await _ in began { break }
        // The only thread is in use, so the next operation has to wait.
        let second = Task { try await pool.run { ran.withLock { $0 = true } } }
        while pool.waitingCount == 0 { await Task.yield() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.signal()
        try await first.value
        // If the second operation were still waiting, it would run before this empty operation.
        try await pool.run {}
        #expect(!ran.withLock { $0 })
    }

    @Test
    func `what an ended operation captured is released while its thread runs another operation`()
        async throws
    {
        let pool = BlockingPool(width: 1)
        let released = Shared(0)
        func operation(_ work: @escaping @Sendable () -> Void) -> Task<Void, any Error> {
            let captured = Captured(released)
            return Task { try await pool.run { withExtendedLifetime(captured, work) } }
        }
        let (began, signal) = AsyncStream<Void>.makeStream()
        var begun = began.makeAsyncIterator()
        let firstGate = DispatchSemaphore(value: 0)
        let lastGate = DispatchSemaphore(value: 0)
        let first = operation {
            signal.yield()
            firstGate.wait()
        }
        await begun.next()
        let second = operation {}
        while pool.waitingCount < 1 { await Task.yield() }
        let last = Task {
            try await pool.run {
                signal.yield()
                lastGate.wait()
            }
        }
        while pool.waitingCount < 2 { await Task.yield() }
        let canceled = operation {}
        while pool.waitingCount < 3 { await Task.yield() }
        canceled.cancel()
        firstGate.signal()
        await begun.next()
        // The only thread runs the last operation, and the others have ended.
        try await first.value
        try await second.value
        await #expect(throws: CancellationError.self) { try await canceled.value }
        let deadline = Date(timeIntervalSinceNow: 60)
        while released.withLock({ $0 }) < 3, Date() < deadline { await Task.yield() }
        #expect(released.withLock { $0 } == 3)
        lastGate.signal()
        try await last.value
    }

    #if !canImport(Darwin)
    @Test
    func `a pool runs at most as many operations at once as it has threads, and completes all`()
        async throws
    {
        let pool = BlockingPool(width: 3)
        struct Counts {
            var now = 0
            var most = 0
            var all = 0
        }
        let counts = Shared(Counts())
        // The first three operations wait for each other, so all three threads of the pool must run
        // an operation at the same time.
        let meeting = Meeting(of: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    try await pool.run {
                        counts.withLock {
                            $0.now += 1
                            $0.most = max($0.most, $0.now)
                        }
                        meeting.join()
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
        #expect(meeting.tookPlace)
        #expect(counts.withLock { $0.most } == 3)
    }
    #endif

    @Test
    func `an asynchronous function throws the error of its work`() async throws {
        let keychain = try TestDatabase(.typed).keychain(group: "group.foreign")
        do {
            try await keychain.save("x", for: .token)
            Issue.record("saved")
        } catch KeychainError.Code.missingEntitlement {
        }
    }
}
