// Keychain+Async: the asynchronous forms of the operations, which run on the keychain's own
// threads.
//   (1) The work runs on the threads of `BlockingPool`, never on the caller's executor and never on
//       a thread of Swift's cooperative pool.
//   (2) If a task is canceled before its operation starts, the operation throws `CancellationError`
//       and changes nothing. Once started, an operation runs to completion.

extension Keychain {
    /// Saves a value, replacing an existing one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func save<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>) async throws {
        try await BlockingPool.shared.run { try save(value, for: key) }
    }

    /// Saves a value if none exists yet, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func add<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>) async throws {
        try await BlockingPool.shared.run { try add(value, for: key) }
    }

    /// Loads a value, or returns `nil` if none exists, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func load<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Value? {
        try await BlockingPool.shared.run { try load(key) }
    }

    /// Loads a value or, if none exists, creates and saves one, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func load<Value: Sendable>(
        _ key: KeychainKey<Value>, orAdd makeValue: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await BlockingPool.shared.run { try load(key, orAdd: makeValue) }
    }

    /// Deletes a value without blocking the caller. Deleting a value that does not exist succeeds.
    ///
    /// - Returns: `true` if the value existed.
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func delete<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Bool {
        try await BlockingPool.shared.run { try delete(key) }
    }

    /// Checks whether a value exists, without reading the secret or blocking the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func exists<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Bool {
        try await BlockingPool.shared.run { try exists(key) }
    }

    /// Changes a value atomically, based on its current value, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form: the closure can run **more than once**. It runs
    /// on one of the keychain's threads, not on the caller's executor.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func update<Value: Sendable, Result: Sendable>(
        _ key: KeychainKey<Value>, _ body: @escaping @Sendable (inout Value?) throws -> Result
    ) async throws -> Result {
        try await BlockingPool.shared.run { try update(key, body) }
    }

    /// Replaces a value if it equals an expected value, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func compareExchange<Value: Equatable & Sendable>(
        expected: Value?, desired: Value?, for key: KeychainKey<Value>
    ) async throws -> (exchanged: Bool, original: Value?) {
        try await BlockingPool.shared.run {
            try compareExchange(expected: expected, desired: desired, for: key)
        }
    }

    /// Returns the attributes of an item, or `nil` if it does not exist, without blocking the
    /// caller.
    ///
    /// No secret is read.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func item<Value: Sendable>(_ key: KeychainKey<Value>) async throws -> Item? {
        try await BlockingPool.shared.run { try item(key) }
    }

    /// Returns the attributes of all items of this keychain, in no particular order, without
    /// blocking the caller.
    ///
    /// No secret is read.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError`.
    public func items() async throws -> [Item] {
        try await BlockingPool.shared.run { try items() }
    }

    /// Deletes all items of this keychain, without blocking the caller.
    ///
    /// Otherwise the same as the synchronous form.
    ///
    /// - Returns: The number of deleted items.
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    @discardableResult
    public func removeAll() async throws -> Int {
        try await BlockingPool.shared.run { try removeAll() }
    }
}
