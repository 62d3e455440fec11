// StandInKeychain: this repository's keychain in memory, which stands in for the system's keychain
// as far as the tests need it. This module is built for Linux. Its interface contains no types of
// other modules, so that the modules built for Apple's platforms can use it.

import KeychainTesting

/// A keychain behind the functions of `Security`, for one test.
public struct StandInKeychain: Sendable {
    /// Runs code. While it runs, the functions of `Security` use this keychain.
    public let run: @Sendable (() -> Void) -> Void
    /// Sets a passcode if there is none, and locks the keychain.
    public let lock: @Sendable () throws -> Void
    /// Unlocks the keychain.
    public let unlock: @Sendable () throws -> Void
    /// Simulates that the owner, who knows the passcode, is present (`true`) or that no user is
    /// present (`false`).
    public let setOwnerIsPresent: @Sendable (Bool) -> Void
    /// Simulates a Secure Enclave, or none.
    public let setSecureEnclave: @Sendable (Bool) -> Void

    /// Creates an empty keychain. The program may use the `accessGroups`; the first one is for new
    /// items.
    public init(accessGroups: [String] = ["default"]) {
        let keychain = TestKeychain()
        keychain.accessGroups = accessGroups
        run = { keychain.withSecItem($0) }
        lock = { try keychain.lock() }
        unlock = { try keychain.unlock() }
        setOwnerIsPresent = { keychain.person = $0 ? .owner : nil }
        setSecureEnclave = { keychain.hasSecureEnclave = $0 }
    }
}
