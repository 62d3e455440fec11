// Locking, unlocking and the passcode of a database.
//   (1) A passcode is copied to memory that is locked and zeroed after use. What the caller
//       holds is the caller's to erase; a `String` can't be erased.
//   (2) What is locked and unlocked is the database in the process that has it open: this one, or
//       the keychain service, for every program that it works for.

#if !canImport(Darwin)

import KeychainCrypto
import KeychainEngine
import KeychainCore

extension KeychainDatabase {
    /// Makes every item readable until `lock()`, or until the process that has the database open
    /// ends: this one, or the keychain service.
    ///
    /// This takes a good part of a second: a passcode is made expensive to guess.
    ///
    /// - Parameter passcode: The passcode, as bytes.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/authFailed`` if it is wrong, or
    ///   ``KeychainError/Code/param`` if none is set.
    public func unlock(passcode: some Collection<UInt8>) throws(KeychainError) {
        let passcode = SecretBytes(copying: passcode)
        try administer { keychain throws(KeychainFailure) in
            try keychain.perform(Unlock(passcode: passcode))
        }
        AvailabilitySignal.shared.send()
    }

    /// Makes every item readable until `lock()`, or until the process that has the database open
    /// ends: this one, or the keychain service.
    ///
    /// - Parameter passcode: The passcode, as text; its bytes are UTF-8.
    /// - Throws: As `unlock(passcode:)`.
    public func unlock(passcode: String) throws(KeychainError) {
        try unlock(passcode: passcode.utf8)
    }

    /// Forgets the keys of all items that are readable while unlocked only, in the process that has
    /// the database open: this one, or the keychain service.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/param`` if no passcode is set:
    ///   there is nothing to unlock it with.
    public func lock() throws(KeychainError) {
        try administer { keychain throws(KeychainFailure) in try keychain.perform(Lock()) }
    }

    /// Sets the first passcode. The database stays unlocked.
    ///
    /// From then on, a process that opens the database needs the passcode to read its items, and
    /// without a recovery code no one can recover a forgotten one. All keys are made anew, and each
    /// item is sealed again: a copy of the folder from before gives what was in it, and nothing that
    /// comes later. Other processes that have the database open are locked. A recovery code from
    /// before ends.
    ///
    /// - Parameters:
    ///   - passcode: The passcode: 12 characters or five words at the least.
    ///   - allowsWeak: Whether a shorter one will do, of 1 byte and up.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/param`` if one is set already
    ///   or this one is too short.
    public func setPasscode(
        _ passcode: some Collection<UInt8>, allowsWeak: Bool = false
    ) throws(KeychainError) {
        let passcode = SecretBytes(copying: passcode)
        try administer { keychain throws(KeychainFailure) in
            try keychain.perform(SetPasscode(passcode, allowsWeak: allowsWeak))
        }
    }

    /// Sets the first passcode. The database stays unlocked.
    ///
    /// - Parameters:
    ///   - passcode: The passcode, as text; its bytes are UTF-8.
    ///   - allowsWeak: Whether one of fewer than 12 characters and five words will do.
    /// - Throws: As the form for bytes.
    public func setPasscode(
        _ passcode: String, allowsWeak: Bool = false
    ) throws(KeychainError) {
        try setPasscode(passcode.utf8, allowsWeak: allowsWeak)
    }

    /// Replaces the passcode. The items are not written again.
    ///
    /// - Parameters:
    ///   - old: The present passcode.
    ///   - new: The one to take its place: 12 characters or five words at the least.
    ///   - allowsWeak: Whether a shorter one will do, of 1 byte and up.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/authFailed`` if `old` is wrong,
    ///   ``KeychainError/Code/param`` if `new` is too short; nothing was changed then.
    public func changePasscode(
        from old: some Collection<UInt8>, to new: some Collection<UInt8>,
        allowsWeak: Bool = false
    ) throws(KeychainError) {
        let old = SecretBytes(copying: old)
        let new = SecretBytes(copying: new)
        try administer { keychain throws(KeychainFailure) in
            try keychain.perform(ChangePasscode(from: old, to: new, allowsWeak: allowsWeak))
        }
    }

    /// Replaces the passcode. The items are not written again.
    ///
    /// - Parameters:
    ///   - old: The present passcode, as text; its bytes are UTF-8.
    ///   - new: The one to take its place.
    ///   - allowsWeak: Whether one of fewer than 12 characters and five words will do.
    /// - Throws: As the form for bytes.
    public func changePasscode(
        from old: String, to new: String, allowsWeak: Bool = false
    ) throws(KeychainError) {
        try changePasscode(from: old.utf8, to: new.utf8, allowsWeak: allowsWeak)
    }

    /// Removes the passcode, and with it, for good, all items with accessibility
    /// ``Keychain/Accessibility/whenPasscodeSetThisDeviceOnly``.
    ///
    /// - Parameter passcode: The present passcode.
    /// - Returns: How many items went.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/authFailed`` if it is wrong;
    ///   nothing was changed then.
    @discardableResult
    public func removePasscode(_ passcode: some Collection<UInt8>) throws(KeychainError) -> Int {
        let passcode = SecretBytes(copying: passcode)
        let count = try administer { keychain throws(KeychainFailure) in
            try keychain.perform(RemovePasscode(passcode))
        }
        AvailabilitySignal.shared.send()
        return count
    }

    /// Removes the passcode, and with it, for good, all items with accessibility
    /// ``Keychain/Accessibility/whenPasscodeSetThisDeviceOnly``.
    ///
    /// - Parameter passcode: The present passcode, as text; its bytes are UTF-8.
    /// - Returns: How many items went.
    /// - Throws: As `removePasscode(_:)`.
    @discardableResult
    public func removePasscode(_ passcode: String) throws(KeychainError) -> Int {
        try removePasscode(passcode.utf8)
    }
}

// MARK: Asynchronous forms

extension KeychainDatabase {
    /// Makes every item readable, without blocking the caller.
    ///
    /// - Parameter passcode: The passcode, as bytes.
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func unlock(passcode: some Collection<UInt8> & Sendable) async throws {
        try await BlockingPool.shared.run { try unlock(passcode: passcode) }
    }

    /// Makes every item readable, without blocking the caller.
    ///
    /// - Parameter passcode: The passcode, as text; its bytes are UTF-8.
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func unlock(passcode: String) async throws {
        try await BlockingPool.shared.run { try unlock(passcode: passcode) }
    }

    /// Forgets the keys of all items that are readable while unlocked only, without blocking the
    /// caller.
    ///
    /// - Throws: As the synchronous form, or `CancellationError` if nothing was done.
    public func lock() async throws {
        try await BlockingPool.shared.run { try lock() }
    }
}

#endif
