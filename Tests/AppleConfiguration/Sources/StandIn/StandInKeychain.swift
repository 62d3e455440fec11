// StandInKeychain: the system's keychain, as far as tests need it: this repository's own in memory. This
// module is built for Linux, and nothing of its own leaves it, so that those built for Apple's platforms
// can use it.

import KeychainTesting

/// A keychain behind the functions of `Security`, for one test.
public struct StandInKeychain: Sendable {
    /// Runs code in which the functions use this keychain.
    public let run: @Sendable (() -> Void) -> Void
    /// Sets a passcode where there is none, and locks.
    public let lock: @Sendable () throws -> Void
    /// Unlocks.
    public let unlock: @Sendable () throws -> Void
    /// Has its owner in front of it, who knows the passcode, or no person.
    public let setOwnerIsPresent: @Sendable (Bool) -> Void
    /// Has a Secure Enclave or none.
    public let setSecureEnclave: @Sendable (Bool) -> Void

    /// An empty keychain. The program has the access groups, the one for new items first.
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
