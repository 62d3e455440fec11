// ImportCommand: imports the secrets in another program's file or store.
//   (1) The whole source is read, checked and compared with the keychain before the first write.
//   (2) If an item in the keychain already has the secret that the source has for it, the item
//       stays unchanged. A second run therefore changes nothing.
//   (3) The comment of each new item says where the item came from, unless the source has a comment
//       for that item. The source stays unchanged.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Imports the secrets of another program.",
        discussion: """
            This command shows what it will do and asks for confirmation. The whole file is \
            checked first: if it can't be parsed, nothing is imported. Variables become passwords \
            of the --service, and logins become passwords of their servers. The file stays \
            unchanged.

            pass takes the folder of a password store, whose files gpg decrypts. secret-service \
            takes no file: it reads from the running Secret Service, such as gnome-keyring or \
            KeePassXC.
            """)

    enum Policy: String, CaseIterable, ExpressibleByArgument {
        case fail, skip, replace, newer
    }

    @Argument(help: "The kind of source.")
    var source: ImportSource

    @Argument(help: "The path of the file or, with pass, of the folder.")
    var path: String?

    @Option(
        help: ArgumentHelp("With env: the service of the imported items.", valueName: "name"))
    var service: String?

    @Option(
        help: ArgumentHelp(
            "What to do with an existing item that has another secret.", valueName: "policy"))
    var onConflict = Policy.fail

    @Option(
        help: ArgumentHelp(
            "With gnome-keyring: reads the keyring's password from this file descriptor. One "
                + "newline at its end is removed.",
            valueName: "number"))
    var passwordFd: Int32?

    @Flag(help: "Shows what would be done, without doing it.")
    var dryRun = false

    @Flag(help: "Imports without asking.")
    var yes = false

    @OptionGroup var passcode: PasscodeOptions

    func validate() throws {
        guard (source == .env) == (service != nil), service != "" else {
            throw ValidationError(
                "--service is required with env, and can't be used with other sources.")
        }
        guard (source == .secretService) == (path == nil) else {
            throw ValidationError(
                path == nil
                    ? "\(source.rawValue) requires a path." : "secret-service takes no file.")
        }
        guard onConflict != .newer || source.hasTimes else {
            throw ValidationError(
                "\(source.rawValue) doesn't record when a secret was changed, so --on-conflict "
                    + "newer can't be used.")
        }
        guard passwordFd == nil || source == .gnomeKeyring else {
            throw ValidationError("--password-fd can only be used with gnome-keyring.")
        }
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--password-fd", passwordFd),
        ])
        guard !dryRun || !yes else {
            throw ValidationError("--dry-run and --yes can't be combined.")
        }
    }

    private enum Step: String {
        case add, replace, skip, unchanged
    }

    func run() throws {
        try KeychainPlace.connect()
        ProcessProtection.beginHoldingSecrets()
        let items =
            switch source {
            case .pass: try PasswordStore(place).items()
            case .secretService: try SecretService.items()
            case .gnomeKeyring: try itemsOfKeyring()
            default: try source.items(in: try content(), named: place, service: service ?? "")
            }
        let session = try KeychainSession(existing: passcode.source)
        var steps: [(item: ImportedItem, step: Step)] = []
        for item in items {
            steps.append((item, try session.map { try step(for: item, $0) } ?? .add))
        }
        let plan = steps.map { "\($0.step.rawValue): \($0.item.name)\n" }.joined()
        let changes = steps.filter { $0.step == .add || $0.step == .replace }
        if dryRun || changes.isEmpty { return try Output.print(plan + summary(steps.map(\.step))) }
        if !yes {
            try Confirmation.require(
                plan + "\(counted(changes.count, "item")) will be written.",
                phrase: "import \(changes.count)", noPrompt: passcode.noPrompt)
        }
        let writing = try session ?? KeychainSession(making: passcode.source)
        defer { writing.close() }
        for (item, step) in changes {
            try saving(item, isNew: step == .add).save(item.data, in: writing)
        }
        try Output.print(plan + summary(steps.map(\.step)))
    }

    /// The path of the source.
    private var place: String { path ?? "" }

    private var origin: String {
        source.rawValue + (path.map { ": \($0)" } ?? "")
    }

    private func itemsOfKeyring() throws -> [ImportedItem] {
        let bytes = try content()
        var password: SecretBytes?
        if KeyringFile.isEncrypted(bytes) {
            if let passwordFd {
                password = try SecretInput.fromDescriptor(passwordFd, "password")
            } else if !passcode.noPrompt, let terminal = Terminal() {
                password = terminal.askHidden("Keyring password: ")
            } else {
                throw ControlFailure(
                    .locked,
                    "The keyring is encrypted. Provide its password with --password-fd, or run "
                        + "this command at a terminal. \(ImportSource.consequence)")
            }
        }
        do throws(ImportProblem) {
            return try KeyringFile.items(in: bytes, password: password)
        } catch {
            let line = error.line == 0 ? "" : ":\(error.line)"
            throw ControlFailure(
                .failure,
                "\(printable(place))\(line): \(error.text) \(ImportSource.consequence)")
        }
    }

    private func content() throws(ControlFailure) -> [UInt8] {
        // Opening a FIFO in blocking mode would make this process wait for a writer.
        guard let file = Files.open(place, O_RDONLY | O_NONBLOCK),
            let status = Files.systemStatus(of: file.number), status.st_mode & S_IFMT == S_IFREG,
            let content = Files.content(of: file, atMost: 1 << 20)
        else {
            throw ControlFailure(
                .failure,
                "Can't read \(printable(place)): it is not a readable regular file, or is larger "
                    + "than \(1 << 20) bytes. \(ImportSource.consequence)")
        }
        return Array(content)
    }

    private func saving(_ item: ImportedItem, isNew: Bool) -> ItemSaving {
        ItemSaving(
            itemClass: item.itemClass, keys: item.keys,
            remarks: isNew
                ? item.remarks.merging(
                    [.comment: .string("Imported from \(origin)")]
                ) { own, _ in own }
                : [:],
            group: item.group, isSynchronizable: item.isSynchronizable,
            protection: isNew ? item.protection : nil, isNew: isNew)
    }

    private func step(for item: ImportedItem, _ session: KeychainSession) throws -> Step {
        guard let existing = try saving(item, isNew: true).existing(session) else { return .add }
        let reference = ItemQuery(
            itemClass: item.itemClass, isSynchronizable: nil, reference: existing.reference)
        if try session.openOne([reference]).data == item.data { return .unchanged }
        switch onConflict {
        case .skip: return .skip
        case .replace: return .replace
        case .newer:
            guard let modified = item.modified else {
                throw ControlFailure(
                    .exists,
                    "\(item.name) has another secret in the keychain, and \(printable(origin)) "
                        + "doesn't record when its secret was changed. \(ImportSource.consequence)")
            }
            return modified > existing.modificationSeconds ? .replace : .skip
        case .fail:
            throw ControlFailure(
                .exists,
                "\(item.name) has another secret in the keychain. \(ImportSource.consequence) "
                    + "Choose what to do: --on-conflict skip\(source.hasTimes ? ", newer" : "") or "
                    + "replace.")
        }
    }

    private func summary(_ steps: [Step]) -> String {
        let count = { (step: Step) in steps.count { $0 == step } }
        return (dryRun ? "Would be added: " : "Added: ")
            + "\(count(.add)), replaced: \(count(.replace)), skipped: \(count(.skip)), "
            + "unchanged: \(count(.unchanged))."
    }
}
