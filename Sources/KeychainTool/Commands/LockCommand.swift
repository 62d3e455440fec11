// LockCommand: locks and unlocks the keychain of a service, for all programs at once.

import ArgumentParser
import KeychainEngine
import KeychainCore

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Locks the keychain of the service, for every program.",
        discussion: """
            The service erases the keys of all items that are readable only while unlocked. The \
            classes whose items stay readable are shown. With --all, the after-first-unlock \
            classes are locked too, as before the first unlock. Locking requires a passcode or \
            another way to unlock the keychain. Without a service, each process unlocks \
            separately, and there is nothing to lock.
            """)

    @Flag(help: "Also locks items that are readable after the first unlock.")
    var all = false

    func run() throws {
        let keychain = try KeychainSession(ofService: PasscodeSource()).keychain
        if all { try keychain.perform(LockAll()) } else { try keychain.perform(Lock()) }
        try Output.print(Self.text(of: try keychain.perform(ReadStatus()).lockState))
    }

    /// The text that says which classes are still readable.
    private static func text(of state: LockState) -> String {
        let open = ProtectionClass.allCases.filter { isReadable($0, in: state) }
        let names = open.map(\.commandLineName).joined(separator: ", ")
        guard state == .locked else { return "Locked. Still readable: items of class \(names)." }
        return
            "Locked. Still readable: items of class \(names). `keychainctl lock --all` also locks "
            + "those of the after-first-unlock classes."
    }

    private static func isReadable(_ protection: ProtectionClass, in state: LockState) -> Bool {
        switch protection.availability {
        case .always: true
        case .afterFirstUnlock: state != .beforeFirstUnlock
        case .whileUnlocked: state == .unlocked
        }
    }
}

struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlocks the keychain of the service, for every program.",
        discussion: """
            The passcode is asked for at the terminal or read with --passcode-fd; a recovery code \
            or a credential can be used instead. The keychain stays unlocked until `keychainctl \
            lock` or the signal SIGUSR1 locks it, until the service ends, or until it has not \
            been used for the time that `keychaind --lock-after` sets.
            """)

    @OptionGroup var way: WayInOptions

    @Flag(help: "Never prompts at the terminal.")
    var noPrompt = false

    func run() throws {
        let session = try KeychainSession(
            ofService: PasscodeSource(descriptor: way.descriptor, mayAsk: !noPrompt))
        guard try session.isLockable else {
            throw ControlFailure(
                .notFound,
                "Neither a passcode nor a credential is set, so the keychain is never locked.")
        }
        if way.isOther, let other = try way.read(hasPasscode: true, mayAsk: !noPrompt) {
            try session.keychain.perform(UnlockWith(other))
            return
        }
        guard try session.hasPasscode else {
            throw ControlFailure(
                .notFound,
                "No passcode is set. Unlock the keychain with --credential or --recovery-code.")
        }
        guard try session.unlock() else {
            throw ControlFailure(
                .locked,
                "No passcode was entered. Provide it with --passcode-fd, or run this command at a "
                    + "terminal.")
        }
    }
}
