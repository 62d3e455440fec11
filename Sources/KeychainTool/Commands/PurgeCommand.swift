// PurgeCommand: deletes earlier versions of items.

import ArgumentParser
import KeychainCore
import KeychainRuntime

struct PurgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Deletes earlier versions of items permanently.",
        discussion: "The items themselves are not changed.")

    @OptionGroup var selection: SelectionOptions

    @Option(
        help: ArgumentHelp(
            "Only this version, as shown by `keychainctl history`.", valueName: "number"))
    var version: UInt32?

    @Flag(help: "Deletes the versions of all items, including versions that can't be read.")
    var all = false

    @Flag(help: "Confirms --all without asking.")
    var yes = false

    @OptionGroup var passcode: PasscodeOptions

    mutating func validate() throws {
        if all {
            guard !selection.isNarrowed, selection.className == nil, version == nil else {
                throw ValidationError(
                    "--all can't be combined with options that select items or versions.")
            }
        } else {
            try selection.requireNarrowed()
            guard !yes else { throw ValidationError("--yes requires --all.") }
        }
    }

    func run() throws {
        guard let session = try KeychainSession(existing: passcode.source) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.close() }
        if all, !yes {
            try Confirmation.require(
                "The earlier versions of all items will be deleted permanently.", phrase: "purge",
                noPrompt: passcode.noPrompt)
        }
        var count = 0
        for query in selection.queries {
            do {
                count += try session.unlocking { () throws(KeychainFailure) in
                    try session.keychain.perform(
                        PurgeVersions(query, number: version), as: session.caller)
                }
            } catch let failure as KeychainFailure where failure.status == .itemNotFound {}
        }
        guard count > 0 || all else { throw ControlFailure.noVersion }
        try Output.print("Deleted \(counted(count, "earlier version")).")
    }
}
