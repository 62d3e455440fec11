// SecurityRequest: parses the password commands of macOS's security(1) and their options.
//   (1) Options are parsed as by BSD's getopt(3): `-s NAME` and `-sNAME`, combined flags as in
//       `-gw`, `--` as the end of the options, and no options after the first operand.
//   (2) No secret is accepted in the arguments of a process. A command that is read from standard
//       input, as with `security -i`, may contain one.

import FoundationEssentials
import KeychainCore

enum SecurityVerb: String, CaseIterable {
    case addGeneric = "add-generic-password"
    case addInternet = "add-internet-password"
    case findGeneric = "find-generic-password"
    case findInternet = "find-internet-password"
    case deleteGeneric = "delete-generic-password"
    case deleteInternet = "delete-internet-password"

    var itemClass: ItemClass { rawValue.contains("generic") ? .genericPassword : .internetPassword }
    var adds: Bool { rawValue.hasPrefix("add-") }
    var finds: Bool { rawValue.hasPrefix("find-") }

    /// The attribute that says what the item is for. To add an item, this attribute and the
    /// account are required.
    var place: Attribute { itemClass == .genericPassword ? .service : .server }

    /// The verb that begins with the abbreviation, or `nil` if none or more than one does.
    init?(abbreviation: String) {
        let verbs = Self.allCases.filter { $0.rawValue.hasPrefix(abbreviation) }
        guard !abbreviation.isEmpty, let verb = verbs.first, verbs.count == 1 else { return nil }
        self = verb
    }

    // MARK: Options

    fileprivate enum Meaning {
        case text(Attribute)
        /// Four characters, which are stored as text (`characters`) or as the number that they
        /// encode (`code`).
        case characters(Attribute)
        case code(Attribute)
        case port
        case secret, hexadecimalSecret
        case update, show, showSecretOnly
        /// `-A` and `-T`: the programs that may use the item. Both options are ignored, because on
        /// Linux entitlements determine these programs.
        case anyProgram, program

        var takesValue: Bool {
            switch self {
            case .text, .characters, .code, .port, .secret, .hexadecimalSecret, .program: true
            case .update, .show, .showSecretOnly, .anyProgram: false
            }
        }
    }

    fileprivate func meaning(of option: Character) -> Meaning? {
        switch (option, itemClass == .genericPassword) {
        case ("a", _): .text(.account)
        case ("c", _): .code(.creator)
        case ("C", _): .code(.type)
        case ("D", _): .text(.description)
        case ("j", _): .text(.comment)
        case ("l", _): .text(.label)
        case ("s", _): .text(place)
        case ("G", true): .text(.generic)
        case ("d", false): .text(.securityDomain)
        case ("p", false): .text(.path)
        case ("P", false): .port
        case ("r", false): .characters(.protocolType)
        case ("t", false): .characters(.authenticationType)
        case ("p", true), ("w", _), ("X", _), ("U", _), ("A", _), ("T", _), ("g", _):
            meaning(ofOwn: option)
        default: nil
        }
    }

    /// The meaning of an option for this verb, for the options whose meaning depends on whether the
    /// verb adds, finds or deletes.
    private func meaning(ofOwn option: Character) -> Meaning? {
        switch option {
        case "p": adds ? .secret : nil
        case "w": adds ? .secret : finds ? .showSecretOnly : nil
        case "X": adds ? .hexadecimalSecret : nil
        case "U": adds ? .update : nil
        case "A": adds ? .anyProgram : nil
        case "T": adds ? .program : nil
        case "g": finds ? .show : nil
        default: nil
        }
    }

    var usage: String {
        let generic = itemClass == .genericPassword
        let place = generic ? "service" : "server"
        var lines = [
            "Usage: \(rawValue) [-a account] [-s \(place)] [options...] "
                + (adds ? "[keychain]" : finds ? "[-g | -w] [keychain...]" : "[keychain...]"),
            "    -a  the account" + (adds ? " (required)" : ""),
            "    -s  the \(place)" + (adds ? " (required)" : ""),
        ]
        if generic {
            lines.append("    -G  the generic attribute")
        } else {
            lines += [
                "    -d  the security domain",
                "    -p  the path",
                "    -P  the port",
                "    -r  the protocol, four characters",
                "    -t  the authentication type, four characters",
            ]
        }
        lines += [
            "    -l  the label" + (adds ? "; the default is the \(place)" : ""),
            "    -D  the kind",
            "    -j  the comment",
            "    -c  the creator, four characters",
            "    -C  the type, four characters",
        ]
        if adds {
            lines += [
                "    -w  as the last word: asks for the password, or reads it from standard input",
                "    -U  updates an existing item",
                "    -A, -T  ignored",
            ]
        } else if finds {
            lines += [
                "    -g  shows the password as well, on standard error",
                "    -w  shows only the password",
            ]
        }
        return lines.joined(separator: "\n")
    }
}

/// The reason why a command failed.
struct SecurityComplaint: Error {
    /// The exit status, or an `OSStatus` whose lowest eight bits become the exit status.
    let status: Int32
    /// A line for standard error; empty if there is no message.
    var message = ""
    /// The verb whose usage is shown, if any.
    var usage: SecurityVerb?

    /// The exit status of security(1) for invalid arguments.
    static let wrongUsage: Int32 = 2
}

struct SecurityRequest {
    enum Secret {
        case asked
        case given(Data)
    }

    let verb: SecurityVerb
    var attributes: Attributes = [:]
    var secret: Secret?
    var updates = false
    var showsSecret = false
    var showsSecretOnly = false
    /// The names of keychains at the end of the command.
    let keychains: [String]

    /// Parses the arguments of a verb. `mayHoldSecret` is `true` if no other program can see the
    /// arguments, so that they may contain a secret.
    init(
        _ verb: SecurityVerb, _ arguments: [String], mayHoldSecret: Bool
    ) throws(SecurityComplaint) {
        self.verb = verb
        var rest = arguments[...]
        var options: [(SecurityVerb.Meaning, String?)] = []
        while let word = rest.first, word.hasPrefix("-"), word != "-" {
            rest.removeFirst()
            if word == "--" { break }
            var letters = word.dropFirst()
            while let letter = letters.popFirst() {
                guard let meaning = verb.meaning(of: letter) else {
                    throw Self.misuse(verb, "illegal option -- \(letter)")
                }
                guard meaning.takesValue else {
                    options.append((meaning, nil))
                    continue
                }
                let value = letters.isEmpty ? rest.popFirst() : String(letters)
                letters = ""
                if value == nil, case .secret = meaning {
                } else if value == nil {
                    throw Self.misuse(verb, "option requires an argument -- \(letter)")
                }
                options.append((meaning, value))
            }
        }
        keychains = Array(rest)
        for (meaning, value) in options {
            try apply(meaning, value ?? "", isThere: value != nil, mayHoldSecret)
        }
        guard !verb.adds || (attributes[.account] != nil && attributes[verb.place] != nil),
            !verb.adds || keychains.count <= 1
        else { throw SecurityComplaint(status: SecurityComplaint.wrongUsage, usage: verb) }
    }

    private mutating func apply(
        _ meaning: SecurityVerb.Meaning, _ value: String, isThere: Bool, _ mayHoldSecret: Bool
    ) throws(SecurityComplaint) {
        switch meaning {
        case .text(let name):
            attributes[name] = name == .generic ? .data(Data(value.utf8)) : .string(value)
        case .characters(let name):
            _ = try Self.code(value)
            attributes[name] = .string(value)
        case .code(let name): attributes[name] = .number(Int64(try Self.code(value)))
        case .port:
            guard let port = Int64(value), (0...65535).contains(port) else {
                throw Self.misuse(verb, "the port must be a number up to 65535")
            }
            // Port 0 means no port: a search then matches any port, and an added item has none.
            attributes[.port] = port == 0 ? nil : .number(port)
        case .secret, .hexadecimalSecret:
            guard isThere else { return secret = .asked }
            guard mayHoldSecret else {
                throw SecurityComplaint(
                    status: SecurityComplaint.wrongUsage,
                    message: "Secrets are not accepted as arguments, where others can see them. "
                        + "Use -w as the last word to be asked for the password, or to read it "
                        + "from standard input. `security -i` reads whole commands from standard "
                        + "input.")
            }
            guard case .hexadecimalSecret = meaning else {
                secret = .given(Data(value.utf8))
                return
            }
            guard let bytes = Self.bytes(hexadecimal: value) else {
                throw Self.misuse(verb, "-X requires pairs of hexadecimal digits")
            }
            secret = .given(bytes)
        case .update: updates = true
        case .show: showsSecret = true
        case .showSecretOnly: showsSecretOnly = true
        case .anyProgram, .program: break
        }
    }

    private static func misuse(_ verb: SecurityVerb, _ message: String) -> SecurityComplaint {
        SecurityComplaint(status: SecurityComplaint.wrongUsage, message: message, usage: verb)
    }

    private static func code(_ text: String) throws(SecurityComplaint) -> UInt32 {
        guard text.utf8.count == 4 else {
            throw SecurityComplaint(
                status: 1, message: "Four-character types must be exactly 4 characters long.")
        }
        return text.utf8.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func bytes(hexadecimal text: String) -> Data? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes = Data()
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = digits[index...index + 1]
            guard pair.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}
