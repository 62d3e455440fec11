// Example: the generated part of a format document, between two marks.

import FormatVectors
import FoundationEssentials

struct Example {
    private static let start = "<!-- example: written by format-vectors -->\n"
    private static let end = "<!-- end of example -->\n"

    let path: String

    init(document: String) {
        path = VectorFolder.path + "/../\(document).md"
    }

    /// Replaces the text between the marks. A document without marks isn't changed, and causes an
    /// error.
    func write(_ lines: [String]) throws {
        let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
        guard let start = text.firstRange(of: Self.start), let end = text.firstRange(of: Self.end),
            start.upperBound <= end.lowerBound
        else { throw VectorFileError(reason: "\(path) has no place for an example") }
        let block = "```text\n" + lines.joined(separator: "\n") + "\n```\n"
        let result = text[..<start.upperBound] + block + text[end.lowerBound...]
        try Data(result.utf8).write(to: URL(filePath: path))
    }

    /// A heading, followed by lines. Each line consists of an offset and up to 32 bytes.
    static func dump(_ title: String, _ bytes: some Sequence<UInt8>) -> [String] {
        let bytes = Array(bytes)
        let lines = stride(from: 0, to: bytes.count, by: 32).map { start in
            let offset = String(start)
            return String(repeating: " ", count: 6 - offset.count) + offset + "  "
                + Hex(bytes[start..<min(start + 32, bytes.count)]).digits
        }
        return ["\(title) (\(bytes.count) bytes)"] + lines
    }

    /// Bytes that count up from `first`, modulo 256.
    static func counting(from first: UInt8, count: Int = 32) -> [UInt8] {
        (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }
}
