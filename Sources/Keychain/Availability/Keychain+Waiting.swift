// Waiting until a keychain or an item can be read.
//   (1) The waits between probes grow from 50 milliseconds to 2 seconds; an unlock in this
//       process ends them early.
//   (2) What doesn't pass by itself is thrown at once: no caller waits for damage to heal.

extension Keychain {
    /// Waits until this keychain's items can be read.
    ///
    /// Returns at once if they can. An `unlock(passcode:)` in this process ends the wait; for
    /// everything else the keychain is asked again from time to time, every 2 seconds at the
    /// least.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait at most. nil: as long as it takes. Zero or less: not at all.
    ///   - clock: Measures the time.
    /// - Throws: The ``KeychainError`` that stands in the way when the time is over, or at once
    ///   if it doesn't pass by itself (see ``Availability/isPassing``); `CancellationError` if the
    ///   task is cancelled, at once.
    public func waitUntilAvailable<Time: Clock<Duration>>(
        timeout: Duration? = nil, clock: Time = ContinuousClock()
    ) async throws {
        try await wait(timeout: timeout, clock: clock) { try await availability() }
    }

    /// Waits until it can be told whether there is an item, and if there is, until it can be read.
    ///
    /// Otherwise the same as for the whole keychain. An item under an ``AccessControl`` counts as
    /// locked, as no person is asked: load it instead.
    ///
    /// - Parameters:
    ///   - key: The name of the item.
    ///   - timeout: How long to wait at most. nil: as long as it takes. Zero or less: not at all.
    ///   - clock: Measures the time.
    /// - Returns: Whether there is such an item.
    /// - Throws: As for the whole keychain.
    @discardableResult
    public func waitUntilAvailable<Value: Sendable, Time: Clock<Duration>>(
        _ key: KeychainKey<Value>, timeout: Duration? = nil, clock: Time = ContinuousClock()
    ) async throws -> Bool {
        let found = try await wait(timeout: timeout, clock: clock) {
            try await availability(of: key)
        }
        return found.state == .available
    }

    /// The waits between two probes: how long the next one is.
    static func pause(after last: Duration?) -> Duration {
        guard let last else { return .milliseconds(50) }
        return min(last * 2, .seconds(2))
    }

    @discardableResult
    private func wait<Time: Clock<Duration>>(
        timeout: Duration?, clock: Time, _ probe: () async throws -> Availability
    ) async throws -> Availability {
        let deadline = timeout.map { clock.now.advanced(by: $0) }
        var pause: Duration?
        while true {
            // Before the probe, so that an unlock right after it is not missed.
            let signal = AvailabilitySignal.shared.subscribe()
            let found = try await probe()
            guard let error = found.error else { return found }
            guard found.isPassing else { throw error }
            let length = Self.pause(after: pause)
            pause = length
            var end = clock.now.advanced(by: length)
            if let deadline {
                guard clock.now < deadline else { throw error }
                end = min(end, deadline)
            }
            try await Self.sleep(until: end, clock, or: signal)
        }
    }

    /// Sleeps until a time or a signal.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    private static func sleep<Time: Clock<Duration>>(
        until end: Time.Instant, _ clock: Time, or signal: AsyncStream<Void>
    ) async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await clock.sleep(until: end, tolerance: nil) }
            group.addTask { for await _ in signal { break } }
            await group.next()
            group.cancelAll()
        }
        try Task.checkCancellation()
    }
}
