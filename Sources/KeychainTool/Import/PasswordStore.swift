// PasswordStore: imports a folder of `pass` or `gopass`: one file per secret, encrypted by gpg.
//   (1) gpg decrypts the files and asks the user for a passphrase if it needs one. Its output is
//       read through a pipe into memory, and never written to a file.
//   (2) A file's path has the form SERVICE/ACCOUNT: the file's name is the account, and its folder
//       is the service. A file at the top level has no account: its name is the service.
//   (3) A line that is a valid URI `otpauth://…` is a key for one-time codes. The first such line
//       becomes an item `SERVICE (TOTP)`, the second one `SERVICE (TOTP 2)`. The file's first line
//       is the secret, unless it is such a URI. The other lines become one item, `SERVICE (notes)`,
//       unless they contain only white space.
//   (4) If a file can't be decrypted, the import fails before anything is written.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct PasswordStore {
    private let folder: String
    private let program: String

    /// The maximum size of a decrypted file, in bytes.
    private static let largest = 1 << 20

    init(_ folder: String) throws(ControlFailure) {
        try ControlFailure.refuseRightsOfOthers()
        guard Files.status(of: folder)?.isFolder == true else {
            throw ControlFailure(
                .failure, "\(printable(folder)) is not a folder. \(ImportSource.consequence)")
        }
        guard let gpg = ProgramStart.find("gpg", in: ProcessEnvironment.variables["PATH"]) else {
            throw ControlFailure(
                .failure,
                "gpg, which decrypts the files, was not found in the PATH. "
                    + "\(ImportSource.consequence)")
        }
        self.folder = folder
        program = gpg
    }

    func items() throws(ControlFailure) -> [ImportedItem] {
        let names = try Self.names(in: folder)
        let line = ProgressLine()
        defer { line.end() }
        var items: [ImportedItem] = []
        for (index, name) in names.enumerated() {
            line.show("decrypted \(index) of \(counted(names.count, "file"))")
            items += Self.items(of: name, try text(of: name), modified: modified(name))
        }
        do throws(ImportProblem) {
            return try ImportSource.distinct(items)
        } catch {
            throw ControlFailure(
                .failure, "\(printable(folder)): \(error.text) \(ImportSource.consequence)")
        }
    }

    /// The paths of the encrypted files, relative to the folder and without the suffix `.gpg`.
    /// Files and folders whose names begin with a period are skipped. Symbolic links to folders are
    /// followed, as `pass` does. A link to a folder that contains the link is skipped.
    ///
    /// - Throws: ``ControlFailure`` if a folder can't be read, or a file is encrypted with age.
    static func names(in folder: String) throws(ControlFailure) -> [String] {
        var visible: [String] = []
        func visit(_ path: String, _ parents: [FileIdentity]) throws(ControlFailure) {
            let place = folder + path
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: place) else {
                throw ControlFailure(
                    .failure, "Can't read \(printable(place)). \(ImportSource.consequence)")
            }
            for name in names where !name.hasPrefix(".") {
                guard let status = Files.status(of: "\(place)/\(name)"), status.isFolder else {
                    visible.append(String("\(path)/\(name)".dropFirst()))
                    continue
                }
                if parents.contains(status.identity) { continue }
                try visit("\(path)/\(name)", parents + [status.identity])
            }
        }
        try visit("", Files.status(of: folder).map { [$0.identity] } ?? [])
        if let other = visible.first(where: { $0.hasSuffix(".age") }) {
            throw ControlFailure(
                .failure,
                "\(printable(other)) is encrypted with age, which only gopass can decrypt. "
                    + "\(ImportSource.consequence)")
        }
        return visible.filter { $0.hasSuffix(".gpg") }.map { String($0.dropLast(4)) }.sorted()
    }

    private func modified(_ name: String) -> Double? {
        Files.status(of: "\(folder)/\(name).gpg").map {
            Double($0.identity.modified) / 1e9 - Date.timeIntervalBetween1970AndReferenceDate
        }
    }

    private func text(of name: String) throws(ControlFailure) -> String {
        func failure(_ what: String) -> ControlFailure {
            ControlFailure(
                .failure, "\(printable(name)).gpg \(what). \(ImportSource.consequence)")
        }
        guard let (reading, writing) = Descriptor.pipe() else {
            throw failure("can't be read: \(errorText(errno))")
        }
        let (process, code) = ProgramStart(
            program,
            arguments: [
                "gpg", "--quiet", "--batch", "--decrypt", "--", "\(folder)/\(name).gpg",
            ]
        ).spawn(output: writing.number)
        writing.close()
        defer { reading.close() }
        guard code == 0 else { throw failure("can't be decrypted: \(errorText(code))") }
        let content = Files.content(of: reading, atMost: Self.largest)
        // If the content is too large, it isn't read to the end. Closing the pipe makes gpg fail;
        // otherwise gpg would wait forever to write the rest.
        reading.close()
        let status = ProgramStart.exitStatus(of: process)
        guard let content else {
            throw failure("has more than \(Self.largest) bytes when decrypted, or can't be read")
        }
        guard status == 0 else { throw failure("can't be decrypted: gpg failed") }
        guard !content.contains(0), let text = String(validating: content, as: UTF8.self) else {
            throw failure("doesn't contain UTF-8 text")
        }
        return text
    }

    static func items(of name: String, _ text: String, modified: Double?) -> [ImportedItem] {
        let parts = name.split(separator: "/").map(String.init)
        let account = parts.count > 1 ? parts[parts.count - 1] : ""
        let service = (parts.count > 1 ? parts.dropLast() : parts[...]).joined(separator: "/")
        var items: [ImportedItem] = []
        func add(_ kind: String, _ secret: String) {
            var item = ImportedItem(
                service: service + kind, account: account, secret: secret, line: 0)
            item.modified = modified
            items.append(item)
        }
        var codes: [String] = []
        var notes: [Substring] = []
        var lines = text.lines.map(\.withoutReturn)
        if lines.count > 1, lines.last == "" { lines.removeLast() }
        for (index, line) in lines.enumerated() {
            if let uri = try? OneTimeSecret(String(line)).uri {
                codes.append(uri)
            } else if index == 0 {
                add("", String(line))
            } else {
                notes.append(line)
            }
        }
        for (index, uri) in codes.enumerated() {
            add(index == 0 ? " (TOTP)" : " (TOTP \(index + 1))", uri)
        }
        let rest = notes.joined(separator: "\n")
        if rest.contains(where: { !$0.isWhitespace }) { add(" (notes)", rest) }
        return items
    }
}
