// PinentryAuthenticator: asks through pinentry, a program that shows one window and gives back
// what was typed. The protocol is Assuan's: lines of 1000 bytes at the most, commands answered by
// OK or ERR, data in lines that begin with D and are percent-encoded.
//   (1) Whatever the program sends is read as such a line or ends the conversation: as
//       unavailable, never as an answer.

#if !canImport(Darwin)

package import KeychainCrypto
import KeychainCore

package struct PinentryAuthenticator: Authenticator {
    private let program: String
    private let environment: [String: String]

    /// `program` is the path of an executable file.
    package init(program: String, environment: [String: String]) {
        self.program = program
        self.environment = environment
    }

    package var canAsk: Bool { true }

    package func ask(_ question: Question, until interruption: Interruption) -> Answer {
        guard
            let conversation = Conversation(
                program: program, environment: environment, until: interruption)
        else { return .unavailable }
        defer { conversation.end() }
        // The greeting.
        var reply = conversation.reply()
        for command in commands(for: question) {
            guard case .done = reply else { break }
            conversation.send(command.line)
            reply = conversation.reply()
            // A prompter that doesn't know an option works without it.
            if case .refused = reply, command.isOptional { reply = .done(nil) }
        }
        switch reply {
        case .done(let pin): return .entered(pin ?? SecretBytes(copying: []))
        case .refused(let code): return Self.isCancellation(code) ? .cancelled : .unavailable
        case .interrupted: return .interrupted
        case .broken: return .unavailable
        }
    }

    private struct Command {
        let line: String
        var isOptional = true

        init(_ name: String, _ argument: String = "") {
            line = argument.isEmpty ? name : "\(name) \(Assuan.encoded(argument))"
        }
    }

    private func commands(for question: Question) -> [Command] {
        var commands: [Command] = []
        for (option, value) in [
            // Of use to a prompter that works in text only.
            ("ttyname", environment["GPG_TTY"] ?? "/dev/tty"), ("ttytype", environment["TERM"]),
            ("lc-ctype", environment["LC_ALL"] ?? environment["LC_CTYPE"] ?? environment["LANG"]),
        ] {
            if let value, !value.isEmpty {
                commands.append(Command("OPTION", "\(option)=\(value)"))
            }
        }
        commands += [
            Command("SETTITLE", "Keychain"), Command("SETDESC", question.introduction),
            Command("SETPROMPT", question.label + ":"),
        ]
        if !question.complaint.isEmpty { commands.append(Command("SETERROR", question.complaint)) }
        if let title = question.cancelTitle, !title.isEmpty {
            commands.append(Command("SETCANCEL", Question.printable(title)))
        }
        var ask = Command("GETPIN")
        ask.isOptional = false
        return commands + [ask]
    }

    /// The low 16 bits of a code say what happened: gpg-error's CANCELED, FULLY_CANCELED and
    /// TIMEOUT. The rest says where.
    private static func isCancellation(_ code: UInt32) -> Bool {
        [99, 198, 62].contains(code & 0xFFFF)
    }
}

/// The way in which text goes into a line.
enum Assuan {
    /// The longest line with its command, in bytes.
    static let longestLine = 1000
    private static let longestArgument = 900

    /// An argument as it stands in a line. What would make the line too long is left out.
    static func encoded(_ text: String) -> String {
        var line = ""
        for character in text {
            var next = ""
            for byte in String(character).utf8 {
                switch byte {
                case UInt8(ascii: "%"), 0..<0x20, 0x7F:
                    let digits = String(byte, radix: 16, uppercase: true)
                    next += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
                default: next.unicodeScalars.append(Unicode.Scalar(byte))
                }
            }
            // Bytes of other than ASCII characters go as they are.
            if character.unicodeScalars.contains(where: { !$0.isASCII }) {
                next = String(character)
            }
            if line.utf8.count + next.utf8.count > longestArgument { break }
            line += next
        }
        return line
    }
}

#endif
