// PinentryAuthenticator: asks through pinentry, a program that shows a window and returns the
// user's input. The protocol is Assuan: lines of at most 1000 bytes, commands that are answered
// with OK or ERR, and data in percent-encoded lines that begin with D.
//   (1) Status lines and comments are ignored. A line that is neither one of these nor OK, ERR or D
//       ends the conversation with the result `unavailable`, and is never taken for the user's
//       input.

#if !canImport(Darwin)

package import KeychainCrypto
import KeychainCore

package struct PinentryAuthenticator: Authenticator {
    private let program: String
    private let environment: [String: String]

    /// Creates an authenticator. `program` is the path of an executable file.
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
        // Read the greeting.
        var reply = conversation.reply()
        for command in commands(for: question) {
            guard case .done = reply else { break }
            conversation.send(command.line)
            reply = conversation.reply()
            // A prompter that doesn't support an optional command works without it.
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
            // Only prompters in text mode need these options.
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

    /// Whether an error code is gpg-error's CANCELED, FULLY_CANCELED or TIMEOUT. The low 16 bits
    /// identify the error, the other bits its source.
    private static func isCancellation(_ code: UInt32) -> Bool {
        [99, 198, 62].contains(code & 0xFFFF)
    }
}

/// The encoding of text in a line of the Assuan protocol.
enum Assuan {
    /// The maximum length of a line, including its command, in bytes.
    static let longestLine = 1000
    /// The maximum length of an encoded argument, in bytes.
    private static let longestArgument = 900

    /// Encodes an argument for a line. The result ends before the first character that would make
    /// it longer than ``longestArgument``.
    static func encoded(_ text: String) -> String {
        var line = ""
        for character in text {
            var next = ""
            // A character can contain a percent sign or a line feed together with other scalars.
            for scalar in character.unicodeScalars {
                switch scalar {
                case "%", "\0"..<" ", "\u{7F}":
                    let digits = String(scalar.value, radix: 16, uppercase: true)
                    next += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
                default: next.unicodeScalars.append(scalar)
                }
            }
            if line.utf8.count + next.utf8.count > longestArgument { break }
            line += next
        }
        return line
    }
}

#endif
