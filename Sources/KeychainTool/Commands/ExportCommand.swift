// ExportCommand: writes secrets unencrypted, for other programs to read.
//   (1) Unless --yes is given, the command says before writing that the secrets will be
//       unencrypted, and asks for confirmation. After writing, it always says that the secrets
//       were written unencrypted.
//   (2) All items are opened before the first byte is written: if an item is damaged, can't be
//       opened, or can't be represented in the format, no file is created.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Writes secrets to a file, unencrypted.",
        discussion: """
            Anyone who can read the file has every secret in it, and disks and backups may keep it \
            after it was deleted. If this command is killed, delete the incomplete file too: its \
            name ends in .part. `keychainctl backup` writes an encrypted file; `keychainctl run` \
            passes secrets to a program without a file.

            env: lines of the form NAME="VALUE", with the accounts of one --service as names. \
            json: an array of the objects that `get --json` writes, for all passwords or those of \
            the --service.
            """)

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case env, json
    }

    @Argument(help: "The format of the file.")
    var format: Format

    @Argument(help: "The file, created with mode 600, or - for standard output.")
    var path: String

    @Option(help: ArgumentHelp("Only the passwords of this service.", valueName: "name"))
    var service: String?

    @Flag(help: "Replaces an existing file once the new one is complete.")
    var overwrite = false

    @Flag(help: "Writes without asking.")
    var yes = false

    @OptionGroup var passcode: PasscodeOptions

    func validate() throws {
        guard format == .json || service != nil else {
            throw ValidationError(
                "env requires --service, whose accounts become the variable names.")
        }
    }

    private var queries: [ItemQuery] {
        var attributes: Attributes = [:]
        attributes[.service] = service.map { .string($0) }
        let classes: [ItemClass] =
            service == nil ? [.genericPassword, .internetPassword] : [.genericPassword]
        return classes.map {
            ItemQuery(itemClass: $0, attributes: attributes, isSynchronizable: nil)
        }
    }

    func run() throws {
        if path == "-", Descriptor.isTerminal(STDOUT_FILENO) {
            throw ControlFailure(
                .usage, "The output is a terminal. Specify a file, or redirect the output.")
        }
        guard let session = try KeychainSession(existing: passcode.source) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.closeIfLogIsLong() }
        ProcessProtection.beginHoldingSecrets()
        let found = try session.find(queries)
        guard !found.isEmpty else { throw KeychainFailure.itemNotFound }
        // Without the damaged items, the file would be incomplete, and could replace a complete
        // one.
        guard !session.hasSkippedDamage(queries) else {
            throw ControlFailure(
                .damaged,
                "Damaged items would be missing from the file. Nothing was written. `keychainctl "
                    + "check` explains how to set them aside.")
        }
        let place = path == "-" ? "standard output" : printable(path)
        let consequence =
            "\(counted(found.count, "secret")) will be written to \(place), UNENCRYPTED."
        if !yes {
            try Confirmation.require(
                consequence, phrase: "export \(found.count)", noPrompt: passcode.noPrompt)
        }
        let items = try found.map { item in
            try session.openOne([
                ItemQuery(
                    itemClass: item.itemClass, isSynchronizable: nil, reference: item.reference)
            ])
        }
        try write(Array(try text(of: items).utf8))
        Output.complain(
            "keychainctl: \(counted(items.count, "secret")) written to \(place), UNENCRYPTED"
                + (path == "-" ? "." : ": delete the file when it is no longer needed."))
    }

    private func text(of items: [ItemSnapshot]) throws(ControlFailure) -> String {
        if format == .json { return JSON.array(items.map(GetRequest.json)).text + "\n" }
        var lines = ""
        var names: Set<String> = []
        for item in items {
            guard case .string(let name) = item.attributes[.account],
                NamedItem.isVariable(name[...])
            else {
                let name = item.text(of: .account)
                throw ControlFailure(
                    .failure,
                    NamedItem.complaint(about: name[...])
                        + " Nothing was written. The format json accepts any name.")
            }
            guard names.insert(name).inserted else {
                throw ControlFailure(
                    .failure,
                    "Several items have the account \(name) and differ in other attributes, such as "
                        + "the access group. Nothing was written. The format json accepts them.")
            }
            guard let data = item.data, !data.contains(0),
                let value = String(validating: data, as: UTF8.self)
            else {
                throw ControlFailure(
                    .failure,
                    "The secret of \(name) is not text. Nothing was written. The format json "
                        + "accepts any bytes.")
            }
            lines += "\(name)=\"\(Self.escaped(value))\"\n"
        }
        return lines
    }

    /// Escapes a value in the syntax that `run --manifest` and `import env` parse.
    static func escaped(_ value: String) -> String {
        value.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\"", "\\", "$": text += "\\\(scalar)"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    private func write(_ bytes: [UInt8]) throws(ControlFailure) {
        guard path != "-" else { return try Output.write(bytes) }
        let file = try BackupFile(path, replaces: overwrite)
        guard Descriptor.write(bytes, to: file.descriptor) else {
            let code = errno
            file.discard()
            throw ControlFailure(.failure, "Can't write \(printable(path)): \(errorText(code)).")
        }
        try file.commit()
    }
}
