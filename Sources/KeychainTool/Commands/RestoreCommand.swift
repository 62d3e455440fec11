// RestoreCommand: restores the items of a backup, an earlier version of an item, or items that were
// set aside.

import ArgumentParser
import KeychainEngine
import KeychainCore
import KeychainSQLite

struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restores the items of a backup, an earlier version, or items that were set "
            + "aside.",
        discussion: """
            With --backup: verifies the whole file, shows what would change, asks for \
            confirmation, and makes all changes or none. If an item already exists, the version \
            that was modified later is kept, under the existing reference. Nothing is deleted \
            unless --replace is given, which first deletes every item that isn't synchronizable, \
            except those that only another machine can read.

            With --version: returns one item to an earlier version; its current state becomes a \
            version. A deleted item is restored. A renamed item gets its earlier name.

            With neither: puts back items that were set aside. An item is put back only if all its \
            bytes are as they were written. An item that was, or may have been, deleted or \
            replaced is put back only if its reference is given. Items that can't be restored stay \
            set aside; `keychainctl doctor` lists them. --dismiss permanently deletes items that \
            were set aside, and accepts the losses of a recovery: items that are not found then \
            count as absent.
            """)

    @Argument(
        help: ArgumentHelp(
            "With --version: the item, as SERVICE/ACCOUNT or its reference. Otherwise: references, "
                + "as shown by `keychainctl doctor`. Without references, all items that a check or "
                + "recovery found damaged; with --dismiss, all items that were set aside."))
    var item: [String] = []

    @Option(
        help: ArgumentHelp(
            "The number of the version, as shown by `keychainctl history`.", valueName: "number"))
    var version: UInt32?

    @Flag(help: "Permanently deletes items that were set aside, instead of restoring them.")
    var dismiss = false

    @Flag(
        help: ArgumentHelp(
            "With --backup: first deletes the items that aren't synchronizable, including those "
                + "modified after the backup. With --version: deletes another item that has the "
                + "version's name."))
    var replace = false

    @Flag(help: "With --backup: shows what would change, and changes nothing.")
    var dryRun = false

    @Flag(help: "Confirms --dismiss or --backup without asking.")
    var yes = false

    @OptionGroup var opening: BackupIdentityOptions

    @Flag(help: "Writes JSON.")
    var json = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    func validate() throws {
        try InputOption.requireDistinct([
            InputOption("--passphrase-fd", opening.passphraseFd),
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
        if version != nil {
            guard opening.backup == nil, !dismiss, !dryRun, !yes else {
                throw ValidationError(
                    "--version can't be combined with --backup, --dismiss, --dry-run or --yes.")
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
                    "--dry-run requires --backup, and --replace requires --backup or --version.")
            }
            guard dismiss || !yes else {
                throw ValidationError("--yes requires --dismiss or --backup.")
            }
        } else {
            guard references.isEmpty, !dismiss else {
                throw ValidationError("--backup can't be combined with references or --dismiss.")
            }
            guard !(dryRun && yes) else {
                throw ValidationError("--dry-run and --yes can't be combined.")
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
                throw ValidationError("The service is missing. Write SERVICE/ACCOUNT.")
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
                : "The item was restored to version \(version).")
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
            throw ControlFailure(
                .notFound,
                "There is no keychain yet, so there is nothing to "
                    + "restore.")
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
                // The progress also counts items that stay set aside.
                line.show("processed \(done) of \(counted(total, "item"))")
            }
        }
    }

    private var chosen: Set<ItemReference>? {
        get throws { item.isEmpty ? nil : Set(try references) }
    }

    /// Deletes rows that were set aside. Unless `--yes` is given, shows them first and asks for
    /// confirmation.
    private func giveUp(_ engine: KeychainEngine) throws {
        let chosen = try chosen
        let rows = try Self.named { () throws(KeychainFailure) in
            try engine.setAsideRows(chosen)
        }
        if !yes, !rows.isEmpty {
            try Confirmation.require(
                SetAsideText.text(of: rows) + "\nThis will be deleted permanently.",
                phrase: "dismiss \(rows.count)", noPrompt: passcode.noPrompt)
        }
        // Items that are set aside after the rows were read are not affected.
        let gone = try engine.dismissSetAside(Set(rows.map(\.row.reference)))
        try Output.print(
            json
                ? JSON.array(gone.map { Self.json($0.row.reference, "dismissed") }).text
                : gone.isEmpty
                    ? "Nothing is set aside."
                    : gone.map { "\($0.row.reference): dismissed" }.joined(separator: "\n"))
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
                "No item with this reference is set aside. `keychainctl doctor` lists the items "
                    + "that are."
            )
        }
    }

    // MARK: Showing

    /// The number of items that are set aside. If a restore without references found none to
    /// restore, these are the items that can be restored only by their references.
    private static func count(goingByName engine: KeychainEngine) throws(KeychainFailure) -> Int {
        try engine.setAsideRows().count { $0.reason != .lostByRecovery }
    }

    private static func nothingText(_ byNameCount: Int) -> String {
        byNameCount == 0
            ? "There is nothing to restore."
            : "Nothing was restored. \(counted(byNameCount, "item")) that may have been deleted or "
                + "replaced, or may be earlier versions, can be restored only by reference: "
                + "`keychainctl doctor` lists them."
    }

    private static func text(of restoration: Restoration) -> String {
        let outcome =
            switch restoration.outcome {
            case .restored: "restored"
            case .damaged: "too damaged to be restored"
            case .keyTaken:
                "not restored: another item has the same primary key or reference; delete that "
                    + "item first"
            case .locked: "not restored: locked, or bound to another machine"
            case .altered:
                "not restored: its bytes, or the recorded reason why it was set aside, may have "
                    + "changed. To restore it if its bytes are intact, give its reference"
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
