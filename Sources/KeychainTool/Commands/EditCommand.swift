// EditCommand: opens a secret in the user's editor.
//   (1) The text is in a file in memory while the editor runs; see `MemoryFolder`.
//   (2) The item stays unchanged if the editor fails, if the text is unchanged, if it is empty and
//       --allow-empty is not given, or if another process changed the item meanwhile.
//   (3) Signals are forwarded to the editor. While the file exists, no forwarded signal ends this
//       process, because it must still remove the file.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct EditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Opens the secret of an item in an editor.",
        discussion: """
            The editor is $VISUAL, $EDITOR or vi. The text is in a file in memory (below \
            $XDG_RUNTIME_DIR or /dev/shm) that only this user can read, and that is overwritten \
            and removed at the end. Memory may be written to swap.

            Editors keep their own copies: swap files, undo files, backups, histories. Vim and \
            Neovim are started without them, Emacs without backups and automatic saves. This \
            command has no control over files that are written by other editors, by extensions, \
            or by a server such as the one that emacsclient uses.
            """)

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Saves an empty secret if the text is empty.")
    var allowEmpty = false

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    mutating func validate() throws {
        try selection.requireNarrowed()
        try InputOption.requireDistinct([
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ])
    }

    func run() throws {
        try ControlFailure.refuseRightsOfOthers()
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.close() }
        ProcessProtection.beginHoldingSecrets()
        let item = try session.openOne(selection.queries)
        let before = Array(item.data ?? Data())
        guard String(validating: before, as: UTF8.self) != nil, !before.contains(0) else {
            throw ControlFailure(
                .failure, "The secret is not text. `keychainctl get` and `set` accept any bytes.")
        }
        let after = try Editor().edit(before)
        guard after != before else { return Output.complain("Nothing was changed.") }
        guard allowEmpty || !after.isEmpty else {
            throw ControlFailure(
                .failure,
                "The text is empty. Nothing was changed. Use --allow-empty to save an empty secret."
            )
        }
        try session.replaceSecret(of: item, with: Data(after))
    }
}

extension KeychainSession {
    /// Replaces an item's secret, unless the item was changed or deleted since it was read.
    fileprivate func replaceSecret(of item: ItemSnapshot, with data: Data) throws {
        var attributes: Attributes = [:]
        // Each change gives an item a different modification date, so the query below finds no item
        // that another process has changed since.
        attributes[.modificationDate] = item.attributes[.modificationDate]
        do {
            _ = try authenticating { authorization throws(KeychainFailure) in
                let query = ItemQuery(
                    itemClass: item.itemClass, attributes: attributes, isSynchronizable: nil,
                    reference: item.reference, authorization: authorization)
                return try keychain.perform(
                    UpdateItems(query, ItemChanges(data: data), keepsVersions: true), as: caller)
            }
        } catch let failure as KeychainFailure where failure.status == .itemNotFound {
            throw ControlFailure(
                .failure,
                "Another process changed or deleted the item in the meantime. Nothing was saved.")
        }
    }
}

/// The user's editor.
struct Editor {
    /// The shell command, as the user wrote it.
    private let command: String

    /// The maximum size of the text, in bytes.
    private static let largest = 1 << 28

    init(_ variables: [String: String] = ProcessEnvironment.variables) {
        command =
            ["VISUAL", "EDITOR"].lazy.compactMap { variables[$0] }.first { !$0.isEmpty } ?? "vi"
    }

    /// Lets the user edit a text.
    ///
    /// - Throws: ``ControlFailure`` if the text's file can't be created or read, or if the editor
    ///   fails. The file is removed in each case.
    func edit(_ text: [UInt8]) throws(ControlFailure) -> [UInt8] {
        Descriptor.closeInheritedOnExec()
        let parents = [RuntimeFolder().path, "/dev/shm"].compactMap(\.self)
        ForwardedSignals.take()
        defer { ForwardedSignals.release() }
        guard let folder = MemoryFolder(with: SecretBytes(copying: text), in: parents) else {
            throw ControlFailure(
                .failure,
                "Can't create a file in memory, below $XDG_RUNTIME_DIR or /dev/shm: "
                    + "\(errorText(errno)). Nothing was changed.")
        }
        defer { folder.remove() }
        let start = ProgramStart(
            "/bin/sh",
            arguments: ["sh", "-c", command + " \"$@\"", command]
                + Self.options(of: command, ProcessEnvironment.variables["PATH"]) + [folder.path])
        // The caller's limit on core dumps is not restored for the editor: a core dump would
        // contain the text.
        let (process, code) = ForwardedSignals.start { start.spawn() }
        guard code == 0 else { throw Self.failure("can't be started: \(errorText(code))") }
        let status = ForwardedSignals.wait(for: process)
        guard status == 0 else { throw Self.failure("exited with status \(status)") }
        guard let content = folder.content(atMost: Self.largest) else {
            throw Self.failure("left no readable file")
        }
        var result = Array(content)
        let newline = UInt8(ascii: "\n")
        // Most editors append a newline to a text that doesn't end in one.
        if text.last != newline, result.last == newline { result.removeLast() }
        return result
    }

    private static func failure(_ what: String) -> ControlFailure {
        ControlFailure(.failure, "The editor \(what). Nothing was changed.")
    }

    /// Options that keep a known editor from writing copies elsewhere.
    static func options(of command: String, _ path: String?) -> [String] {
        let word = String(command.prefix { $0 != " " && $0 != "\t" })
        guard var program = ProgramStart.find(word, in: path) else { return [] }
        // /usr/bin/vi may be a link to any of several editors.
        for _ in 0..<8 {
            guard let target = Files.target(ofLink: program) else { break }
            let folder = program.prefix(through: program.lastIndex(of: "/") ?? program.startIndex)
            program = target.hasPrefix("/") ? target : folder + target
        }
        let name = program.split(separator: "/").last.map(String.init) ?? ""
        if name.hasPrefix("vim") || name.hasPrefix("nvim") {
            return [
                "-n", "-i", "NONE", "-c",
                "silent! setlocal noundofile | silent! set nobackup nowritebackup",
            ]
        }
        if name.hasPrefix("emacs"), !name.hasPrefix("emacsclient") {
            return [
                "--eval",
                "(setq make-backup-files nil auto-save-default nil create-lockfiles nil)",
            ]
        }
        return []
    }
}
