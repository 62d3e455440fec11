// NetrcFile: parses `.netrc`, the file with the logins for ftp, curl and other programs, as
// described in the manual of GNU inetutils.
//   (1) Words are separated by blanks or line ends. In double quotes a word may contain blanks and
//       the escapes \", \\, \n, \r and \t, as in curl.
//   (2) A macro extends from its name to the next blank line and is skipped. `default` is an error,
//       because it names no machine.
//   (3) An entry of a machine without a password contains no secret, and is skipped.

enum NetrcFile {
    private struct Login {
        let machine: String
        let line: Int
        var user = ""
        var password: String?
    }

    static func items(in text: String) throws(ImportProblem) -> [ImportedItem] {
        var logins: [Login] = []
        var isMacro = false
        // The keyword whose value is expected next.
        var awaiting: (word: String, line: Int)?
        for (index, line) in text.lines.enumerated() {
            let number = index + 1
            let words = try words(
                of: Array(line.utf8), line: number, isMacro: isMacro, after: awaiting?.word)
            if isMacro {
                isMacro = !words.isEmpty
                continue
            }
            for word in words {
                if let awaited = awaiting {
                    awaiting = nil
                    switch awaited.word {
                    case "machine": logins.append(Login(machine: word, line: number))
                    case "macdef": isMacro = true
                    case "login": logins[logins.count - 1].user = word
                    case "password": logins[logins.count - 1].password = word
                    default: break
                    }
                    continue
                }
                switch word {
                case "machine", "macdef": awaiting = (word, number)
                case "login", "password", "account":
                    guard !logins.isEmpty else {
                        throw ImportProblem(
                            line: number,
                            text: "There is no machine before "
                                + "“\(word)”.")
                    }
                    awaiting = (word, number)
                case "default":
                    throw ImportProblem(
                        line: number, text: "“default” names no machine: remove it first.")
                default:
                    // The word may be part of a password, so the message doesn't contain it.
                    throw ImportProblem(
                        line: number,
                        text: "A keyword is not machine, login, password, account or macdef.")
                }
            }
        }
        if let awaiting {
            throw ImportProblem(
                line: awaiting.line,
                text: "The value of “\(awaiting.word)” is "
                    + "missing.")
        }
        return logins.compactMap { login in
            login.password.map {
                ImportedItem(
                    server: login.machine, account: login.user, secret: $0, line: login.line)
            }
        }
    }

    /// The words of a line. What follows the name of a macro belongs to the macro, and is left out.
    private static func words(
        of line: [UInt8], line number: Int, isMacro: Bool, after awaited: String?
    ) throws(ImportProblem) -> [String] {
        var words: [String] = []
        // The keyword whose value is the next word. Keywords and values alternate.
        var keyword = awaited
        var rest = line[...]
        let isBlank = { (byte: UInt8) in [0x20, 0x09, 0x0D].contains(byte) }
        while true {
            rest = rest.drop(while: isBlank)
            guard let first = rest.first else { return words }
            // A comment, unless a value is expected.
            if !isMacro, keyword == nil, first == UInt8(ascii: "#") { return words }
            var word: [UInt8] = []
            if first == UInt8(ascii: "\""), !isMacro {
                rest.removeFirst()
                while true {
                    guard let byte = rest.popFirst() else {
                        throw ImportProblem(line: number, text: "The closing quote is missing.")
                    }
                    if byte == UInt8(ascii: "\"") { break }
                    word.append(byte == UInt8(ascii: "\\") ? escaped(rest.popFirst()) : byte)
                }
            } else {
                word = Array(rest.prefix { !isBlank($0) })
                rest = rest.dropFirst(word.count)
            }
            let text = String(decoding: word, as: UTF8.self)
            words.append(text)
            if keyword == "macdef" { return words }
            keyword = keyword == nil ? text : nil
        }
    }

    private static func escaped(_ byte: UInt8?) -> UInt8 {
        switch byte {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: byte ?? UInt8(ascii: "\\")
        }
    }
}
