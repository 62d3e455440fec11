// The asynchronous forms by a plain account name.

extension Keychain {
    /// Saves a value in its ``KeychainValue`` form, without blocking the caller.
    ///
    /// The same as `save(_:for:)` with a key of this account.
    public func save<Value: KeychainValue>(_ value: Value, for account: String) async throws {
        try await save(value, for: KeychainKey<Value>(account))
    }

    /// Saves a value as JSON, without blocking the caller.
    ///
    /// The same as `save(_:for:)` with a key of this account.
    public func save<Value: Codable & Sendable>(
        _ value: Value, for account: String
    ) async throws {
        try await save(value, for: KeychainKey<Value>(account))
    }

    /// Saves a value in its ``KeychainValue`` form, without blocking the caller.
    ///
    /// The same as `save(_:for:)` with a key of this account.
    public func save<Value: KeychainValue & Codable>(
        _ value: Value, for account: String
    ) async throws {
        try await save(value, for: KeychainKey<Value>(account))
    }

    /// Loads a value from its ``KeychainValue`` form, without blocking the caller; nil if there
    /// is none.
    ///
    /// The same as `load(_:)` with a key of this account.
    public func load<Value: KeychainValue>(
        _ type: Value.Type = Value.self, for account: String
    ) async throws -> Value? {
        try await load(KeychainKey<Value>(account))
    }

    /// Loads a value from JSON, without blocking the caller; nil if there is none.
    ///
    /// The same as `load(_:)` with a key of this account.
    public func load<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self, for account: String
    ) async throws -> Value? {
        try await load(KeychainKey<Value>(account))
    }

    /// Loads a value from its ``KeychainValue`` form, without blocking the caller; nil if there
    /// is none.
    ///
    /// The same as `load(_:)` with a key of this account.
    public func load<Value: KeychainValue & Codable>(
        _ type: Value.Type = Value.self, for account: String
    ) async throws -> Value? {
        try await load(KeychainKey<Value>(account))
    }

    /// Deletes the value of an account, without blocking the caller.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``KeychainError`` with a status of the keychain, or `CancellationError` if
    ///   nothing was done.
    @discardableResult
    public func delete(_ account: String) async throws -> Bool {
        try await BlockingPool.shared.run { try delete(account) }
    }

    /// Whether there is a value for an account, without blocking the caller. The secret is not
    /// read.
    ///
    /// - Throws: ``KeychainError`` with a status of the keychain, or `CancellationError`.
    public func exists(_ account: String) async throws -> Bool {
        try await BlockingPool.shared.run { try exists(account) }
    }

    /// The attributes of the item of an account, without blocking the caller; nil if there is
    /// none.
    ///
    /// - Throws: ``KeychainError`` with a status of the keychain, or `CancellationError`.
    public func item(_ account: String) async throws -> Item? {
        try await BlockingPool.shared.run { try item(account) }
    }
}
