// ProgramCommand: manages the registry, which says which entitlements the user's service grants to
// which programs.
//   (1) The service needn't be running. A running service reads a changed registry again.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct ProgramCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "program",
        abstract: "Sets the access groups that the user's keychain service grants to programs.",
        discussion: """
            A program without an entry has the access group “default”, or in a Flatpak or Snap a \
            group with the name of that sandbox; keychainctl itself has all groups. An exception \
            is a program without an entry, outside of a sandbox, with a file PATH.entitlements \
            next to it. If root owns both files and the folders above them, and no one else can \
            write to them, the program has the groups in that file. If not, it has no access. With \
            `keychaind --registry-only`, no program without an entry has access. Access groups \
            separate well-behaved programs only: any program of a user can impersonate another one.
            """,
        subcommands: [Add.self, List.self, Remove.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Grants access groups to a program, replacing any earlier entry for it.",
            discussion: """
                Without --group and --entitlements, the program gets the groups in the file next \
                to it, PATH.entitlements, as that file is now. Open connections of the program are \
                closed, and new ones have the new groups.
                """)

        @Argument(
            help: ArgumentHelp(
                "The program's file, or flatpak:ID or snap:NAME for a program in a sandbox.",
                valueName: "path"))
        var program: String

        @OptionGroup var groups: GroupOptions

        @Flag(
            help: ArgumentHelp(
                "Grants the groups only to the file as it is now, identified by its SHA-256. An "
                    + "updated file needs a new entry."))
        var exact = false

        func run() throws {
            let subject = try ProgramCommand.subject(program)
            let list =
                if let given = try groups.list() { given } else {
                    try ProgramCommand.listBeside(subject)
                }
            _ = try RegistryFolder.ofUser().put(
                subject, sha256: exact ? try ProgramCommand.digest(of: subject) : nil, list: list)
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the programs that have entries, with their access groups.")

        @Flag(help: "Writes an array of JSON objects.")
        var json = false

        func run() throws {
            try RegistryEntry.show(in: .ofUser(), json: json, heading: "PROGRAM") { subject in
                if case .socket = subject { false } else { true }
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes the entry of a program, which then counts as one without an entry.")

        @Argument(
            help: ArgumentHelp(
                "The program, as shown by `keychainctl program list`.", valueName: "path"))
        var program: String

        func run() throws {
            // The file may no longer exist. The argument is then used as the path.
            let subject = (try? ProgramCommand.subject(program)) ?? .executable(program)
            try RegistryEntry.remove(
                subject,
                "`keychainctl program list` shows the existing "
                    + "entries.")
        }
    }

    // MARK: Programs

    /// The program that an argument names.
    ///
    /// - Throws: ``ControlFailure`` if the argument is the path of a script, or if there is no
    ///   regular file at that path.
    private static func subject(_ argument: String) throws -> RegistryEntry.Subject {
        for kind in ["flatpak:", "snap:"] where argument.hasPrefix(kind) {
            guard argument != kind else {
                throw ControlFailure(.failure, "Write a name after \(kind), without a space.")
            }
            return .sandbox(argument)
        }
        guard let file = Files.locate(argument),
            let path = Files.target(ofLink: "/proc/self/fd/\(file.number)"),
            Files.status(of: file)?.isPlainFile == true
        else {
            throw ControlFailure(
                .notFound,
                "There is no program at \(printable(argument)). Provide the path of its file.")
        }
        if let interpreter = interpreter(of: path) {
            throw ControlFailure(
                .failure,
                "\(printable(path)) is a script: the service sees only its interpreter, "
                    + "\(printable(interpreter)), so all scripts of that interpreter are one "
                    + "program to it. Name the interpreter, or create a dedicated socket for the "
                    + "script with `keychainctl service socket add`.")
        }
        return .executable(path)
    }

    /// The interpreter of a script, or `nil` if the file is not a script or can't be read.
    private static func interpreter(of path: String) -> String? {
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK),
            let start = try? [UInt8](readingFrom: file.number, atMost: 256),
            start.starts(with: "#!".utf8)
        else { return nil }
        let line = String(decoding: start.dropFirst(2).prefix { $0 != 0x0A }, as: UTF8.self)
        return line.split(separator: " ").first.map { String($0) } ?? "unknown"
    }

    private static func listBeside(_ subject: RegistryEntry.Subject) throws -> Data {
        guard case .executable(let path) = subject,
            Files.isThere(path + ".entitlements")
        else {
            throw ControlFailure(
                .usage,
                "There is no entitlements file next to \(printable(subject.texts.text)). Use "
                    + "--group or --entitlements to specify the groups.")
        }
        return try GroupOptions.list(at: path + ".entitlements")
    }

    private static func digest(of subject: RegistryEntry.Subject) throws -> String {
        guard case .executable(let path) = subject, let file = Files.open(path, O_RDONLY),
            let digest = try? Fingerprint.sha256(ofFile: file.number)
        else {
            throw ControlFailure(
                .failure, "\(printable(subject.texts.text)) can't be read, which --exact requires.")
        }
        return digest.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

// MARK: - Entries

/// The access groups for a program or a socket.
struct GroupOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "An access group; * stands for all groups. May be repeated; new items go into the "
                + "first group.", valueName: "name"))
    var group: [String] = []

    @Option(
        help: ArgumentHelp(
            "An entitlements file: a property list as written by Xcode.", valueName: "path"))
    var entitlements: String?

    mutating func validate() throws {
        guard group.isEmpty || entitlements == nil else {
            throw ValidationError("Use either --group or --entitlements, not both.")
        }
        guard group.allSatisfy({ !$0.isEmpty }) else {
            throw ValidationError("The name of an access group can't be empty.")
        }
    }

    /// The property list that the options describe, or `nil` if neither option was given.
    func list() throws -> Data? {
        if let entitlements { return try Self.list(at: entitlements) }
        return group.isEmpty ? nil : Entitlements.propertyList(groups: group)
    }

    /// Reads a property list, and checks that the service will be able to parse it.
    static func list(at path: String) throws -> Data {
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK),
            let list = Files.content(of: file, atMost: Entitlements.byteLimit)
        else {
            throw ControlFailure(.failure, "The entitlements \(printable(path)) can't be read.")
        }
        _ = try Entitlements(propertyList: list, name: path)
        return list
    }
}

extension RegistryEntry {
    /// Prints those entries of a registry whose subjects satisfy `isMeant`.
    static func show(
        in folder: RegistryFolder, json: Bool, heading: String,
        where isMeant: (Subject) -> Bool
    ) throws {
        let entries = try Self.entries(of: folder).filter { isMeant($0.subject) }
        let groups = try entries.map { entry in
            let groups = try folder.entitlements(of: entry).accessGroups
            return groups.names + (groups.includesAll ? [AccessGroups.wildcard] : [])
        }
        if json {
            let objects = zip(entries, groups).map { entry, groups in
                JSON.object([
                    (entry.subject.texts.key, .string(entry.subject.texts.text)),
                    ("groups", .array(groups.map { .string($0) })),
                    ("exact", .bool(entry.sha256 != nil)), ("file", .string(entry.file)),
                ])
            }
            return try Output.print(JSON.array(objects).text)
        }
        guard !entries.isEmpty else { return try Output.print("There are no entries.") }
        let rows = zip(entries, groups).map { entry, groups in
            [
                printable(entry.subject.texts.text) + (entry.sha256 == nil ? "" : " (exact)"),
                groups.map(printable).joined(separator: ", "),
            ]
        }
        try Output.print(table([[heading, "GROUPS"]] + rows))
    }

    /// Removes the entry for a subject.
    static func remove(_ subject: Subject, _ advice: String) throws {
        let folder = try RegistryFolder.ofUser()
        // Reads the entries first, so that a registry that isn't trustworthy is reported as such.
        // `folder.remove` would report such a registry as a missing permission.
        _ = try entries(of: folder)
        guard try folder.remove(subject) > 0 else {
            throw ControlFailure(
                .notFound, "There is no entry for \(printable(subject.texts.text)). \(advice)")
        }
    }

    private static func entries(of folder: RegistryFolder) throws -> [RegistryEntry] {
        do throws(DistrustedFile) {
            return try folder.entries()
        } catch {
            throw ControlFailure(
                .failure, "The registry is not trustworthy: \(printable(error.reason)).")
        }
    }
}
