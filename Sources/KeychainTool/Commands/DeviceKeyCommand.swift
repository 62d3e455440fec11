// DeviceKeyCommand: seals the device key with the machine's hardware, or puts it back into its file
// in plaintext.

import ArgumentParser
import KeychainEngine
import KeychainCore

struct DeviceKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-key",
        abstract: "Seals the device key with hardware, or puts it back into its file.",
        subcommands: [Seal.self, Unseal.self])

    struct Seal: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "seal",
            abstract: "Seals the device key with the machine's TPM.",
            discussion: """
                The keychain then opens only on this machine, and every process that opens it \
                needs the TPM. All keys are replaced, as by `keychainctl rotate`: with an earlier \
                copy of the folder, the items in that copy can still be opened, but nothing stored \
                later. If the TPM breaks or is cleared, the keychain is lost. To make a copy that \
                doesn't need the TPM, first run `keychainctl device-key unseal`.
                """)

        @Flag(help: "Confirms without asking that the keychain will depend on the TPM.")
        var yes = false

        @OptionGroup var way: WayInOptions

        func run() throws {
            let files = try DeviceKeyCommand.files()
            defer { files.close() }
            guard try files.engine.deviceKeyProtection() != .hardware else {
                throw ControlFailure(.exists, "The device key is already sealed.")
            }
            if !yes {
                try Confirmation.require(
                    "Without this TPM the keychain will not open.",
                    phrase: "seal", noPrompt: false)
            }
            let proof = try way.read(hasPasscode: files.engine.hasPasscodeSlot)
            let ended = try RotateCommand.showingProgress { progress throws(KeychainFailure) in
                try files.engine.sealDeviceKey(provedBy: proof, progress: progress)
            }
            try Output.print(
                RotateCommand.text(
                    "The device key was replaced and sealed. Earlier copies can't open anything "
                        + "stored from now on.",
                    ended
                )
            )
        }
    }

    struct Unseal: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "unseal",
            abstract: "Puts the device key back into its file, unencrypted.",
            discussion: "The keychain can then be opened without the TPM, except for items of this "
                + "device only that are bound to the TPM.")

        func run() throws {
            let files = try DeviceKeyCommand.files()
            defer { files.close() }
            guard try files.engine.deviceKeyProtection() == .hardware else {
                throw ControlFailure(
                    .notFound,
                    "The device key is not sealed: its file already contains it unencrypted.")
            }
            try files.engine.unsealDeviceKey()
            try Output.print("The device key is in its file, readable only by this user.")
        }
    }

    private static func files() throws -> FileSession {
        guard let files = try FileSession(existing: PasscodeSource(mayAsk: false)) else {
            throw ControlFailure(
                .notFound,
                "There is no keychain yet. Saving the first item "
                    + "creates it.")
        }
        return files
    }
}
