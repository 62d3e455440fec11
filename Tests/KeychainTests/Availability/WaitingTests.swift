// Waiting until a keychain or an item can be read: how long a wait lasts while the keychain is
// locked or busy, and that permanent errors are thrown immediately.

import Foundation
import KeychainCore
import Synchronization
import Testing

@testable import Keychain

#if !canImport(Darwin)
import KeychainCrypto
import KeychainEngine
#endif

/// A clock that stands still until the test moves it, and reports the beginning of each sleep.
final class ManualClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
    }

    private struct Sleeper {
        var end: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var next = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Mutex(State())
    /// The length of each sleep, sent when the sleep begins.
    let sleeps: AsyncStream<Duration>
    private let begun: AsyncStream<Duration>.Continuation

    init() {
        (sleeps, begun) = AsyncStream.makeStream()
    }

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .nanoseconds(1) }

    func sleep(until end: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    guard !state.cancelled.contains(number) else { return true }
                    state.sleepers[number] = Sleeper(end: end, continuation: continuation)
                    begun.yield(state.now.duration(to: end))
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(number)
                return state.sleepers.removeValue(forKey: number)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let numbers = state.sleepers.filter { $0.value.end <= state.now }.map(\.key)
            return numbers.compactMap { state.sleepers.removeValue(forKey: $0) }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }
}

/// Is busy for a number of searches, and then finds nothing.
final class BusyService: RequestHandler {
    private let left: Mutex<Int>

    init(searches: Int) { left = Mutex(searches) }

    func perform<R: Request>(
        _ request: R, as caller: AccessGroups
    ) throws(KeychainFailure) -> R.Answer {
        guard R.code == .find else { throw .busy("Busy.") }
        let isBusy = left.withLock { left in
            left -= 1
            return left >= 0
        }
        throw isBusy ? .busy("Busy.") : .itemNotFound
    }
}

@Suite(.timeLimit(.minutes(20))) struct WaitingTests {
    @Test(arguments: Way.allCases)
    func `waiting returns at once if the keychain is available`(way: Way) async throws {
        let keychain = try TestDatabase(way).keychain()
        let clock = ManualClock()
        try await keychain.waitUntilAvailable(clock: clock)
        #expect(try await !keychain.waitUntilAvailable(.token, clock: clock))
        try await keychain.save("x", for: .token)
        #expect(try await keychain.waitUntilAvailable(.token, timeout: .zero, clock: clock))
        #expect(try await keychain.waitUntilAvailable(.token))
    }

    #if !canImport(Darwin)
    @Test(arguments: Way.allCases)
    func `an unlock in this process ends the wait at once`(way: Way) async throws {
        let test = try TestDatabase(way)
        let keychain = test.keychain(accessibility: .whenUnlocked)
        try await keychain.save("1234", for: .pin)
        try test.lock()
        let clock = ManualClock()
        let item = Task { try await keychain.waitUntilAvailable(.pin, clock: clock) }
        let whole = Task { try await keychain.waitUntilAvailable(clock: clock) }
        // Wait until both tasks are asleep. The clock stands still, so only the unlock can end the
        // two waits.
        var count = 0
        for await _ in clock.sleeps {
            count += 1
            if count == 2 { break }
        }
        try test.unlock()
        #expect(try await item.value)
        try await whole.value
        #expect(clock.now.offset == .zero)
    }

    @Test(arguments: Way.allCases)
    func `an unlock without a notification is found by polling`(way: Way) async throws {
        let test = try TestDatabase(way)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        try test.lock()
        let clock = ManualClock()
        let wait = Task { try await keychain.waitUntilAvailable(.pin, clock: clock) }
        var count = 0
        for await length in clock.sleeps {
            count += 1
            if count == 3 {
                let administration = try #require(test.database.administration)
                try administration().perform(
                    Unlock(passcode: SecretBytes(copying: Array("passcode".utf8))))
            }
            clock.advance(by: length)
            if count == 3 { break }
        }
        #expect(try await wait.value)
        #expect(clock.now.offset > .zero)
    }
    #endif

    @Test(arguments: Way.allCases)
    func `after the timeout, waiting throws the reason why the item isn't available`(way: Way)
        async throws
    {
        let test = try TestDatabase(way)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        try test.lock()
        let clock = ManualClock()
        let wait = Task { () -> KeychainError.Code? in
            do {
                try await keychain.waitUntilAvailable(
                    .pin, timeout: .milliseconds(400), clock: clock)
                return nil
            } catch {
                return (error as? KeychainError)?.code
            }
        }
        let mover = Task {
            for await length in clock.sleeps { clock.advance(by: length) }
        }
        #expect(await wait.value == .interactionNotAllowed)
        mover.cancel()
        await mover.value
        // The wait ended at the timeout, not earlier and not at the end of the polling interval.
        #expect(clock.now.offset == .milliseconds(400))
        let never = Task {
            try await keychain.waitUntilAvailable(.pin, timeout: .zero, clock: clock)
        }
        await #expect(throws: KeychainError.self) { try await never.value }
    }

    @Test(arguments: Way.allCases)
    func `a canceled wait ends at once`(way: Way) async throws {
        let test = try TestDatabase(way)
        let keychain = test.keychain()
        try await keychain.save("1234", for: .pin)
        try test.lock()
        let clock = ManualClock()
        let wait = Task { try await keychain.waitUntilAvailable(.pin, clock: clock) }
        for await _ in clock.sleeps { break }
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
        #expect(clock.now.offset == .zero)
    }

    @Test(arguments: Way.allCases)
    func `a busy keychain is polled until it answers`(way: Way) async throws {
        let keychain = Keychain(service: "s", in: way.database(BusyService(searches: 5)))
        let clock = ManualClock()
        let wait = Task { try await keychain.waitUntilAvailable(.token, clock: clock) }
        let mover = Task {
            for await length in clock.sleeps { clock.advance(by: length) }
        }
        #expect(try await !wait.value)
        mover.cancel()
        await mover.value
    }

    @Test(
        arguments: AvailabilityTests.failures.filter { !$0.3 }.map { ($0.0, $0.1) })
    func `waiting fails at once if the error is permanent`(
        status: Status, cause: KeychainFailure.Cause
    ) async throws {
        let service = FailingService(status: status, cause: cause)
        let keychain = Keychain(service: "s", in: Way.typed.database(service))
        // The clock stands still, so a wait would never end.
        let clock = ManualClock()
        await #expect(throws: KeychainError.self) {
            try await keychain.waitUntilAvailable(.token, clock: clock)
        }
        await #expect(throws: KeychainError.self) {
            try await keychain.waitUntilAvailable(clock: clock)
        }
    }

    @Test func `the polling interval grows to two seconds`() {
        var pause: Duration?
        let pauses = (0..<8).map { _ -> Duration in
            let next = Keychain.pause(after: pause)
            pause = next
            return next
        }
        #expect(pauses.prefix(3) == [.milliseconds(50), .milliseconds(100), .milliseconds(200)])
        #expect(pauses.suffix(2) == [.seconds(2), .seconds(2)])
    }

    @Test func `releasing a stream of notifications ends its subscription`() async throws {
        let signal = AvailabilitySignal()
        var kept: AsyncStream<Void>? = signal.subscribe()
        _ = signal.subscribe()
        #expect(signal.subscriberCount == 1)
        signal.send()
        signal.send()
        if let kept {
            for await _ in kept { break }
        }
        kept = nil
        #expect(signal.subscriberCount == 0)
    }
}
