// DeviceKeyCommand: whether the device key stands in its file, or the machine's hardware has sealed
// it.

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
                A copy of the folder that is made from then on opens on this machine alone, and every \
                process that opens the keychain needs the TPM. A TPM that breaks or is cleared \
                takes the keychain with it, unless there is a copy of `device.key` from before: \
                keep one in a safe place, off this machine.
                """)

        @Flag(help: "Confirms without asking that the keychain depends on the TPM from now on.")
        var yes = false

        func run() throws {
            let files = try DeviceKeyCommand.files()
            defer { files.close() }
            guard try files.engine.deviceKeyProtection() != .hardware else {
                throw ControlFailure(.exists, "The device key is sealed already.")
            }
            if !yes {
                try Confirmation.require(
                    "Without this TPM or a copy of device.key from before, the keychain will not "
                        + "open.",
                    phrase: "seal", noPrompt: false)
            }
            try files.engine.sealDeviceKey()
            try Output.print("The device key is sealed. Its earlier file may still be on the disk.")
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
