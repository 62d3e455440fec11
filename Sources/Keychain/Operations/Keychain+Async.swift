// The asynchronous forms: the same operations on threads of their own.
//   (1) The work runs on the threads of `BlockingPool`, never on the caller's executor and never
//       on a thread of Swift's cooperative pool.
//   (2) A task that is cancelled before its operation starts gets a `CancellationError`, and
//       nothing was done. Once started, an operation runs to its end.

extension Keychain {
    /// Saves a value, replacing the one that was there, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func save<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>) async throws {
        try await BlockingPool.shared.run { try save(value, for: key) }
    }

    /// Saves a value where there is none, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func add<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>) async throws {
        try await BlockingPool.shared.run { try add(value, for: key) }
    }

    /// Loads a value without blocking the caller; nil if there is none.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func load<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Value? {
        try await BlockingPool.shared.run { try load(key) }
    }

    /// Loads a value or, where there is none, makes and saves one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func load<Value: Sendable>(
        _ key: KeychainKey<Value>, orAdd makeValue: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { try load(key, orAdd: makeValue) }
    }

    /// Deletes a value without blocking the caller. Deleting one that is not there succeeds.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func delete<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Bool {
        try await BlockingPool.shared.run { try delete(key) }
    }

    /// Whether there is a value, without blocking the caller. The secret is not read.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func exists<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Bool {
        try await BlockingPool.shared.run { try exists(key) }
    }

    /// Changes a value depending on the present one, as one step for everybody else, without
    /// blocking the caller.
    ///
    /// Otherwise the same as the synchronous form: the closure can run **more than once**. It
    /// runs on a thread of the keychain's, not on the caller's executor.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func update<Value: Sendable, Result: Sendable>(
        _ key: KeychainKey<Value>, _ body: @escaping @Sendable (inout Value?) throws -> Result
    ) async throws -> Result {
        try await BlockingPool.shared.run { try update(key, body) }
    }

    /// Replaces a value if it is still what the caller takes it for, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func compareExchange<Value: Equatable & Sendable>(
        expected: Value?, desired: Value?, for key: KeychainKey<Value>
    ) async throws -> (exchanged: Bool, original: Value?) {
        try await BlockingPool.shared.run {
            try compareExchange(expected: expected, desired: desired, for: key)
        }
    }

    /// The attributes of an item, without blocking the caller; nil if there is no such item.
    ///
    /// No secret is read.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func item<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Item? {
        try await BlockingPool.shared.run { try item(key) }
    }

    /// The attributes of all items of this keychain, in no particular order, without blocking
    /// the caller.
    ///
    /// No secret is read.
    ///
    /// - Throws: As the synchronous form, or `CancellationError`.
    public func items() async throws -> [Item] {
        try await BlockingPool.shared.run { try items() }
    }

    /// Deletes all items of this keychain, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Returns: How many there were.
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    @discardableResult
    public func removeAll() async throws -> Int {
        try await BlockingPool.shared.run { try removeAll() }
    }
}
