// PasscodeCommand: sets, changes and removes the passcode of a keychain.

import ArgumentParser
import KeychainCrypto
import KeychainEngine
import KeychainCore

struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Sets, changes or removes the passcode of the keychain.",
        subcommands: [Set.self, Change.self, Remove.self])

    struct NewPasscodeOptions: ParsableArguments {
        @Option(
            name: .customLong("fd"),
            help: ArgumentHelp(
                "Reads the new passcode from this file descriptor. One newline at its end is "
                    + "removed.",
                valueName: "number"))
        var descriptor: Int32?

        @Flag(help: "Accepts a passcode with fewer than 12 characters and fewer than five words.")
        var weak = false

        /// - Throws: ``KeychainFailure`` if the passcode is weaker than the policy allows, and
        ///   ``ControlFailure`` if none can be read.
        func read() throws -> SecretBytes {
            let passcode = try readAny()
            try (weak ? PasscodePolicy.weak : .floor).check(passcode)
            return passcode
        }

        private func readAny() throws -> SecretBytes {
            if let descriptor { return try SecretInput.passcode(from: descriptor) }
            guard let terminal = Terminal() else {
                throw ControlFailure(
                    .failure,
                    "There is no terminal for a prompt. Provide the new passcode with "
                        + "--fd.")
            }
            return try SecretInput.new("New passcode", at: terminal)
        }
    }

    struct OldPasscodeOptions: ParsableArguments {
        @Option(
            name: .customLong("passcode-fd"),
            help: ArgumentHelp(
                "Reads the current passcode from this file descriptor.", valueName: "number"))
        var descriptor: Int32?

        func read() throws -> SecretBytes {
            if let descriptor { return try SecretInput.passcode(from: descriptor) }
            guard let terminal = Terminal() else {
                throw ControlFailure(
                    .locked,
                    "There is no terminal for a prompt. Provide the current passcode with "
                        + "--passcode-fd.")
            }
            guard let passcode = terminal.askHidden("Current passcode: ") else {
                throw ControlFailure(.locked, "No passcode was entered. Nothing was changed.")
            }
            return passcode
        }
    }

    struct Set: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Sets the first passcode.",
            discussion: """
                From then on, the passcode must be provided before items can be read, except those \
                of the classes always and always-this-device-only: once to the service for all \
                programs or, without a service, to each process. Without the passcode, only a \
                recovery code or a credential opens the items: add one with `keychainctl slot \
                add`. The passcode must have at least 12 characters or five words, unless --weak \
                is given.
                """)

        @OptionGroup var new: NewPasscodeOptions

        func run() throws {
            let session = try KeychainSession(making: PasscodeSource())
            defer { session.close() }
            guard try !session.isLockable else {
                throw ControlFailure(
                    .exists,
                    try session.hasPasscode
                        ? "A passcode is already set. `keychainctl passcode change` replaces it."
                        : PasscodeCommand.onlyOtherWayText)
            }
            let request = SetPasscode(try new.read(), allowsWeak: new.weak)
            let ended = try RotateCommand.showingProgress { progress throws(KeychainFailure) in
                try session.keychain.stream(request, progress: progress)
            }
            KeychainPlace.tellOfDamagedFolders()
            guard !ended.isEmpty else { return }
            try Output.print(RotateCommand.text("The passcode was set.", ended))
        }
    }

    struct Change: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Replaces the passcode. Items are not changed.",
            discussion: "With --recovery-code or --credential, a forgotten passcode can be "
                + "replaced.")

        @OptionGroup var old: WayInOptions
        @OptionGroup var new: NewPasscodeOptions

        mutating func validate() throws {
            try InputOption.requireDistinct([
                InputOption("--fd", new.descriptor), InputOption("--passcode-fd", old.descriptor),
                InputOption("--recovery-code-fd", old.recoveryCodeFd),
            ])
        }

        func run() throws {
            let session = try PasscodeCommand.sessionWithPasscode(orOtherWay: old.isOther)
            defer { session.close() }
            guard let present = try old.read(hasPasscode: true) else { return }
            // Verify the current way in before prompting for the new passcode.
            if new.descriptor == nil { try session.keychain.perform(UnlockWith(present)) }
            try session.keychain.perform(
                ChangeSlots(
                    .add(.passcode(new.read())), provedBy: present, allowsWeak: new.weak))
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes the passcode, and with it all items that exist only while one is "
                + "set.",
            discussion: """
                Items of the class when-passcode-set-this-device-only are deleted permanently; \
                unless --yes is given, their number is shown first. Credentials are removed, too. \
                A recovery code then opens at most the items that are bound to this machine.
                """)

        @OptionGroup var old: OldPasscodeOptions

        @Flag(help: "Confirms the deletion of items without asking.")
        var yes = false

        func run() throws {
            let session = try PasscodeCommand.sessionWithPasscode()
            defer { session.close() }
            let present = try old.read()
            try session.keychain.perform(Unlock(passcode: present))
            let count = try session.find(
                ItemClass.allCases.map {
                    ItemQuery(
                        itemClass: $0, protection: .whenPasscodeSetThisDeviceOnly,
                        isSynchronizable: nil)
                }
            ).count
            if count > 0, !yes {
                try Confirmation.require(
                    "\(counted(count, "item")) of class when-passcode-set-this-device-only will be "
                        + "deleted permanently.",
                    phrase: "remove", noPrompt: false)
            }
            let gone = try session.keychain.perform(RemovePasscode(present))
            try Output.print("The passcode was removed. Deleted \(counted(gone, "item")).")
        }
    }

    private static let onlyOtherWayText =
        "No passcode is set, but a credential or a recovery code is. `keychainctl passcode change` "
        + "with --credential or --recovery-code sets a passcode."

    /// Opens the keychain. `isOtherEnough`: whether a credential or a recovery code will be given
    /// instead of the passcode.
    /// - Throws: ``ControlFailure``, before the user is prompted, if there is no keychain or if it
    ///   has no way in, or if no passcode is set and `isOtherEnough` is `false`.
    private static func sessionWithPasscode(
        orOtherWay isOtherEnough: Bool = false
    ) throws -> KeychainSession {
        guard let session = try KeychainSession(existing: PasscodeSource()), try session.isLockable
        else {
            throw ControlFailure(
                .notFound, "No passcode is set. `keychainctl passcode set` sets one.")
        }
        guard try isOtherEnough || session.hasPasscode else {
            throw ControlFailure(.notFound, onlyOtherWayText)
        }
        return session
    }
}
