// JSON: converts values to JSON text (RFC 8259), with members in the order given.
// Foundation's encoder is not used, because it costs milliseconds at the start of a process.

import KeychainCore

package enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Int64)
    case string(String)
    case array([JSON])
    case object([(String, JSON)])

    /// A string, or `null` for `nil`.
    static func optional(_ text: String?) -> JSON { text.map { .string($0) } ?? .null }

    static func count(_ number: Int) -> JSON { .number(Int64(number)) }

    /// The JSON text, indented by two spaces for each level. An empty array or object stays on one
    /// line.
    package var text: String {
        var text = ""
        write(to: &text, indent: 0)
        return text
    }

    private func write(to text: inout String, indent: Int) {
        switch self {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let number): text += String(number)
        case .string(let string): Self.write(string, to: &text)
        case .array(let values):
            Self.write(values, "[", "]", to: &text, indent) { value, text in
                value.write(to: &text, indent: indent + 1)
            }
        case .object(let members):
            Self.write(members, "{", "}", to: &text, indent) { member, text in
                Self.write(member.0, to: &text)
                text += ": "
                member.1.write(to: &text, indent: indent + 1)
            }
        }
    }

    private static func write<Element>(
        _ elements: [Element], _ start: String, _ end: String, to text: inout String,
        _ indent: Int, _ element: (Element, inout String) -> Void
    ) {
        text += start
        for (index, value) in elements.enumerated() {
            text += index == 0 ? "\n" : ",\n"
            text += String(repeating: "  ", count: indent + 1)
            element(value, &text)
        }
        if !elements.isEmpty { text += "\n" + String(repeating: "  ", count: indent) }
        text += end
    }

    private static func write(_ string: String, to text: inout String) {
        // Characters that a terminal interprets are escaped as well, so that JSON can be displayed
        // safely.
        text += quotedAsJSON(string)
    }
}
