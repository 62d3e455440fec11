// RestoreCommand: restores the items of a backup, an earlier version of an item, or items that were
// set aside.

import ArgumentParser
import KeychainEngine
import KeychainCore
import KeychainSQLite

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Brings back the items of a backup, an earlier version, or what was set aside.",
        discussion: """
            With --backup: reads all of the file and checks it, shows what would change, asks, and \
            makes all changes at once or none. Of an item that is there already the later \
            modification stays, and its reference; nothing is deleted, unless --replace is given: \
            then every item that isn't synchronizable is deleted first.

            With --version: makes one item again what it was; what it was until now becomes a \
            version. A deleted item comes back. An item that was renamed gets its earlier name.

            Without both: puts items that were set aside back in their places. \
            Only an item whose bytes are all as they were written goes back. One that was \
            deleted or replaced, or may have been, goes back only if it is named. What can't be \
            restored stays set aside; `keychainctl doctor` lists it. --dismiss gives it up for \
            good, and what a recovery lost with it: what is not found then counts as not there.
            """)

    @Argument(
        help: ArgumentHelp(
            "With --version the item, SERVICE/ACCOUNT, or its reference. Otherwise references, as "
                + "`keychainctl doctor` shows them; without any: all that a check or a recovery "
                + "found damaged; with --dismiss all."))
    var item: [String] = []

    @Option(
        help: ArgumentHelp(
            "This version of the item, as `keychainctl history` shows it.", valueName: "number"))
    var version: UInt32?

    @Flag(help: "Deletes the items that were set aside permanently, instead of restoring them.")
    var dismiss = false

    @Flag(
        help: ArgumentHelp(
            "With --backup: deletes the items that are not in it, too. With --version: deletes "
                + "another item that has the name."))
    var replace = false

    @Flag(help: "With --backup: shows what would change, and changes nothing.")
    var dryRun = false

    @Flag(help: "Confirms --dismiss or --backup without asking.")
    var yes = false

    @OptionGroup var opening: BackupIdentityOptions

    @Flag(help: "Writes a JSON array.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    func validate() throws {
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
        if version != nil {
            guard opening.backup == nil, !dismiss, !dryRun, !yes else {
                throw ValidationError("--version can be combined only with an item and --replace.")
            }
            guard item.count == 1 else {
                throw ValidationError("Specify the item as SERVICE/ACCOUNT or by its reference.")
            }
            return _ = try versionQueries
        }
        let references = try references
        if opening.backup == nil {
            guard !replace, !dryRun else {
                throw ValidationError(
                    "--replace and --dry-run go with --backup, --replace with --version too.")
            }
            guard dismiss || !yes else {
                throw ValidationError("--yes requires --dismiss or --backup.")
            }
        } else {
            guard references.isEmpty, !dismiss else {
                throw ValidationError("--backup can't be combined with references or --dismiss.")
            }
            guard !(dryRun && yes) else {
                throw ValidationError("With --dry-run there is nothing to confirm with --yes.")
            }
        }
    }

    private var references: [ItemReference] {
        get throws {
            try item.map { word in
                guard let argument = ReferenceArgument(argument: word) else {
                    throw ValidationError(
                        "A reference has 32 hexadecimal digits. To bring back an earlier version "
                            + "of an item, add --version.")
                }
                return argument.reference
            }
        }
    }

    /// The queries for the item of --version. A word of 32 hexadecimal digits is a reference; a
    /// service of that form needs a slash after it.
    private var versionQueries: [ItemQuery] {
        get throws {
            let word = item.first ?? ""
            if let argument = ReferenceArgument(argument: word) {
                return ItemClass.allCases.map {
                    ItemQuery(
                        itemClass: $0, isSynchronizable: nil, reference: argument.reference)
                }
            }
            guard let name = ItemName(word) else {
                throw ValidationError("No service is named. Write SERVICE/ACCOUNT.")
            }
            return [name.query(in: nil)]
        }
    }

    private func restore(version: UInt32) throws {
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw ControlFailure.noVersion
        }
        defer { session.close() }
        let restored: ItemSnapshot
        do {
            restored = try session.restore(
                versionQueries, version: version, replacing: replace)
        } catch let failure as KeychainFailure where failure.status == .duplicateItem {
            throw ControlFailure.occupied
        }
        try Output.print(
            json
                ? JSON.object(restored.members).text
                : "The item is again as it was in version \(version).")
    }

    func run() throws {
        if let version { return try restore(version: version) }
        if let backup = opening.backup {
            return try BackupRestoring(
                options: opening, mode: replace ? .replace : .merge, isTrial: dryRun,
                isConfirmed: yes, isJSON: json, passcode: passcode
            ).run(backup)
        }
        guard let files = try FileSession(existing: passcode.source) else {
            throw ControlFailure(.notFound, "There is no keychain yet, so nothing is set aside.")
        }
        defer { files.close() }
        guard !dismiss else { return try giveUp(files.engine) }
        try files.unlockIfPossible()
        let restorations = try restore(files.engine, try chosen)
        let byNameCount = try restorations.isEmpty ? Self.count(goingByName: files.engine) : 0
        try Output.print(
            json
                ? JSON.array(restorations.map(Self.json)).text
                : restorations.isEmpty
                    ? Self.nothingText(byNameCount)
                    : restorations.map(Self.text).joined(separator: "\n"))
        guard restorations.allSatisfy(\.isRestored) else {
            throw ControlFailure(
                restorations.contains { [.damaged, .altered].contains($0.outcome) }
                    ? .damaged
                    : restorations.contains { $0.outcome == .locked } ? .locked : .exists,
                "Not every item could be restored. The others stay set aside.")
        }
    }

    private func restore(
        _ engine: KeychainEngine, _ chosen: Set<ItemReference>?
    ) throws -> [Restoration] {
        let line = ProgressLine()
        defer { line.end() }
        return try Self.named { () throws(KeychainFailure) in
            try engine.restoreSetAside(chosen) { done, total in
                line.show("restored \(done) of \(counted(total, "item"))")
            }
        }
    }

    private var chosen: Set<ItemReference>? {
        get throws { item.isEmpty ? nil : Set(try references) }
    }

    /// Shows what will be deleted, asks for confirmation, and deletes it.
    private func giveUp(_ engine: KeychainEngine) throws {
        let chosen = try chosen
        let rows = try Self.named { () throws(KeychainFailure) in
            try engine.setAsideRows(chosen)
        }
        if !yes, !rows.isEmpty {
            try Confirmation.require(
                SetAsideText.text(of: rows) + "\nThis will be given up for good.",
                phrase: "dismiss \(rows.count)", noPrompt: passcode.noPrompt)
        }
        // Items that were set aside after the confirmation are not affected.
        let gone = try engine.dismissSetAside(Set(rows.map(\.row.reference)))
        try Output.print(
            json
                ? JSON.array(gone.map { Self.json($0.row.reference, "dismissed") }).text
                : gone.isEmpty
                    ? "Nothing is set aside."
                    : gone.map { "\($0.row.reference): given up" }.joined(separator: "\n"))
    }

    private static func named<Result>(
        _ body: () throws(KeychainFailure) -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch {
            guard error.status == .itemNotFound else { throw error }
            throw ControlFailure(
                .notFound,
                "No item of this reference is set aside. `keychainctl doctor` lists those that are."
            )
        }
    }

    // MARK: Showing

    /// The number of items that can be restored only by their references.
    private static func count(goingByName engine: KeychainEngine) throws(KeychainFailure) -> Int {
        try engine.setAsideRows().count { $0.reason != .lostByRecovery }
    }

    private static func nothingText(_ byNameCount: Int) -> String {
        byNameCount == 0
            ? "There is nothing to restore."
            : "Nothing was restored. \(counted(byNameCount, "item")) that may have been deleted or "
                + "replaced, or may be of an earlier time, would go back by reference only: "
                + "`keychainctl doctor` lists them."
    }

    private static func text(of restoration: Restoration) -> String {
        let outcome =
            switch restoration.outcome {
            case .restored: "restored"
            case .damaged: "too damaged to be restored"
            case .keyTaken: "not restored: another item has its place; delete that one first"
            case .locked: "not restored: it is locked with the passcode"
            case .altered:
                "not restored: nothing vouches for why it was set aside; give its reference to restore it"
            }
        return "\(restoration.reference): \(outcome)"
    }

    private static func json(of restoration: Restoration) -> JSON {
        json(restoration.reference, "\(restoration.outcome)")
    }

    private static func json(_ reference: ItemReference, _ outcome: String) -> JSON {
        .object([
            ("reference", .string(reference.description)), ("outcome", .string(outcome)),
        ])
    }
}
