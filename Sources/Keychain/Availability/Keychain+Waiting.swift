// Keychain+Waiting: waits until a keychain or an item can be read.
//   (1) The delay between probes increases from 50 milliseconds to 2 seconds. An unlock, or the
//       removal of the passcode, through `KeychainDatabase` in this process ends it early.
//   (2) A permanent error is thrown immediately, so that no caller waits for damage to disappear.

extension Keychain {
    /// Waits until this keychain's items can be read, and returns immediately if they already can.
    ///
    /// The keychain is probed immediately after each `unlock(passcode:)` and `removePasscode(_:)`
    /// in this process. For all other events, it is probed periodically, with pauses of at most 2
    /// seconds.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time to wait. `nil` waits indefinitely; zero or less does not wait.
    ///   - clock: The clock that measures the time.
    /// - Throws: ``KeychainError`` with the reason that the items can't be read, when the timeout
    ///   expires or, if the reason is permanent, immediately (see ``Availability/isPassing``); or
    ///   `CancellationError` if the task is canceled, after a probe in progress has ended.
    public func waitUntilAvailable<Time: Clock<Duration>>(
        timeout: Duration? = nil, clock: Time = ContinuousClock()
    ) async throws {
        try await wait(timeout: timeout, clock: clock) { try await availability() }
    }

    /// Waits until it is known whether an item exists and, if it does, until it can be read.
    ///
    /// Otherwise the same as the form for the whole keychain. The user is never asked for
    /// authentication. An item whose ``AccessControl`` requires it therefore counts as locked, as
    /// for `availability(of:)`, and an unlock does not end the wait: load the item instead.
    ///
    /// - Parameters:
    ///   - key: The key of the item.
    ///   - timeout: The maximum time to wait. `nil` waits indefinitely; zero or less does not wait.
    ///   - clock: The clock that measures the time.
    /// - Returns: `true` if the item exists.
    /// - Throws: The errors of the form for the whole keychain.
    @discardableResult
    public func waitUntilAvailable<Value: Sendable, Time: Clock<Duration>>(
        _ key: KeychainKey<Value>, timeout: Duration? = nil, clock: Time = ContinuousClock()
    ) async throws -> Bool {
        let found = try await wait(timeout: timeout, clock: clock) {
            try await availability(of: key)
        }
        return found.state == .available
    }

    /// The delay before the next probe: exponential backoff with a limit.
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
            // Subscribe before the probe, so that an unlock right after it is not missed.
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

    /// Sleeps until a time or a signal, whichever comes first.
    ///
    /// - Throws: `CancellationError` if the task is canceled.
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
