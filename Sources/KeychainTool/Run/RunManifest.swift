// RunManifest: a file of environment variables, which can name secrets instead of containing them.
//   (1) A line is NAME=VALUE, with or without `export` before it. Blank lines and comment lines,
//       which begin with `#`, are ignored. Simple `.env` files of other programs have the same
//       form.
//   (2) A value `keychain:ITEM` stands for the secret of an item, `keychain-file:ITEM` for the path
//       of a file in memory that contains the secret. Any other value is literal: nothing in it is
//       expanded.
//   (3) In single quotes there are no escapes; in double quotes \n, \r, \t, \", \\ and \$ are
//       escapes. Without quotes, white space around the value is ignored, and so is a comment: a
//       `#` that begins the value or follows white space, and everything after it. After a closing
//       quote, only white space and a comment may follow. Quotes don't prevent (2).
//   (4) A line that can't be parsed is an error with its line number. Of the line, the error
//       contains at most the text before the first `=`.

import Glibc
import KeychainCrypto

struct RunManifest {
    /// The variables that the file sets, in the order of its lines.
    let variables: [(name: String, value: VariableValue)]

    private static let largest = 1 << 20

    init(path: String) throws(ControlFailure) {
        guard let file = Files.open(path, O_RDONLY) else {
            throw ControlFailure(
                .failure, "Can't read the manifest \(path): \(errorText(errno)).")
        }
        guard let content = Files.content(of: file, atMost: Self.largest) else {
            throw ControlFailure(
                .failure,
                "Can't read the manifest \(path), or it is larger than \(Self.largest) bytes.")
        }
        try self.init(Array(content), named: path)
    }

    init(
        _ bytes: [UInt8], named path: String, consequence: String = "Nothing was started."
    ) throws(ControlFailure) {
        func failure(_ line: Int, _ problem: String) -> ControlFailure {
            ControlFailure(.failure, "\(path):\(line): \(problem) \(consequence)")
        }
        var variables: [(name: String, value: VariableValue)] = []
        var lines: [String: Int] = [:]
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let text = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
        let all = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in all.enumerated() {
            let number = index + 1
            guard !bytes.contains(0), let line = String(validating: bytes, as: UTF8.self) else {
                throw failure(number, "The line is not UTF-8 text.")
            }
            do throws(Problem) {
                guard let (name, value) = try Self.variable(of: line) else { continue }
                if let earlier = lines.updateValue(number, forKey: name) {
                    throw Problem("\(name) is already set in line \(earlier).")
                }
                variables.append((name, value))
            } catch {
                throw failure(number, error.text)
            }
        }
        self.variables = variables
    }

    private struct Problem: Error {
        let text: String

        init(_ text: String) { self.text = text }
    }

    private static func variable(
        of line: String
    ) throws(Problem) -> (name: String, value: VariableValue)? {
        var rest = trimmed(line[...])
        guard !rest.isEmpty, !rest.hasPrefix("#") else { return nil }
        let word = rest.prefix { !isBlank($0) }
        if word == "export" { rest = trimmed(rest.dropFirst(word.count)) }
        guard let parts = rest.split(atFirst: "=") else {
            throw Problem("The “=” is missing. Write NAME=VALUE.")
        }
        let name = trimmed(parts.before)
        guard NamedItem.isVariable(name) else {
            // The message doesn't quote the text, which may be part of a secret that began on an
            // earlier line.
            throw Problem(
                "The text before the “=” is not a valid variable name. \(NamedItem.nameRule)")
        }
        let text = try value(of: trimmed(parts.after))
        return (String(name), try reference(text))
    }

    /// Determines what a value stands for.
    private static func reference(_ text: String) throws(Problem) -> VariableValue {
        func item(after prefix: String) throws(Problem) -> ItemName? {
            guard text.hasPrefix(prefix) else { return nil }
            let name = String(text.dropFirst(prefix.count))
            guard !name.hasPrefix("//"), let item = ItemName(name) else {
                throw Problem("The service is missing. Write \(prefix)SERVICE/ACCOUNT.")
            }
            return item
        }
        if let item = try item(after: "keychain:") { return .secret(item) }
        if let item = try item(after: "keychain-file:") { return .file(item) }
        return .text(text)
    }

    // MARK: Values

    private static func value(of text: Substring) throws(Problem) -> String {
        guard let quote = text.unicodeScalars.first, quote == "'" || quote == "\"" else {
            return String(withoutRemark(text))
        }
        var value = String.UnicodeScalarView()
        var rest = text.unicodeScalars.dropFirst()
        while let character = rest.popFirst() {
            if character == quote {
                let after = trimmed(Substring(rest))
                guard after.isEmpty || after.hasPrefix("#") else {
                    throw Problem("There is text after the closing quote.")
                }
                return String(value)
            }
            guard quote == "\"", character == "\\" else {
                value.append(character)
                continue
            }
            value.append(try escaped(rest.popFirst()))
        }
        throw Problem("The closing quote is missing. A value can't continue on the next line.")
    }

    private static func escaped(
        _ character: Unicode.Scalar?
    ) throws(Problem) -> Unicode.Scalar {
        switch character {
        case "n": "\n"
        case "r": "\r"
        case "t": "\t"
        case "\"", "\\", "$": character ?? "\\"
        default:
            throw Problem(
                "In double quotes, a backslash must be followed by n, r, t, \", \\ or $. Use "
                    + "single quotes for a literal backslash.")
        }
    }

    private static func withoutRemark(_ text: Substring) -> Substring {
        var previous: Character = " "
        for index in text.indices {
            if text[index] == "#", isBlank(previous) { return trimmed(text[..<index]) }
            previous = text[index]
        }
        return text
    }

    /// Carriage returns count as blank, because lines written on Windows end with one.
    private static func isBlank(_ character: Character) -> Bool {
        character == " " || character == "\t" || character == "\r"
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var result = text.drop(while: isBlank)
        while let last = result.last, isBlank(last) { result.removeLast() }
        return result
    }
}
