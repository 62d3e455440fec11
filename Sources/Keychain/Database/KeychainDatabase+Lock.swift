// KeychainDatabase+Lock: locks and unlocks a database, and sets and changes its passcode.
//   (1) A passcode is copied to memory that is locked in RAM, if the system permits it, and zeroed
//       after use. Erasing the caller's copy is up to the caller; a `String` can't be erased.
//   (2) Locking and unlocking apply to the process that has the database open. This is either the
//       current process or the keychain service, in which case they apply to all programs that use
//       the service.

#if !canImport(Darwin)

import KeychainCrypto
import KeychainEngine
import KeychainCore

extension KeychainDatabase {
    /// Unlocks the database.
    ///
    /// Items of every accessibility can then be read until the database is locked, until another
    /// process replaces its keys, or until the process that opened it ends. That process is the
    /// current one or the keychain service. Items that are bound to another machine stay
    /// unreadable.
    ///
    /// Unlocking takes a noticeable part of a second, because passcodes are deliberately slow to
    /// test.
    ///
    /// - Parameter passcode: The bytes of the passcode.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/authFailed`` if the passcode is
    ///   wrong, ``KeychainError/Code/param`` if none is set, or any other status of the keychain.
    public func unlock(passcode: some Collection<UInt8>) throws(KeychainError) {
        let passcode = SecretBytes(copying: passcode)
        try administer { keychain throws(KeychainFailure) in
            try keychain.perform(Unlock(passcode: passcode))
        }
        AvailabilitySignal.shared.send()
    }

    /// Unlocks the database.
    ///
    /// For the consequences, see the form that takes bytes.
    ///
    /// - Parameter passcode: The passcode, which is encoded as UTF-8.
    /// - Throws: The errors of the form that takes bytes.
    public func unlock(passcode: String) throws(KeychainError) {
        try unlock(passcode: passcode.utf8)
    }

    /// Locks the database.
    ///
    /// The process that has the database open erases from its memory the keys of all items that can
    /// be read only while the database is unlocked. That process is the current one or the keychain
    /// service.
    ///
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/param`` if neither a passcode nor
    ///   another way to unlock the database is set, because a lock would then have no effect.
    public func lock() throws(KeychainError) {
        try administer { keychain throws(KeychainFailure) in try keychain.perform(Lock()) }
    }

    /// Sets a passcode on a database that has neither a passcode nor another way to unlock it. The
    /// database stays unlocked.
    ///
    /// From then on, a process that opens the database needs the passcode to read the items, other
    /// than those that are always accessible. If the passcode is forgotten, the items can be read
    /// only with a recovery code that was created after the passcode was set, or with the
    /// credential with which a keychain service unlocks the database without a user.
    ///
    /// All keys are replaced and all items are encrypted again, so an earlier copy of the folder
    /// gives access to the items in it, but to nothing that is written later. Other processes that
    /// have the database open find it locked. An existing recovery code becomes invalid.
    ///
    /// - Parameters:
    ///   - passcode: The passcode, of at least 12 characters or five words.
    ///   - allowsWeak: Pass `true` to accept a shorter passcode, of at least 1 byte.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/param`` if a passcode or another
    ///   way to unlock the database is already set, or if `passcode` is too short; or with any
    ///   other status of the keychain, for example if an item is damaged.
    public func setPasscode(
        _ passcode: some Collection<UInt8>, allowsWeak: Bool = false
    ) throws(KeychainError) {
        let passcode = SecretBytes(copying: passcode)
        try administer { keychain throws(KeychainFailure) in
            try keychain.perform(SetPasscode(passcode, allowsWeak: allowsWeak))
        }
    }

    /// Sets a passcode on a database that has neither a passcode nor another way to unlock it. For
    /// the consequences, see the form that takes bytes.
    ///
    /// - Parameters:
    ///   - passcode: The passcode, which is encoded as UTF-8.
    ///   - allowsWeak: Pass `true` to accept a passcode with fewer than 12 characters and fewer
    ///     than five words.
    /// - Throws: The errors of the form that takes bytes.
    public func setPasscode(
        _ passcode: String, allowsWeak: Bool = false
    ) throws(KeychainError) {
        try setPasscode(passcode.utf8, allowsWeak: allowsWeak)
    }

    /// Changes the passcode. The items are not encrypted again.
    ///
    /// - Parameters:
    ///   - old: The current passcode.
    ///   - new: The new passcode, of at least 12 characters or five words.
    ///   - allowsWeak: Pass `true` to accept a shorter passcode, of at least 1 byte.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/authFailed`` if `old` is wrong,
    ///   or ``KeychainError/Code/param`` if no passcode is set or `new` is too short. In these
    ///   cases, nothing is changed.
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

    /// Changes the passcode. The items are not encrypted again.
    ///
    /// - Parameters:
    ///   - old: The current passcode, which is encoded as UTF-8.
    ///   - new: The new passcode, which is encoded as UTF-8.
    ///   - allowsWeak: Pass `true` to accept a passcode with fewer than 12 characters and fewer
    ///     than five words.
    /// - Throws: The errors of the form that takes bytes.
    public func changePasscode(
        from old: String, to new: String, allowsWeak: Bool = false
    ) throws(KeychainError) {
        try changePasscode(from: old.utf8, to: new.utf8, allowsWeak: allowsWeak)
    }

    /// Removes the passcode and every other way to unlock the database, which is then always
    /// unlocked, and permanently deletes all items with accessibility
    /// ``Keychain/Accessibility/whenPasscodeSetThisDeviceOnly``. Damaged ones are set aside.
    ///
    /// - Parameter passcode: The current passcode.
    /// - Returns: The number of deleted items.
    /// - Throws: ``KeychainError`` with code ``KeychainError/Code/authFailed`` if the passcode is
    ///   wrong, ``KeychainError/Code/param`` if none is set, or
    ///   ``KeychainError/Code/notAvailable`` if the keychain is bound to another machine. In all
    ///   these cases, nothing is changed.
    @discardableResult
    public func removePasscode(_ passcode: some Collection<UInt8>) throws(KeychainError) -> Int {
        let passcode = SecretBytes(copying: passcode)
        let count = try administer { keychain throws(KeychainFailure) in
            try keychain.perform(RemovePasscode(passcode))
        }
        AvailabilitySignal.shared.send()
        return count
    }

    /// Removes the passcode and every other way to unlock the database, which is then always
    /// unlocked, and permanently deletes all items with accessibility
    /// ``Keychain/Accessibility/whenPasscodeSetThisDeviceOnly``. Damaged ones are set aside.
    ///
    /// - Parameter passcode: The current passcode, which is encoded as UTF-8.
    /// - Returns: The number of deleted items.
    /// - Throws: The errors of the form that takes bytes.
    @discardableResult
    public func removePasscode(_ passcode: String) throws(KeychainError) -> Int {
        try removePasscode(passcode.utf8)
    }
}

// MARK: Asynchronous forms

extension KeychainDatabase {
    /// Unlocks the database, without blocking the caller.
    ///
    /// - Parameter passcode: The bytes of the passcode.
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func unlock(passcode: some Collection<UInt8> & Sendable) async throws {
        try await BlockingPool.shared.run { try unlock(passcode: passcode) }
    }

    /// Unlocks the database, without blocking the caller.
    ///
    /// - Parameter passcode: The passcode, which is encoded as UTF-8.
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func unlock(passcode: String) async throws {
        try await BlockingPool.shared.run { try unlock(passcode: passcode) }
    }

    /// Locks the database, without blocking the caller.
    ///
    /// - Throws: The errors of the synchronous form, or `CancellationError` if the task was
    ///   canceled before the operation began.
    public func lock() async throws {
        try await BlockingPool.shared.run { try lock() }
    }
}

#endif
