// Keychain+Exchange: atomic changes that depend on the current value.
//   (1) A change specifies the modification date of the value it is based on. Every change gives
//       the item another date, so a change based on an outdated value matches nothing.
//   (2) An attempt that matches nothing is repeated from the start, because normally another thread
//       or process has changed the item. If many attempts in a row find the item unchanged,
//       `StallGuard` ends the loop. Of concurrent attempts that are based on one value, one
//       succeeds.

import KeychainCore

extension Keychain {
    /// Changes a value atomically, based on its current value.
    ///
    /// ```swift
    /// try keychain.update(.loginCount) { count in
    ///     count = (count ?? 0) + 1
    /// }
    /// ```
    ///
    /// No change by another thread or process is lost or interleaved. If the value changes while
    /// the closure runs, the closure runs again with the new value. It can therefore run **more
    /// than once**, and only the result of its last run counts. Keep side effects out of the
    /// closure.
    ///
    /// If the new value has the same bytes as the old one, nothing is written, and the closure
    /// doesn't run again even if the value has changed in the meantime. If this method throws, the
    /// keychain is unchanged, except possibly after an ``KeychainError/Cause/interruption``.
    ///
    /// - Parameters:
    ///   - key: The key of the value.
    ///   - body: A closure that receives the current value, or `nil` if none exists, and replaces
    ///     it with the value to save. To delete the item, it sets the value to `nil`.
    /// - Returns: The result of the closure's last run.
    /// - Throws: ``KeychainError`` as for `load(_:)` and `save(_:for:)`, or the error that the
    ///   closure throws.
    ///
    /// The corresponding calls are `SecItemCopyMatching`, followed by `SecItemAdd` if no item was
    /// found; otherwise by `SecItemUpdate` or `SecItemDelete`, whose query contains the
    /// `kSecAttrModificationDate` of the item that was found.
    @discardableResult
    public func update<Value: Sendable, Result>(
        _ key: KeychainKey<Value>, _ body: (inout Value?) throws -> Result
    ) throws -> Result {
        try exchange(key) { value in Swift.Result { try body(&value) } }.get()
    }

    /// Changes a value based on its current value. If `body` returns a failure, nothing is written
    /// and the failure is returned.
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

    /// Replaces a value if it equals an expected value.
    ///
    /// - Parameters:
    ///   - expected: The value that must be current, or `nil` if there must be no value.
    ///   - desired: The new value, or `nil` to delete the item.
    ///   - key: The key of the value.
    /// - Returns: Whether the value was exchanged, and the value that was found.
    /// - Throws: ``KeychainError`` as for `load(_:)` and `save(_:for:)`.
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

/// Ends a retry loop that makes no progress.
///
/// An attempt may fail any number of times while other threads or processes change the item. But if
/// it fails although the item has not changed, the keychain does not find the version that it has
/// just returned, and further attempts would fail in the same way.
private struct StallGuard {
    private var last: AttributeValue??
    private var repeats = 0

    mutating func mayRepeat(after version: AttributeValue?) -> Bool {
        repeats = last == .some(version) ? repeats + 1 : 0
        last = .some(version)
        return repeats < ItemAccess.attemptLimit
    }
}
