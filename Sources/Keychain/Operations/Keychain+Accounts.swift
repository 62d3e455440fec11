// One value by a plain account name, for names that are known only when the program runs.

extension Keychain {
    /// Saves a value in its ``KeychainValue`` form, replacing the one that was there.
    ///
    /// The same as `save(_:for:)` with a key of this account.
    public func save<Value: KeychainValue>(_ value: Value, for account: String) throws {
        try save(value, for: KeychainKey<Value>(account))
    }

    /// Saves a value as JSON, replacing the one that was there.
    ///
    /// The same as `save(_:for:)` with a key of this account.
    public func save<Value: Codable & Sendable>(_ value: Value, for account: String) throws {
        try save(value, for: KeychainKey<Value>(account))
    }

    /// Saves a value in its ``KeychainValue`` form, replacing the one that was there.
    ///
    /// The same as `save(_:for:)` with a key of this account.
    public func save<Value: KeychainValue & Codable>(_ value: Value, for account: String) throws {
        try save(value, for: KeychainKey<Value>(account))
    }

    /// Loads a value from its ``KeychainValue`` form; nil if there is none.
    ///
    /// The same as `load(_:)` with a key of this account.
    public func load<Value: KeychainValue>(
        _ type: Value.Type = Value.self, for account: String
    ) throws -> Value? {
        try load(KeychainKey<Value>(account))
    }

    /// Loads a value from JSON; nil if there is none.
    ///
    /// The same as `load(_:)` with a key of this account.
    public func load<Value: Codable & Sendable>(
        _ type: Value.Type = Value.self, for account: String
    ) throws -> Value? {
        try load(KeychainKey<Value>(account))
    }

    /// Loads a value from its ``KeychainValue`` form; nil if there is none.
    ///
    /// The same as `load(_:)` with a key of this account.
    public func load<Value: KeychainValue & Codable>(
        _ type: Value.Type = Value.self, for account: String
    ) throws -> Value? {
        try load(KeychainKey<Value>(account))
    }

    /// Deletes the value of an account. Deleting one that is not there succeeds.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``KeychainError`` with a status of the keychain.
    @discardableResult
    public func delete(_ account: String) throws -> Bool {
        try access(.delete, account).delete()
    }

    /// Whether there is a value for an account. The secret is not read.
    ///
    /// - Throws: ``KeychainError`` with a status of the keychain.
    public func exists(_ account: String) throws -> Bool {
        try access(.load, account).attributes() != nil
    }
}
