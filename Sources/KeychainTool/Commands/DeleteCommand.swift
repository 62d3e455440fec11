// DeleteCommand: deletes one item, all matching items, or a whole class.
//   (1) Several items are deleted only with an explicit option, and a whole class only after the
//       user's confirmation or with `--yes`.

import ArgumentParser
import KeychainCrypto
import KeychainRuntime
import KeychainEngine
import KeychainCore

struct DeleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Deletes an item.",
        discussion: """
            The options must match exactly one item. --all deletes all matching items and requires \
            a service or a server. --all-items deletes every item of the --class, after a \
            confirmation at the terminal.
            """,
        aliases: ["rm"])

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Deletes all matching items instead of exactly one.")
    var all = false

    @Flag(help: "Deletes every item of the --class.")
    var allItems = false

    @Flag(help: "Confirms --all-items without asking.")
    var yes = false

    @OptionGroup var passcode: PasscodeOptions

    mutating func validate() throws {
        if allItems {
            guard selection.className != nil else {
                throw ValidationError("--all-items requires --class.")
            }
            guard !selection.isNarrowed, !all else {
                throw ValidationError(
                    "--all-items deletes every item of the --class and can't be combined with "
                        + "other options that select items. To delete only some items, use --all "
                        + "with --service or --server.")
            }
        } else if all {
            guard selection.key.namesPlace else {
                throw ValidationError("--all requires a service or a server.")
            }
        } else {
            try selection.requireNarrowed()
        }
    }

    func run() throws {
        guard let session = try KeychainSession(existing: passcode.source) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.close() }
        if allItems { try confirm(session) }
        guard all || allItems else {
            let item = try session.findOne(selection.queries)
            _ = try delete(
                ItemQuery(
                    itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference),
                session)
            return
        }
        var count = 0
        for query in selection.queries { count += try delete(query, session) }
        try Output.print("Deleted \(counted(count, "item")).")
    }

    private func delete(_ query: ItemQuery, _ session: KeychainSession) throws -> Int {
        try session.unlocking { () throws(KeychainFailure) in
            try session.keychain.perform(
                DeleteItems(query, tombstones: .automatic, keepsVersions: true),
                as: session.caller)
        }
    }

    private func confirm(_ session: KeychainSession) throws {
        guard !yes else { return }
        let count = try session.find(selection.queries).count
        guard count > 0 else { throw KeychainFailure.itemNotFound }
        let name = selection.className?.noun ?? "item"
        try Confirmation.require(
            "Every \(name) will be deleted: \(counted(count, "item")).",
            phrase: "delete \(count)", noPrompt: passcode.noPrompt)
    }
}

/// Asks the user at the terminal to confirm an action by typing a phrase.
enum Confirmation {
    /// - Throws: ``ControlFailure`` if `noPrompt` is `true`, there is no terminal, or the answer is
    ///   not the phrase.
    static func require(
        _ consequence: String, phrase: String, noPrompt: Bool
    ) throws(ControlFailure) {
        guard !noPrompt, let terminal = Terminal() else {
            throw ControlFailure(
                .failure, consequence + " Nothing was done. Use --yes to confirm.")
        }
        guard terminal.ask("\(consequence)\nType “\(phrase)” to continue: ") == phrase else {
            throw ControlFailure(.failure, "Not confirmed. Nothing was done.")
        }
    }
}
