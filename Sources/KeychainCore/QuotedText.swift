// QuotedText: escapes text from untrusted sources, such as paths and program names, for output on
// one line.
//   (1) Escaped text stays on one line, and a terminal shows all of it: characters that a terminal
//       would act on or not show, including those that control the text direction, are replaced
//       with escapes such as `\u{1b}`. Right-to-left letters remain, so a terminal may still
//       reorder them and the characters next to them.
//   (2) A quoted text can't contain its own end: quotation marks in it are escaped.

extension Unicode.Scalar {
    /// Whether a terminal, a pager or a line-oriented program would act on the character or not
    /// show it.
    ///
    /// These are the control characters (C0, DEL, C1), line and paragraph separators, format
    /// characters such as bidirectional controls and zero-width characters, private-use and
    /// unassigned characters, and all others that Unicode defines as default ignorable.
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

    /// The JSON escape: `\u` and four digits, or two of these for a character above U+FFFF.
    package var jsonEscape: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}

/// Escapes a text for output on one line. Unlike the result of ``quoted(_:)``, the result doesn't
/// show where the text ends.
package func escapedForLine(_ text: some StringProtocol) -> String {
    guard text.unicodeScalars.contains(where: \.isUnsafeInLine) else { return String(text) }
    return text.unicodeScalars.map { scalar in
        scalar.isUnsafeInLine
            ? "\\u{\(String(scalar.value, radix: 16))}" : String(Character(scalar))
    }.joined()
}

/// Returns the text in quotation marks and escaped for output on one line.
package func quoted(_ text: String) -> String {
    // Most texts are plain, and a loop over bytes is much faster than one over scalars.
    let isPlain = text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C }
    if isPlain { return "\"\(text)\"" }
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

/// Returns the text as a JSON string with its quotation marks. Characters that are unsafe in a line
/// are escaped as well.
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
