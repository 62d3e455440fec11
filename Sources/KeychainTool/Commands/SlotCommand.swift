// SlotCommand: lists, adds and removes the ways into the keychain.

import ArgumentParser
import KeychainCrypto
import KeychainEngine
import KeychainCore

struct SlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "slot",
        abstract: "Lists, adds and removes the ways into the keychain.",
        subcommands: [List.self, Add.self, Remove.self])

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the ways in, with their numbers.")

        @Flag(help: "Writes an array of JSON objects.")
        var json = false

        func run() throws {
            let slots = try SlotCommand.session().keychain.perform(ListSlots())
            if json {
                return try Output.print(JSON.array(slots.map(SlotCommand.json)).text)
            }
            guard !slots.isEmpty else {
                return try Output.print(
                    "There are no ways in: the keychain opens with the device key alone.")
            }
            let rows = slots.map {
                ["\($0.number)", $0.kind.name, $0.opens, timestamp($0.madeAt)]
            }
            try Output.print(table([["NUMBER", "KIND", "OPENS", "MADE"]] + rows))
        }
    }

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Adds a recovery code or a credential.",
            subcommands: [Code.self, Credential.self])

        struct Code: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "recovery-code",
                abstract: "Generates a recovery code and prints it once.",
                discussion: """
                    The code is twelve words. It replaces a forgotten passcode and, on another \
                    machine, opens the items that are bound to this one. The code makes any \
                    earlier code invalid. Write it down, and keep it away from this machine.
                    """)

            @OptionGroup var way: WayInOptions

            func run() throws {
                let session = try SlotCommand.session()
                defer { session.close() }
                let proof = try way.read(hasPasscode: session.hasPasscode)
                ProcessProtection.beginHoldingSecrets()
                let code = RecoveryCode.random()
                try session.keychain.perform(
                    ChangeSlots(.add(.recoveryCode(code.bytes)), provedBy: proof))
                try Output.print(code.words.joined(separator: " "))
            }
        }

        struct Credential: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "credential",
                abstract: "Lets a systemd credential unlock the keychain unattended.",
                discussion: """
                    A service that gets the credential keychain.unlock, or the one that \
                    KEYCHAIN_CREDENTIAL names, uses it to unlock the keychain when it opens the \
                    keychain. The credential must have at least 16 random bytes. If no passcode \
                    is set, the credential protects the keychain like a passcode.
                    """)

            @Option(
                help: ArgumentHelp(
                    "Reads the credential from this file descriptor, byte for byte. The default is "
                        + "the credential that systemd passed to this process.", valueName: "number"
                ))
            var fd: Int32?

            @OptionGroup var way: WayInOptions

            mutating func validate() throws {
                try InputOption.requireDistinct([
                    InputOption("--fd", fd), InputOption("--passcode-fd", way.descriptor),
                    InputOption("--recovery-code-fd", way.recoveryCodeFd),
                ])
            }

            func run() throws {
                let session = try SlotCommand.session()
                defer { session.close() }
                let proof = try way.read(hasPasscode: session.hasPasscode)
                let secret =
                    if let fd {
                        try SecretInput.wholeInput(of: fd, "credential")
                    } else { try WayInOptions.givenCredential(nil) }
                try session.keychain.perform(
                    ChangeSlots(.add(.credential(secret)), provedBy: proof))
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes a way in by its number. The last way in to the items that a "
                + "passcode protects can't be removed.",
            discussion: """
                `keychainctl passcode remove` removes the protection by a passcode altogether, and \
                `keychainctl unbind` the binding to the machine.
                """)

        @Argument(
            help: ArgumentHelp(
                "The number, as shown by `keychainctl slot list`.", valueName: "number"))
        var number: UInt32

        @OptionGroup var passcode: PasscodeOptions

        func run() throws {
            let session = try SlotCommand.session(passcode.source)
            defer { session.close() }
            _ = try session.unlocking { () throws(KeychainFailure) in
                try session.keychain.perform(ChangeSlots(.remove(number)))
            }
        }
    }

    static func session(_ source: PasscodeSource = PasscodeSource()) throws -> KeychainSession {
        guard let session = try KeychainSession(existing: source) else {
            throw ControlFailure(
                .notFound,
                "There is no keychain yet. Saving the first item "
                    + "creates it.")
        }
        return session
    }

    private static func json(of slot: SlotSummary) -> JSON {
        .object([
            ("number", .count(Int(slot.number))), ("kind", .string(slot.kind.name)),
            ("opensPasscode", .bool(slot.opensPasscode)),
            ("opensMachine", .bool(slot.opensMachine)),
            ("made", .string(timestamp(slot.madeAt))),
        ])
    }
}

extension SlotSummary {
    fileprivate var opens: String {
        [opensPasscode ? "what a passcode opens" : nil, opensMachine ? "this device's items" : nil]
            .compactMap { $0 }.joined(separator: ", ")
    }
}

extension SlotSummary.Kind {
    var name: String {
        switch self {
        case .passcode: "passcode"
        case .recoveryCode: "recovery-code"
        case .credential: "credential"
        case .machineIdentity: "machine"
        case .machineChip: "machine-tpm"
        case .unknown: "unknown"
        }
    }
}

// MARK: - Machine

struct BindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bind",
        abstract: "Binds the this-device-only items to this machine.",
        discussion: """
            Items of the this-device-only classes then open only on this machine: with its TPM if \
            this program uses one, otherwise with its identity, /etc/machine-id. A new keychain is \
            bound when it is created, if the machine has either. After a move to another machine, \
            or a change of the identity, --recovery-code binds the keychain to the current machine.
            """)

    @OptionGroup var way: WayInOptions

    func run() throws {
        let session = try SlotCommand.session()
        defer { session.close() }
        let proof = try way.read(hasPasscode: session.hasPasscode)
        try session.keychain.perform(ChangeSlots(.bind, provedBy: proof))
        let status = try session.keychain.perform(ReadStatus())
        try Output.print(
            "Bound. \(counted(Int(clamping: status.deviceItemCount), "item")) can be opened only on "
                + "this machine.")
        if !status.hasRecoveryCode {
            Output.report(
                "Without a recovery code, these items are lost if the machine is lost. "
                    + "`keychainctl slot add recovery-code` generates one.")
        }
    }
}

struct UnbindCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unbind",
        abstract: "Unbinds the this-device-only items from this machine.",
        discussion: """
            The items then open with the device key alone, unless a passcode is set. Unless the \
            device key is sealed, a copy of the folder can be opened on any machine.
            """)

    @OptionGroup var way: WayInOptions

    func run() throws {
        let session = try SlotCommand.session()
        defer { session.close() }
        let proof = try way.read(hasPasscode: session.hasPasscode)
        try session.keychain.perform(ChangeSlots(.unbind, provedBy: proof))
    }
}
