// QuotedText: texts that others chose, such as paths and names of programs, made fit for a line.
//   (1) What is quoted here stands on one line and shows as what it is: whatever a terminal acts
//       on, shows in another order or doesn't show at all is an escape.
//   (2) The end of a quoted text can't be part of it: quotation marks in it are escaped.

extension Unicode.Scalar {
    /// Whether a terminal, a pager or a reader of lines acts on a character, shows the text around
    /// it in another order, or shows nothing.
    ///
    /// Controls (C0, DEL, C1), separators of lines and paragraphs, bidirectional controls, zero-width
    /// characters and all others that Unicode says are ignored where they aren't known.
    package var isUnsafeInLine: Bool {
        switch value {
        case 0x20..<0x7F: false
        case 0..<0xA0: true
        default:
            switch properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
                true
            default: properties.isDefaultIgnorableCodePoint
            }
        }
    }

    /// As JSON writes it: `\u` and four digits, twice for a character beyond U+FFFF.
    package var jsonEscape: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}

/// A text on one line, for people. Other than ``quoted(_:)`` it doesn't say where it ends.
package func escapedForLine(_ text: some StringProtocol) -> String {
    guard text.unicodeScalars.contains(where: \.isUnsafeInLine) else { return String(text) }
    return text.unicodeScalars.map { scalar in
        scalar.isUnsafeInLine
            ? "\\u{\(String(scalar.value, radix: 16))}" : String(Character(scalar))
    }.joined()
}

/// A text in quotation marks, on one line.
package func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        if scalar == "\\" || scalar == "\"" {
            result += "\\\(scalar)"
        } else if scalar.isUnsafeInLine {
            result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}

/// A text as JSON writes it, in quotation marks. What isn't fit for a line is escaped as well.
package func quotedAsJSON(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": result += "\\\""
        case "\\": result += "\\\\"
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        case _ where scalar.isUnsafeInLine: result += scalar.jsonEscape
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result + "\""
}
