// InfoCommand: shows all attributes of one item, without its secret.

import ArgumentParser
import KeychainCore

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info",
        abstract: "Shows all attributes of one item, without opening its secret.")

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Writes a JSON object.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    mutating func validate() throws {
        try selection.requireNarrowed()
    }

    func run() throws {
        guard let session = try KeychainSession(existing: passcode.source) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.closeIfLogIsLong() }
        let item = try session.findOne(selection.queries)
        if json { return try Output.print(JSON.object(item.members).text) }
        try Output.print(table(item.fields.map { [$0.label + ":", $0.text] }))
    }
}
