// SecurityHelper: implements macOS's security(1) as far as scripts use it for passwords: the
// command line, the commands of `security -i`, and the exit status.
//   (1) Arguments are parsed as by getopt, not by the argument parser: they are intercepted before
//       it runs.
//   (2) If the keychain refuses a command, the lowest eight bits of the OSStatus are the exit
//       status: 44 for an item that doesn't exist, 45 for an item that already exists, 36 for a
//       locked item. It is 2 for most invalid arguments, and 1 for most other failures.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto

struct SecurityHelper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "security",
        abstract: "Carries out password commands of scripts, as macOS's security does.",
        discussion: """
            If the PATH contains a link to this program named security, scripts can use it. The \
            commands are \(SecurityVerb.allCases.map(\.rawValue).joined(separator: ", ")); \
            `security help COMMAND` lists their options. `security -i` reads commands from \
            standard input.
            """)

    @Argument(parsing: .captureForPassthrough, help: "The command and its options, as on macOS.")
    var arguments: [String] = []

    /// The arguments after `helper security`, or `nil` if they don't call this helper.
    static func arguments(in arguments: [String]) -> [String]? {
        arguments.starts(with: ["helper", "security"]) ? Array(arguments.dropFirst(2)) : nil
    }

    func run() {
        Glibc.exit(Self.run(arguments))
    }

    static func run(_ arguments: [String]) -> Int32 {
        var program = SecurityProgram()
        return program.run(arguments) & 0xFF
    }
}

private struct SecurityProgram {
    private let passwords = SecurityPasswords()
    private var input = InputLines()
    private var isInteractive = false

    mutating func run(_ arguments: [String]) -> Int32 {
        var rest = arguments[...]
        var isQuiet = false
        while let word = rest.first, word.hasPrefix("-") {
            rest.removeFirst()
            for letter in word.dropFirst() {
                switch letter {
                case "i": isInteractive = true
                case "q": isQuiet = true
                case "v": break
                case "h": return carryOut(["help"])
                default:
                    Output.complain("security: illegal option -- \(letter)\n" + Self.usage)
                    return SecurityComplaint.wrongUsage
                }
            }
        }
        defer { passwords.close() }
        if !rest.isEmpty {
            isInteractive = false
            return carryOut(Array(rest))
        }
        guard isInteractive else {
            Output.complain(Self.usage)
            return SecurityComplaint.wrongUsage
        }
        return readCommands(isQuiet: isQuiet)
    }

    /// Executes the commands on standard input, and returns the status of the last one.
    private mutating func readCommands(isQuiet: Bool) -> Int32 {
        var status: Int32 = 0
        do {
            // The input may contain secrets.
            try KeychainPlace.connect()
            ProcessProtection.beginHoldingSecrets()
            let showsPrompt = Descriptor.isTerminal(STDIN_FILENO)
            while true {
                if showsPrompt { _ = Descriptor.write(Array("security> ".utf8), to: STDERR_FILENO) }
                guard let line = try input.next() else { return status }
                let words = try Self.words(of: line)
                guard let verb = words.first else { continue }
                status = carryOut(words)
                if status != 0, !isQuiet { Output.complain("\(verb): returned \(status)") }
            }
        } catch {
            return report(error)
        }
    }

    private mutating func carryOut(_ words: [String]) -> Int32 {
        do {
            let name = words.first ?? ""
            if name == "help" { return try help(words.dropFirst()) }
            guard let verb = SecurityVerb(abbreviation: name) else {
                throw SecurityComplaint(status: 1, message: "unknown command \"\(name)\"")
            }
            let request = try SecurityRequest(
                verb, Array(words.dropFirst()), mayHoldSecret: isInteractive)
            try passwords.run(request) { try askedSecret() }
            return 0
        } catch {
            return report(error)
        }
    }

    private func report(_ error: any Error) -> Int32 {
        switch error {
        case let complaint as SecurityComplaint:
            if !complaint.message.isEmpty { Output.complain("security: " + complaint.message) }
            if let verb = complaint.usage { Output.complain(verb.usage) }
            return complaint.status
        case let failure as KeychainFailure:
            Output.complain("security: " + ControlFailure(failure).message)
            return failure.status.rawValue
        case let failure as ControlFailure:
            Output.complain("security: " + failure.message)
            return 1
        default:
            Output.complain("security: The command failed.")
            return 1
        }
    }

    private func help(_ names: ArraySlice<String>) throws -> Int32 {
        guard !names.isEmpty else {
            try Output.print(SecurityVerb.allCases.map { "    \($0.rawValue)\n" }.joined())
            return 0
        }
        for name in names {
            guard let verb = SecurityVerb(abbreviation: name) else {
                throw SecurityComplaint(status: 1, message: "help: no such command: \(name)")
            }
            try Output.print(verb.usage)
        }
        return 0
    }

    private static let usage =
        "Usage: security [-h] [-i] [-q] [-v] [command] [opt ...]\n    -i    reads commands from "
        + "standard input\n    -q    doesn't report which commands failed\nsecurity commands "
        + "are:\n"
        + SecurityVerb.allCases.map { "    \($0.rawValue)" }.joined(separator: "\n")

    // MARK: The password

    /// Asks for the password when the option `-w` has no value. At a terminal the password is
    /// entered twice. Otherwise it is a line of standard input. Further lines may only repeat it:
    /// scripts for macOS provide it twice.
    private mutating func askedSecret() throws -> Data {
        let mismatch = SecurityComplaint(status: 1, message: "passwords don't match")
        guard Descriptor.isTerminal(STDIN_FILENO), let terminal = Terminal() else {
            guard !isInteractive else {
                throw SecurityComplaint(
                    status: SecurityComplaint.wrongUsage,
                    message: "Commands are read from standard input: here, -w requires a value.")
            }
            guard let line = try input.next() else {
                throw SecurityComplaint(
                    status: 1,
                    message: "There is no password on standard input. Nothing was "
                        + "changed.")
            }
            // A secret with several lines is refused: only its first line would be saved.
            while let again = try input.next() {
                guard again == line else { throw mismatch }
            }
            return Data(line)
        }
        for _ in 0..<3 {
            guard let first = terminal.askHidden("password data for new item: "),
                let second = terminal.askHidden("retype password for new item: ")
            else { throw SecurityComplaint(status: 1) }
            if first.isEqual(to: second) { return Data(first.plainBytes) }
            terminal.show("passwords don't match\n")
        }
        throw SecurityComplaint(status: 1)
    }

    // MARK: Words

    /// Splits a line into words. Both kinds of quotes may enclose a word with spaces. A backslash
    /// quotes the next byte, even in quotes.
    private static func words(of line: [UInt8]) throws(SecurityComplaint) -> [String] {
        var words: [[UInt8]] = []
        var word: [UInt8]?
        var quote: UInt8?
        var isEscaped = false
        let marks = Array("\"'".utf8)
        for byte in line {
            let isSpace = byte == UInt8(ascii: " ") || (9...13).contains(byte)
            switch byte {
            case _ where isEscaped:
                word = (word ?? []) + [byte]
                isEscaped = false
            case UInt8(ascii: "\\"):
                word = word ?? []
                isEscaped = true
            case _ where byte == quote:
                words.append(word ?? [])
                (word, quote) = (nil, nil)
            case _ where quote == nil && word == nil && marks.contains(byte):
                (word, quote) = ([], byte)
            case _ where isSpace && quote == nil:
                if let word { words.append(word) }
                word = nil
            default: word = (word ?? []) + [byte]
            }
        }
        if let word { words.append(word) }
        let texts = words.compactMap { String(validating: $0, as: UTF8.self) }
        guard texts.count == words.count else {
            throw SecurityComplaint(
                status: SecurityComplaint.wrongUsage, message: "The command is not UTF-8.")
        }
        return texts
    }
}

/// The lines of standard input, each returned as soon as it is available.
private struct InputLines {
    private static let longest = 1 << 20
    private var bytes: [UInt8] = []
    private var hasEnded = false

    /// The next line, or `nil` at the end of the input.
    mutating func next() throws -> [UInt8]? {
        var searched = 0
        while true {
            if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeFirst(end + 1) }
                return Array(bytes[..<end])
            }
            searched = bytes.count
            if hasEnded {
                defer { bytes = [] }
                return bytes.isEmpty ? nil : bytes
            }
            guard bytes.count <= Self.longest,
                let part = try? [UInt8](readingFrom: STDIN_FILENO, atMost: 1 << 16)
            else { throw SecurityComplaint(status: 1, message: "Can't read standard input.") }
            hasEnded = part.isEmpty
            bytes += part
        }
    }
}
