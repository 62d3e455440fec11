// Saving, loading and deleting one value by its key, blocking the calling thread.

extension Keychain {
    /// Saves a value, replacing the one that was there.
    ///
    /// The item is durable when this returns. When it throws, the keychain is as it was, except
    /// perhaps after an ``KeychainError/Cause/interruption``. An item that is there is changed in
    /// place: it keeps its persistent reference and creation date, no reader sees it missing, and
    /// it gets the accessibility of the key.
    ///
    /// Without an ``accessGroup`` the item of the program's default group is the one that is added or
    /// changed, the group that comes first in its entitlements. Items of the same name in its other
    /// groups stay as they are, so that a value never gets into a group that was not named.
    ///
    /// - Parameters:
    ///   - value: The secret. It is copied.
    ///   - key: Its name.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/interactionNotAllowed`` while items of this accessibility are
    ///     locked: keep the value and try again after unlock;
    ///   - ``KeychainError/Code/authFailed`` if the key asks for a passcode and none is set;
    ///   - ``KeychainError/Code/missingEntitlement`` if the program may not use the access group;
    ///   - ``KeychainError/Code/encodingFailed`` if the value could not be turned into bytes;
    ///   - ``KeychainError/Code/param`` for a synchronizable item that is to stay on this device, or
    ///     to have an access control;
    ///   - or any status of the keychain. Over an item under an ``AccessControl``, also as for
    ///     `load(_:)`.
    ///
    /// The corresponding calls are `SecItemAdd` and, for an existing item, `SecItemUpdate`.
    public func save<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>)
        throws(KeychainError)
    {
        let access = access(.save, key.account)
        try access.put(access.encode(value, key, in: self))
    }

    /// Saves a value where there is none.
    ///
    /// The item is durable when this returns. When it throws, the keychain is as it was, except
    /// perhaps after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - value: The secret. It is copied.
    ///   - key: Its name.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/duplicateItem`` if there is a
    ///   value already; otherwise as for `save(_:for:)`.
    ///
    /// The corresponding call is `SecItemAdd`.
    public func add<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>)
        throws(KeychainError)
    {
        let access = access(.save, key.account)
        guard try access.add(access.encode(value, key, in: self)) else {
            throw KeychainError(
                .duplicateItem, operation: .save, service: service, account: key.account)
        }
    }

    /// Loads a value.
    ///
    /// - Parameter key: Its name.
    /// - Returns: The value; nil if there is none.
    /// - Throws: ``KeychainError``, with code
    ///   - ``KeychainError/Code/interactionNotAllowed`` while the item is locked: it is there,
    ///     try again after unlock; or if it is under an ``AccessControl`` and no person can be asked;
    ///   - ``KeychainError/Code/userCanceled``, ``KeychainError/Code/authFailed`` if the person
    ///     declined, or couldn't prove who they are;
    ///   - ``KeychainError/Code/decodingFailed``, ``KeychainError/Code/invalidData`` or
    ///     ``KeychainError/Code/dataConversionFailed`` if the stored bytes are no such value:
    ///     they are in ``KeychainError/storedData`` and stay in the keychain;
    ///   - ``KeychainError/Code/decode`` if the item is damaged;
    ///   - or any status of the keychain.
    ///
    /// The corresponding call is `SecItemCopyMatching`.
    public func load<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Value? {
        let access = access(.load, key.account)
        guard let secret = try access.load() else { return nil }
        return try access.decode(secret, key)
    }

    /// Loads a value or, where there is none, makes and saves one.
    ///
    /// When several threads or processes do this at once, one of the new values is saved, and
    /// all of them get that one.
    ///
    /// - Parameters:
    ///   - key: Its name.
    ///   - makeValue: Makes the value to save. Called once at most, and only if there is none.
    /// - Returns: The value that is in the keychain.
    /// - Throws: ``KeychainError`` as for `load(_:)` and
    ///   `save(_:for:)`, or what `makeValue` throws.
    public func load<Value: Sendable>(
        _ key: KeychainKey<Value>, orAdd makeValue: () throws -> Value
    ) throws -> Value {
        if let present = try load(key) { return present }
        return try addOrLoad(try makeValue(), key)
    }

    /// Adds a value or, where there is one by now, loads that.
    func addOrLoad<Value: Sendable>(
        _ value: Value, _ key: KeychainKey<Value>
    ) throws(KeychainError) -> Value {
        let access = access(.save, key.account)
        let contents = try access.encode(value, key, in: self)
        for _ in 0..<ItemAccess.attemptLimit {
            if try access.add(contents) { return value }
            if let present = try load(key) { return present }
        }
        throw access.unsettled
    }

    /// Deletes a value. Deleting one that is not there succeeds.
    ///
    /// - Parameter key: Its name.
    /// - Returns: Whether there was one.
    /// - Throws: ``KeychainError`` with a status of the keychain.
    ///
    /// The corresponding call is `SecItemDelete`.
    @discardableResult
    public func delete<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Bool {
        try access(.delete, key.account).delete()
    }

    /// Whether there is a value. The secret is not read.
    ///
    /// - Parameter key: Its name.
    /// - Returns: Whether there is one.
    /// - Throws: ``KeychainError`` with a status of the keychain. A lock, or damage that was met,
    ///   is never a "no".
    public func exists<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Bool {
        try access(.load, key.account).attributes() != nil
    }
}
