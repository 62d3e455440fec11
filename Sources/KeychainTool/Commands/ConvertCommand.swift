// ConvertCommand: converts a keychain of an earlier format version, with the passcode if the
// conversion requires it.

import ArgumentParser
import KeychainCore
import KeychainEngine
import KeychainRuntime

struct ConvertCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert",
        abstract: "Converts a keychain of an earlier version.",
        discussion: """
            A keychain without a passcode is converted by the first program that opens it. If a \
            passcode is set, the conversion requires it. No other program may use the keychain \
            during the conversion. Nothing is changed until the new database is complete.
            """)

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        let directory = try KeychainPlace.folder().directory
        guard try KeychainPlace.holdsKeychain(directory) else {
            throw ControlFailure(
                .notFound, "There is no keychain in \(printable(directory)) to convert.")
        }
        var given: SecretBytes?
        if try KeychainEngine.conversionNeedsPasscode(
            directory: directory, options: .ofThisMachine)
        {
            given = try passcode.source.read()
            guard given != nil else {
                throw ControlFailure(
                    .locked,
                    "Converting the keychain requires its passcode. Provide it with --passcode-fd, "
                        + "or run this command at a terminal.")
            }
        }
        let isConverted = try KeychainPlace.showingConversion { () throws(KeychainFailure) in
            try KeychainEngine.convert(
                directory: directory, passcode: given, options: .ofThisMachine)
        }
        try Output.print(
            isConverted
                ? "The keychain was converted. Earlier versions of programs can no longer open it."
                : "The keychain already has the current format version.")
    }
}
