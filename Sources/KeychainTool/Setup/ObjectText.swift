// ObjectText: adds, changes or removes one member in the text of a JSON object, which is Docker's
// config.json.
//   (1) The other members are preserved byte for byte, including the spelling of numbers, their
//       order and their indentation. Only white space next to the changed member can change.
//   (2) Text that `JSONDecoder` doesn't accept as an object is rejected, and so is an object that
//       has a member twice. Nested objects are not checked for repeated members.

import FoundationEssentials

struct ObjectText {
    private struct Member {
        let name: String
        /// The range from the beginning of the name to the end of the value.
        let range: Range<Int>
        /// The range of the value alone.
        let value: Range<Int>
    }

    private let bytes: [UInt8]
    private let body: Range<Int>
    private let members: [Member]

    init(_ text: String) throws(TextProblem) {
        let bytes = Array(text.utf8)
        var scanner = Scanner(bytes: bytes)
        guard (try? JSONDecoder().decode(AnyObject.self, from: Data(bytes))) != nil,
            let (body, members) = scanner.object(),
            Set(members.map(\.name)).count == members.count
        else { throw .notUnderstood(line: 1) }
        self.bytes = bytes
        self.body = body
        self.members = members
    }

    /// Decodes any JSON object, regardless of its members.
    private struct AnyObject: Decodable {
        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: Key.self)
        }

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
    }

    /// The value of a member, or `nil` if there is no such member or its value is not a string.
    func string(_ name: String) -> String? {
        members.first { $0.name == name }.flatMap { Self.string(bytes[$0.value]) }
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String? {
        try? JSONDecoder().decode(String.self, from: Data(bytes))
    }

    private func line(of index: Int) -> Int {
        bytes[..<index].count { $0 == UInt8(ascii: "\n") } + 1
    }

    private func shown(_ member: Member) -> String {
        TextChange.removed(
            line(of: member.range.lowerBound), String(decoding: bytes[member.range], as: UTF8.self))
    }

    private func change(
        _ range: Range<Int>, to text: String, _ shown: [String]
    ) -> TextChange {
        var new = bytes
        new.replaceSubrange(range, with: text.utf8)
        return TextChange(text: String(decoding: new, as: UTF8.self), shown: shown)
    }

    // MARK: Changes

    /// The change that sets a member, or `nil` if it has this value already. Name and value must
    /// not need escapes.
    ///
    /// - Throws: ``TextProblem`` if the member has another value and `replacing` is not set.
    func setting(
        _ name: String, to value: String, replacing: Bool
    ) throws(TextProblem) -> TextChange? {
        let text = "\"\(name)\": \"\(value)\""
        if let there = members.first(where: { $0.name == name }) {
            let known = Self.string(bytes[there.value])
            guard known != value else { return nil }
            let line = line(of: there.range.lowerBound)
            guard replacing else { throw .otherValue(known ?? "", line: line) }
            return change(
                there.range, to: text, [shown(there), TextChange.added(line, text)])
        }
        guard let first = members.first, let last = members.last else {
            return change(
                body, to: "\n\t\(text)\n",
                [TextChange.added(line(of: body.lowerBound) + 1, text)])
        }
        // Use the same white space as before the first member.
        let space = String(decoding: bytes[body.lowerBound..<first.range.lowerBound], as: UTF8.self)
        let number = line(of: last.range.upperBound) + space.utf8.count { $0 == UInt8(ascii: "\n") }
        let end = last.range.upperBound
        return change(end..<end, to: ",\(space)\(text)", [TextChange.added(number, text)])
    }

    /// The change that removes a member, or `nil` if there is no such member or it has another
    /// value.
    func removing(_ name: String, _ value: String) -> TextChange? {
        guard let index = members.firstIndex(where: { $0.name == name }),
            Self.string(bytes[members[index].value]) == value
        else { return nil }
        let member = members[index]
        let range =
            if members.count == 1 {
                body
            } else if index > 0 {
                members[index - 1].range.upperBound..<member.range.upperBound
            } else {
                member.range.lowerBound..<members[1].range.lowerBound
            }
        return change(range, to: "", [shown(member)])
    }

    // MARK: Reading

    /// Finds the members in a text that is known to be valid JSON.
    private struct Scanner {
        let bytes: [UInt8]
        var index = 0

        private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

        private mutating func skipSpace() {
            while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
        }

        mutating func object() -> (body: Range<Int>, members: [Member])? {
            skipSpace()
            guard byte == UInt8(ascii: "{") else { return nil }
            index += 1
            let start = index
            var members: [Member] = []
            while true {
                skipSpace()
                if byte == UInt8(ascii: "}") { return (start..<index, members) }
                if !members.isEmpty {
                    guard byte == UInt8(ascii: ",") else { return nil }
                    index += 1
                    skipSpace()
                }
                let name = index
                guard byte == UInt8(ascii: "\"") else { return nil }
                skipString()
                let text = ObjectText.string(bytes[name..<index])
                skipSpace()
                index += 1
                skipSpace()
                let value = index
                skipValue()
                guard let text, index <= bytes.count else { return nil }
                members.append(Member(name: text, range: name..<index, value: value..<index))
            }
        }

        private mutating func skipString() {
            index += 1
            while let byte, byte != UInt8(ascii: "\"") {
                index += byte == UInt8(ascii: "\\") ? 2 : 1
            }
            index = min(index + 1, bytes.count)
        }

        private mutating func skipValue() {
            var depth = 0
            while let byte {
                switch byte {
                case UInt8(ascii: "\""):
                    skipString()
                    if depth == 0 { return }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return }
                    depth -= 1
                    if depth == 0 {
                        index += 1
                        return
                    }
                case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
                    if depth == 0 { return }
                default: break
                }
                index += 1
            }
        }
    }
}
