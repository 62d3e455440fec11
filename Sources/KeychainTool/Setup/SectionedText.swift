// SectionedText: edits settings NAME = VALUE in sections with headings in brackets, as Python's
// configparser reads them: the configuration files of pip and AWS.
//   (1) One setting is added, changed or removed, with its section's heading if necessary. All
//       other bytes are preserved. Comments between the lines of a value count as part of the
//       value.
//   (2) What configparser would reject is rejected: a setting before the first section, an invalid
//       line, and a section or setting that occurs twice. Names of settings that differ only in
//       case, or in `-` and `_`, count as the same.

import KeychainCore

struct SectionedText {
    private struct Setting {
        let section: String
        let name: String
        var value: String
        var lines: Range<Int>
    }

    private var lines: [String]
    /// The line index of each section's heading.
    private var sections: [String: Int] = [:]
    private var settings: [Setting] = []

    init(_ text: String) throws(TextProblem) {
        lines = text.lines.map { String($0) }
        var section: String?
        // The indentation of the last setting. Lines with a larger indentation continue its value.
        var indentation: Int?
        for (index, line) in lines.enumerated() {
            let content = Self.trimmed(line)
            if content.isEmpty || content.hasPrefix("#") || content.hasPrefix(";") { continue }
            let before = line.prefix { $0 == " " || $0 == "\t" }.count
            if let last = indentation, before > last {
                let setting = settings.count - 1
                settings[setting].value += "\n" + content
                settings[setting].lines = settings[setting].lines.lowerBound..<(index + 1)
                continue
            }
            if content.hasPrefix("["), let end = content.firstIndex(of: "]") {
                let name = String(content[..<end].dropFirst())
                guard !name.isEmpty, sections.updateValue(index, forKey: name) == nil else {
                    throw .notUnderstood(line: index + 1)
                }
                (section, indentation) = (name, nil)
                continue
            }
            guard let section, let sign = content.firstIndex(where: { $0 == "=" || $0 == ":" }),
                case let name = Self.name(content[..<sign]), !name.isEmpty,
                !settings.contains(where: { $0.section == section && $0.name == name })
            else { throw .notUnderstood(line: index + 1) }
            settings.append(
                Setting(
                    section: section, name: name,
                    value: Self.trimmed(content[content.index(after: sign)...]),
                    lines: index..<(index + 1)))
            indentation = before
        }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let start = text.drop(while: \.isWhitespace)
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { String(start[...$0]) } ?? ""
    }

    /// Normalizes a name as pip does, which accepts `keyring_provider` for `keyring-provider`.
    private static func name(_ text: Substring) -> String {
        trimmed(text).lowercased().replacing("_", with: "-")
    }

    func value(of name: String, in section: String) -> String? {
        find(name, in: section)?.value
    }

    func hasSection(_ name: String) -> Bool { sections[name] != nil }

    // MARK: Changes

    /// The change that makes the setting, or `nil` if it exists with this value already.
    ///
    /// - Throws: ``TextProblem`` if it has another value and `replacing` is not set.
    func setting(
        _ line: (name: String, value: String), in section: String, replacing: Bool
    ) throws(TextProblem) -> TextChange? {
        let ending = lines.first?.hasSuffix("\r") == true ? "\r" : ""
        let text = "\(line.name) = \(line.value)"
        var new = lines
        if let there = find(line.name, in: section) {
            guard there.value != line.value else { return nil }
            let number = there.lines.lowerBound + 1
            guard replacing else { throw .otherValue(there.value, line: number) }
            new.replaceSubrange(there.lines, with: [indentation(of: there) + text + ending])
            return TextChange(
                text: new.joined(separator: "\n"),
                shown: there.lines.map { TextChange.removed($0 + 1, Self.trimmed(lines[$0])) }
                    + [TextChange.added(number, text)])
        }
        if let heading = sections[section] {
            // Use the indentation of the first setting. With a smaller indentation, the first
            // setting would continue the value of the new one.
            let first = settings.first { $0.section == section }
            let space = first.map(indentation) ?? ""
            new.insert(space + text + ending, at: heading + 1)
            return TextChange(
                text: new.joined(separator: "\n"),
                shown: [TextChange.added(heading + 2, text)])
        }
        // The last element is the text after the last newline, which is usually empty.
        if new.last?.isEmpty == true { new.removeLast() }
        let number = new.count + 1
        new += ["[\(section)]" + ending, text + ending, ""]
        return TextChange(
            text: new.joined(separator: "\n"),
            shown: [
                TextChange.added(number, "[\(section)]"), TextChange.added(number + 1, text),
            ])
    }

    /// The change that removes a setting if it has this value, and its section's heading if nothing
    /// else is in the section. Returns `nil` if there is no such setting.
    func removing(_ line: (name: String, value: String), from section: String) -> TextChange? {
        guard let there = find(line.name, in: section), there.value == line.value,
            let heading = sections[section]
        else { return nil }
        var new = lines
        var shown = there.lines.map { TextChange.removed($0 + 1, Self.trimmed(lines[$0])) }
        new.removeSubrange(there.lines)
        let next = sections.values.filter { $0 > heading }.min() ?? lines.count
        let rest = (heading + 1..<next).filter { !there.lines.contains($0) }
        if rest.allSatisfy({ Self.trimmed(lines[$0]).isEmpty }) {
            new.remove(at: heading)
            shown.insert(TextChange.removed(heading + 1, "[\(section)]"), at: 0)
        }
        return TextChange(text: new.joined(separator: "\n"), shown: shown)
    }

    private func indentation(of setting: Setting) -> String {
        String(lines[setting.lines.lowerBound].prefix { $0 == " " || $0 == "\t" })
    }

    private func find(_ name: String, in section: String) -> Setting? {
        settings.first { $0.section == section && $0.name == Self.name(name[...]) }
    }
}
