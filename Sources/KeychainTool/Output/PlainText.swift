// PlainText: text for a terminal or a shell: escapes and quotation for untrusted text, counts, and
// tables.

import KeychainCore

/// A number in lower-case hexadecimal digits, padded with zeros.
func hexadecimal(_ value: UInt32, digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}

/// A text on one line, with escapes for backslashes and for all characters that a terminal would
/// act on or not show.
package func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0 == "\\" || $0.isUnsafeInLine }) else {
        return text
    }
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\\": result += "\\\\"
        case "\n": result += "\\n"
        case "\r": result += "\\r"
        case "\t": result += "\\t"
        case _ where scalar.isUnsafeInLine:
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}

/// A text quoted as one word of a shell's command line.
package func shellQuoted(_ text: String) -> String {
    let plain = { (scalar: Unicode.Scalar) in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".", "/", ":", "@", "+", ",": true
        default: false
        }
    }
    if !text.isEmpty, text.unicodeScalars.allSatisfy(plain) { return text }
    if text.unicodeScalars.contains(where: \.isUnsafeInLine) {
        // This form, $'…', works in bash, zsh and ksh, but not in fish and dash.
        var result = "$'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": result += "\\'"
            case "\\": result += "\\\\"
            case _ where scalar.isUnsafeInLine:
                result +=
                    scalar.value > 0xFFFF
                    ? "\\U" + hexadecimal(scalar.value, digits: 8)
                    : "\\u" + hexadecimal(scalar.value, digits: 4)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "'"
    }
    return "'"
        + text.split(separator: "'", omittingEmptySubsequences: false)
        .joined(separator: "'\\''") + "'"
}

/// A count with its noun, such as "1 item" or "2 items".
func counted(_ count: Int, _ singular: String) -> String {
    "\(count) \(singular)\(count == 1 ? "" : "s")"
}

/// A table whose columns are as wide as their widest cell, without spaces at the ends of lines.
package func table(_ rows: [[String]], separator: String = "  ") -> String {
    var widths: [Int] = []
    for row in rows {
        for (column, cell) in row.enumerated() {
            if column == widths.count { widths.append(0) }
            widths[column] = max(widths[column], cell.count)
        }
    }
    var text = ""
    for row in rows {
        var line = ""
        for (column, cell) in row.enumerated() {
            if column > 0 { line += separator }
            line += cell + String(repeating: " ", count: widths[column] - cell.count)
        }
        while line.hasSuffix(" ") { line.removeLast() }
        text += line + "\n"
    }
    return text
}
