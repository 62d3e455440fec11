// Keychain+Values: synchronous operations that save, load and delete one value by its key.

extension Keychain {
    /// Saves a value, replacing an existing one.
    ///
    /// The item is durable when this method returns. If it throws, the keychain is unchanged,
    /// except possibly after an ``KeychainError/Cause/interruption``. An existing item is changed
    /// in place: it keeps its persistent reference and creation date, concurrent readers never find
    /// it missing, and its accessibility becomes that of the key or, if the key specifies none, of
    /// this keychain.
    ///
    /// If ``accessGroup`` is `nil`, this method adds or changes the item in the program's default
    /// group, which is the first in its entitlements. Items with the same key in other groups stay
    /// unchanged, so a caller that specifies no group writes only to the default group.
    ///
    /// - Parameters:
    ///   - value: The secret. It is copied.
    ///   - key: The key of the value.
    /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of the
    ///   keychain:
    ///   - ``KeychainError/Code/interactionNotAllowed`` while items of this accessibility are
    ///     locked. Keep the value and retry after the unlock. Also if the key requires an
    ///     application password, the program provided none, and the user must not be asked for it.
    ///   - ``KeychainError/Code/authFailed`` if the key requires a passcode and none is set. Also
    ///     if the key requires an application password, the program provided none, and the user
    ///     can't be asked for it, as in a service without a terminal.
    ///   - ``KeychainError/Code/missingEntitlement`` if the program may not use the access group.
    ///   - ``KeychainError/Code/encodingFailed`` if the value could not be encoded. If the key's
    ///     `encode` closure threw a ``KeychainError``, the code of that error instead.
    ///   - ``KeychainError/Code/param`` if a synchronizable item would be restricted to this device
    ///     or have an access control.
    ///   - If the existing item has an ``AccessControl``, also the errors of `load(_:)`.
    ///
    /// The corresponding calls are `SecItemAdd` and, for an existing item, `SecItemUpdate`.
    public func save<Value: Sendable>(_ value: Value, for key: KeychainKey<Value>)
        throws(KeychainError)
    {
        let access = access(.save, key.account)
        try access.put(access.encode(value, key, in: self))
    }

    /// Saves a value if none exists yet.
    ///
    /// The item is durable when this method returns. If it throws, the keychain is unchanged,
    /// except possibly after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - value: The secret. It is copied.
    ///   - key: The key of the value.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/duplicateItem`` if a value
    ///   already exists; otherwise as for `save(_:for:)`.
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
    /// - Parameter key: The key of the value.
    /// - Returns: The value, or `nil` if none exists.
    /// - Throws: ``KeychainError`` with one of the following codes, or with any other status of the
    ///   keychain:
    ///   - ``KeychainError/Code/interactionNotAllowed`` if the item is locked or, on Linux before
    ///     the first unlock, if it is unknown whether the item exists; in both cases retry after
    ///     the unlock. Also if the item has an ``AccessControl`` and the user must not be asked, or
    ///     can't be asked to prove presence.
    ///   - ``KeychainError/Code/userCanceled`` if the user canceled the authentication.
    ///   - ``KeychainError/Code/authFailed`` if the authentication failed, or if only an
    ///     application password is missing and the user can't be asked for it.
    ///   - ``KeychainError/Code/decodingFailed``, ``KeychainError/Code/invalidData`` or
    ///     ``KeychainError/Code/dataConversionFailed`` if the stored bytes are not a value of this
    ///     type. The bytes are in ``KeychainError/storedData`` and stay in the keychain.
    ///   - ``KeychainError/Code/decode`` if the item is damaged or may have been lost in a
    ///     recovery.
    ///
    /// The corresponding call is `SecItemCopyMatching`.
    public func load<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Value? {
        let access = access(.load, key.account)
        guard let secret = try access.load() else { return nil }
        return try access.decode(secret, key)
    }

    /// Loads a value or, if none exists, creates and saves one.
    ///
    /// When several threads or processes do this concurrently, exactly one of the new values is
    /// saved, and all callers receive that value.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - makeValue: Creates the value to save. It is called at most once, and only if no value
    ///     exists.
    /// - Returns: The value that is in the keychain.
    /// - Throws: ``KeychainError`` as for `load(_:)` and `save(_:for:)`, or the error that
    ///   `makeValue` throws.
    public func load<Value: Sendable>(
        _ key: KeychainKey<Value>, orAdd makeValue: () throws -> Value
    ) throws -> Value {
        if let present = try load(key) { return present }
        return try addOrLoad(try makeValue(), key)
    }

    /// Adds a value or, if another thread or process has added one since the caller found none,
    /// loads that value.
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

    /// Deletes a value. Deleting a value that does not exist succeeds.
    ///
    /// If ``accessGroup`` is `nil`, this method deletes the items with this key in all of the
    /// program's groups, not only in the default group.
    ///
    /// - Parameter key: The key of the value.
    /// - Returns: `true` if the value existed.
    /// - Throws: ``KeychainError`` with the status of the failure.
    ///
    /// The corresponding call is `SecItemDelete`.
    @discardableResult
    public func delete<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Bool {
        try access(.delete, key.account).delete()
    }

    /// Checks whether a value exists, without reading the secret.
    ///
    /// - Parameter key: The key of the value.
    /// - Returns: `true` if the value exists.
    /// - Throws: ``KeychainError`` with the status of the failure. An item that is locked or found
    ///   to be damaged is reported as an error, never as `false`.
    public func exists<Value: Sendable>(_ key: KeychainKey<Value>) throws(KeychainError) -> Bool {
        try access(.load, key.account).attributes() != nil
    }
}
