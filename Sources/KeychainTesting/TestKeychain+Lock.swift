// The lock and the passcode of a test keychain.
//   (1) A passcode here is checked as everywhere, and is made to cost nearly nothing to try.

#if !canImport(Darwin)

public import Keychain
import KeychainEngine
import KeychainCore
import Synchronization

extension TestKeychain {
    /// The passcode that ``lock()`` sets where there is none.
    public static let defaultPasscode = "passcode"

    /// What can be read at present.
    ///
    /// - Throws: `KeychainError` if the keychain could not be made.
    public var lockState: KeychainDatabase.LockState {
        get throws(KeychainError) { try database.status().lockState }
    }

    /// Sets or changes the passcode. The keychain is unlocked afterwards.
    ///
    /// - Parameter passcode: The passcode, 1 byte and up. It is kept, for ``unlock()``.
    /// - Throws: `KeychainError` with code `param` if it is empty, or `authFailed` if the passcode
    ///   was changed by ``database``, behind the back of this object. Nothing is changed then.
    public func setPasscode(_ passcode: String) throws(KeychainError) {
        if try hasPasscode {
            try database.changePasscode(from: knownPasscode, to: passcode)
        } else {
            try database.setPasscode(passcode)
        }
        state.withLock { $0.passcode = passcode }
    }

    /// Removes the passcode, and with it the items that exist only while one is set.
    ///
    /// - Returns: How many items went.
    /// - Throws: `KeychainError` with code `param` if none is set, or `authFailed` if it was
    ///   changed by ``database``. Nothing is changed then.
    @discardableResult
    public func removePasscode() throws(KeychainError) -> Int {
        let count = try database.removePasscode(knownPasscode)
        state.withLock { $0.passcode = nil }
        return count
    }

    /// Locks the keychain, as a person does by the button: items that are readable while
    /// unlocked only aren't any more.
    ///
    /// A keychain can be locked only where something unlocks it. So where there is no passcode,
    /// this sets ``defaultPasscode`` first; items that exist only while a passcode is set can be
    /// added from then on. Before the first unlock it stays there.
    ///
    /// - Throws: `KeychainError` if the keychain could not be made.
    public func lock() throws(KeychainError) {
        if try !hasPasscode { try setPasscode(Self.defaultPasscode) }
        try database.lock()
    }

    /// Unlocks the keychain with its passcode. Without one there is nothing to do.
    ///
    /// - Throws: `KeychainError` with code `authFailed` if the passcode was changed by
    ///   ``database``: unlock it there.
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

    /// A wrong one where `database` was used to set it, which says so when it is tried.
    private var knownPasscode: String { state.withLock { $0.passcode } ?? Self.defaultPasscode }
}

#endif
