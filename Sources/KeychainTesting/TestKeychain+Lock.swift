// TestKeychain+Lock: the lock and the passcode of a test keychain.
//   (1) Passcodes are verified as in every keychain, except that key derivation costs almost
//       nothing.

#if !canImport(Darwin)

public import Keychain
import KeychainEngine
import KeychainCore
import Synchronization

extension TestKeychain {
    /// The passcode that ``lock()`` sets if there is none.
    public static let defaultPasscode = "passcode"

    /// The lock state of the keychain.
    ///
    /// - Throws: `KeychainError` if the keychain could not be created.
    public var lockState: KeychainDatabase.LockState {
        get throws(KeychainError) { try database.status().lockState }
    }

    /// Sets or changes the passcode. The keychain is unlocked afterwards.
    ///
    /// - Parameter passcode: The passcode, of at least 1 byte. It is remembered for ``unlock()``.
    /// - Throws: `KeychainError` with code `param` if the passcode is empty, or `authFailed` if the
    ///   current passcode was set through ``database`` and is therefore unknown to this object.
    ///   In both cases, nothing is changed.
    public func setPasscode(_ passcode: String) throws(KeychainError) {
        if try hasPasscode {
            try database.changePasscode(from: knownPasscode, to: passcode)
        } else {
            try database.setPasscode(passcode)
        }
        state.withLock { $0.passcode = passcode }
    }

    /// Removes the passcode, and deletes the items that exist only while one is set.
    ///
    /// - Returns: The number of deleted items.
    /// - Throws: `KeychainError` with code `param` if no passcode is set, or `authFailed` if it was
    ///   set through ``database``. In both cases, nothing is changed.
    @discardableResult
    public func removePasscode() throws(KeychainError) -> Int {
        let count = try database.removePasscode(knownPasscode)
        state.withLock { $0.passcode = nil }
        return count
    }

    /// Locks the keychain, as a user does with the lock button. Items that are accessible only
    /// while unlocked can then no longer be read.
    ///
    /// A keychain without a passcode can't be locked, because nothing could unlock it. If there is
    /// no passcode, this method therefore sets ``defaultPasscode`` first, and items that exist only
    /// while a passcode is set can be added from then on. If the keychain is in the state before
    /// the first unlock, it stays in that state.
    ///
    /// - Throws: `KeychainError` if the keychain could not be created.
    public func lock() throws(KeychainError) {
        if try !hasPasscode { try setPasscode(Self.defaultPasscode) }
        try database.lock()
    }

    /// Unlocks the keychain with its passcode. Without a passcode, this method has no effect.
    ///
    /// - Throws: `KeychainError` with code `authFailed` if the passcode was set through
    ///   ``database``. In that case, unlock the keychain through ``database``.
    public func unlock() throws(KeychainError) {
        if try hasPasscode { try database.unlock(passcode: knownPasscode) }
    }

    private var hasPasscode: Bool {
        get throws(KeychainError) {
            try database.administer { keychain throws(KeychainFailure) in
                try keychain.perform(HasPasscode())
            }
        }
    }

    /// The passcode that this object remembers. It is wrong if the passcode was set through
    /// `database`, and using it then fails.
    private var knownPasscode: String { state.withLock { $0.passcode } ?? Self.defaultPasscode }
}

#endif
