// DeviceKeyCommand: seals the device key with the machine's hardware, or puts it back into its file
// in plaintext.

import ArgumentParser
import KeychainEngine
import KeychainCore

struct DeviceKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device-key",
        abstract: "Has hardware seal the device key, or puts it back into its file.",
        subcommands: [Seal.self, Unseal.self])

    struct Seal: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has the machine's TPM seal the device key.",
            discussion: """
                The keychain opens on this machine alone then, and every process that opens it needs \
                the TPM. All keys are made anew, as by `keychainctl rotate`: a copy of the folder \
                from before opens what it holds and nothing that comes later. A TPM that breaks \
                or is cleared takes the keychain with it: `keychainctl device-key unseal` before \
                making a backup that doesn't need it.
                """)

        @Flag(help: "Confirms without asking that the keychain depends on the TPM from now on.")
        var yes = false

        @OptionGroup var way: WayInOptions

        func run() throws {
            let files = try DeviceKeyCommand.files()
            defer { files.close() }
            guard try files.engine.deviceKeyProtection() != .hardware else {
                throw ControlFailure(.exists, "The device key is sealed already.")
            }
            if !yes {
                try Confirmation.require(
                    "Without this TPM the keychain will not open.",
                    phrase: "seal", noPrompt: false)
            }
            let proof = try way.read(hasPasscode: files.engine.hasPasscode)
            let ended = try RotateCommand.showingProgress { progress throws(KeychainFailure) in
                try files.engine.sealDeviceKey(provedBy: proof, progress: progress)
            }
            try Output.print(
                RotateCommand.text(
                    "The device key is a new one, sealed. An earlier copy opens nothing that comes later.",
                    ended
                )
            )
        }
    }

    struct Unseal: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Puts the device key into its file in the clear again.",
            discussion: "The keychain can be opened without the TPM then.")

        func run() throws {
            let files = try DeviceKeyCommand.files()
            defer { files.close() }
            guard try files.engine.deviceKeyProtection() == .hardware else {
                throw ControlFailure(
                    .notFound,
                    "The device key isn't sealed, so it is in its file already.")
            }
            try files.engine.unsealDeviceKey()
            try Output.print("The device key is in its file, readable for this user.")
        }
    }

    private static func files() throws -> FileSession {
        guard let files = try FileSession(existing: PasscodeSource(mayAsk: false)) else {
            throw ControlFailure(.notFound, "There is no keychain yet. The first item makes one.")
        }
        return files
    }
}
