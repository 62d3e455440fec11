// LockCommand: locks and unlocks the keychain of a service, for all programs at once.

import ArgumentParser
import KeychainEngine
import KeychainModel

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Locks the keychain of the service, for every program.",
        discussion: """
            The service forgets the keys of all items that are readable while unlocked only. It \
            needs a passcode. Without a service every process has a lock of its own, and there is \
            nothing to lock.
            """)

    func run() throws {
        try Session(ofService: PasscodeSource()).keychain.lock()
    }
}

struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlocks the keychain of the service, for every program.",
        discussion: """
            The passcode is asked for at the terminal, or read with --passcode-fd. It stays \
            unlocked until `keychainctl lock`, or as long as the service was told to keep it.
            """)

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        let session = try Session(ofService: passcode.source)
        guard try session.hasPasscode else {
            throw ControlFailure(
                .notFound, "No passcode is set, so the keychain is never locked.")
        }
        guard try session.unlock() else {
            throw ControlFailure(
                .locked,
                "There is no terminal to ask at. Give the passcode with --passcode-fd.")
        }
    }
}
