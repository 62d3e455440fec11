// LockCommand: locks and unlocks the keychain of a service, for all programs at once.

import ArgumentParser
import KeychainEngine
import KeychainCore

struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Locks the keychain of the service, for every program.",
        discussion: """
            The service forgets the keys of all items that are readable while unlocked only, and \
            it says which items stay readable. With --all those of the after-first-unlock classes \
            are locked too, as before the first unlock. It needs a passcode. Without a service \
            every process has a lock of its own, and there is nothing to lock.
            """)

    @Flag(help: "Locks what stays readable after the first unlock, too.")
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
            "Locked. Still readable: items of class \(names). `keychainctl lock --all` locks those "
            + "of after-first-unlock classes."
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
            The passcode is asked for at the terminal, or read with --passcode-fd; in its place \
            the recovery code or a credential is taken where that is asked for. It stays \
            unlocked until `keychainctl lock`, or as long as the service was told to keep it.
            """)

    @OptionGroup var way: WayInOptions

    @Flag(help: "Never asks at the terminal.")
    var noPrompt = false

    func run() throws {
        let session = try KeychainSession(
            ofService: PasscodeSource(descriptor: way.descriptor, mayAsk: !noPrompt))
        guard try session.hasPasscode else {
            throw ControlFailure(
                .notFound, "No passcode is set, so the keychain is never locked.")
        }
        if way.isOther, let other = try way.read(hasPasscode: true) {
            try session.keychain.perform(UnlockWith(other))
            return
        }
        guard try session.unlock() else {
            throw ControlFailure(
                .locked,
                "There is no terminal to ask at. Give the passcode with --passcode-fd.")
        }
    }
}
