// Changes that depend on the present value.
//   (1) A change names the modification date of the value it was made from. Every change moves
//       the date forward, so a change made from an outdated value matches nothing.
//   (2) An attempt that matches nothing is repeated from the start only after a change by another
//       thread or process; one of all attempts that run at the same time succeeds.

import KeychainCore

extension Keychain {
    /// Changes a value depending on the present one, as one step for everybody else.
    ///
    /// ```swift
    /// try keychain.update(.loginCount) { count in
    ///     count = (count ?? 0) + 1
    /// }
    /// ```
    ///
    /// No change of another thread or process is lost or comes between. If another one changes the
    /// value meanwhile, the closure runs again with the new value: it can run **more than once**,
    /// and only what it did the last time counts. Keep side effects out of it.
    ///
    /// If the value has the same bytes afterwards, nothing is written. When this throws, the
    /// keychain is as it was, except perhaps after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - key: The name of the value.
    ///   - body: Gets the value, nil if there is none. It leaves the value to save or, to delete
    ///     the item, nil.
    /// - Returns: What the closure returned the last time.
    /// - Throws: ``KeychainError`` as for `load(_:)` and
    ///   `save(_:for:)`, or what the closure throws.
    ///
    /// The corresponding calls are `SecItemCopyMatching` and then `SecItemUpdate` or
    /// `SecItemDelete` with the found `kSecAttrModificationDate` in the query, or `SecItemAdd`.
    @discardableResult
    public func update<Value: Sendable, Result>(
        _ key: KeychainKey<Value>, _ body: (inout Value?) throws -> Result
    ) throws -> Result {
        try exchange(key) { value in Swift.Result { try body(&value) } }.get()
    }

    /// Changes a value depending on the present one. A failure that `body` returns ends it, and
    /// nothing is written.
    private func exchange<Value: Sendable, Result, Failure: Error>(
        _ key: KeychainKey<Value>, _ body: (inout Value?) -> Swift.Result<Result, Failure>
    ) throws(KeychainError) -> Swift.Result<Result, Failure> {
        let keychain = key.accessControl == nil ? self : inOneContext
        let access = keychain.access(.update, key.account)
        var stall = StallGuard()
        while true {
            let present = try access.find(includesData: true)
            var value: Value?
            if let present { value = try access.decode(present.secret, key) }
            let result = body(&value)
            guard case .success = result else { return result }
            var contents: ItemChanges?
            if let value { contents = try access.encode(value, key, in: self) }
            if try access.replace(present, contents) { return result }
            guard stall.mayRepeat(after: present?.attributes[.modificationDate]) else {
                throw access.unsettled
            }
        }
    }

    /// Replaces a value if it is still what the caller takes it for.
    ///
    /// - Parameters:
    ///   - expected: What the value must be. nil: there must be none.
    ///   - desired: What to save instead. nil: nothing; the item is deleted.
    ///   - key: The name of the value.
    /// - Returns: Whether the value was as expected and is now as desired, and the value that
    ///   was found.
    /// - Throws: ``KeychainError`` as for `load(_:)` and
    ///   `save(_:for:)`.
    ///
    /// The corresponding calls are those of `update(_:_:)`.
    @discardableResult
    public func compareExchange<Value: Equatable & Sendable>(
        expected: Value?, desired: Value?, for key: KeychainKey<Value>
    ) throws(KeychainError) -> (exchanged: Bool, original: Value?) {
        let result: Swift.Result<(exchanged: Bool, original: Value?), Never> = try exchange(key) {
            value in
            let original = value
            guard original == expected else { return .success((false, original)) }
            value = desired
            return .success((true, original))
        }
        return result.get()
    }
}

/// Ends a repetition that gets nowhere.
///
/// An attempt may fail as often as another thread or process changes the item. But if it fails
/// although the item is the same as before, the keychain doesn't find what it has just given, and
/// never will.
private struct StallGuard {
    private var last: AttributeValue??
    private var repeats = 0

    mutating func mayRepeat(after version: AttributeValue?) -> Bool {
        repeats = last == .some(version) ? repeats + 1 : 0
        last = .some(version)
        return repeats < ItemAccess.attemptLimit
    }
}
