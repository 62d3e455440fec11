// RequirementsTests: Documentation/Requirements.md names an existing test for every sentence, or
// what the sentence waits for. Documentation/Cases.md contains every behavior case that tests and
// Documentation/Differences.md cite by number.

import Foundation
import Testing

/// A row of the table: a sentence, and the tests that verify it.
struct RequirementRow: CustomStringConvertible {
    /// The first word of the heading above the row: "0", "S1" and so on.
    let section: String
    let line: Int
    let sentence: String
    /// The names of tests, which are in backticks.
    let tests: [String]
    /// The files that contain the tests, relative to the root.
    let files: [String]
    /// What the row waits for if its test is "not yet", otherwise `nil`.
    let waitsFor: String?
    /// Whether the row is below the heading "To the letter".
    let isToTheLetter: Bool

    /// Whether the sentence says that it is met only in part.
    var isPartial: Bool { sentence.hasPrefix("in part: ") }

    var description: String { "Requirements.md:\(line): \(sentence)" }

    /// The rows of a document, without the headings of tables and other lines.
    static func all(in lines: [Substring]) -> [RequirementRow] {
        var section = ""
        var isToTheLetter = false
        return lines.enumerated().compactMap { index, line in
            if line.hasPrefix("## ") {
                section = String(line.dropFirst(3).prefix { $0 != "." && $0 != " " })
                isToTheLetter = false
                return nil
            }
            if line == "### To the letter" { isToTheLetter = true }
            // The line below the heading of a table has only bars, dashes, colons and spaces.
            guard line.hasPrefix("|"), !line.allSatisfy({ "|-: ".contains($0) }) else { return nil }
            let isHeading =
                index + 1 < lines.count && lines[index + 1].hasPrefix("|-")
                || index + 1 < lines.count && lines[index + 1].hasPrefix("| -")
            guard !isHeading, !section.isEmpty else { return nil }
            return RequirementRow(
                section: section, isToTheLetter: isToTheLetter, line: index + 1,
                cells: cells(of: line))
        }
    }

    private init(section: String, isToTheLetter: Bool, line: Int, cells: [String]) {
        self.section = section
        self.isToTheLetter = isToTheLetter
        self.line = line
        sentence = cells.first ?? ""
        let test = cells.count > 1 ? cells[1] : ""
        let file = cells.count > 2 ? cells[2] : ""
        if test.hasPrefix("not yet") {
            waitsFor = test.dropFirst("not yet".count)
                .trimmingCharacters(in: CharacterSet(charactersIn: ": "))
            tests = []
            files = []
        } else {
            waitsFor = nil
            tests = Self.quoted(test)
            files =
                Self.quoted(file).isEmpty
                ? file.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                : Self.quoted(file)
        }
    }

    /// The cells of a row. A vertical bar in backticks is part of its cell.
    private static func cells(of line: Substring) -> [String] {
        var cells: [String] = []
        var cell = ""
        var isQuoted = false
        for character in line.dropFirst() {
            if character == "`" { isQuoted.toggle() }
            if character == "|", !isQuoted {
                cells.append(cell.trimmingCharacters(in: .whitespaces))
                cell = ""
            } else {
                cell.append(character)
            }
        }
        return cells
    }

    private static func quoted(_ cell: String) -> [String] {
        cell.matches(of: /`([^`]+)`/).map { String($0.1) }
    }
}

@Suite struct `Requirements` {
    @Test func `every sentence in Requirements.md has a test or says what it waits for`() throws {
        for row in try Self.rows() {
            #expect(!row.sentence.isEmpty, "\(row)")
            if let reason = row.waitsFor {
                #expect(!reason.isEmpty, "\(row) doesn't say what it waits for")
            } else {
                #expect(!row.tests.isEmpty && !row.files.isEmpty, "\(row) has no test")
            }
        }
    }

    @Test func `every test named in Requirements.md exists in the named file`() throws {
        var texts: [String: String] = [:]
        var count = 0
        for row in try Self.rows() {
            for file in row.files where texts[file] == nil {
                guard Repository.exists(file), file.hasSuffix(".swift") else {
                    Issue.record("\(row): there is no \(file)")
                    continue
                }
                texts[file] = try Repository.file(file)
            }
            for test in row.tests {
                count += 1
                let isThere = row.files.contains { Self.isTest(test, in: texts[$0] ?? "") }
                #expect(isThere, "\(row): there is no test `\(test)` in \(row.files)")
            }
        }
        #expect(count > 40)
    }

    @Test func `every section of Requirements.md has at least ten rows`() throws {
        let sections = Dictionary(grouping: try Self.rows(), by: \.section)
        for section in ["0", "S1", "S2", "S3", "S4", "S5"] {
            #expect((sections[section]?.count ?? 0) >= 10, "section \(section)")
        }
        // The rows with names, values and flows that the source of the section prescribes exactly.
        for section in ["S1", "S2", "S3", "S4", "S5"] {
            let rows = sections[section]?.filter(\.isToTheLetter) ?? []
            #expect(rows.count >= 10, "section \(section), to the letter")
        }
        #expect(sections.count == 6)
    }

    @Test func `Requirements.md states the number of its rows, and of those not met completely`()
        throws
    {
        let rows = try Self.rows()
        let waiting = rows.filter { $0.waitsFor != nil }
        let partial = rows.filter(\.isPartial)
        let text = try Repository.file("Documentation/Requirements.md")
        let counts = text.firstMatch(of: /(\d+) rows: (\d+) met, (\d+) in part, (\d+) not yet\./)
        let declared = try #require(counts)
        let list = (waiting + partial).map(\.description).joined(separator: "\n")
        let met = rows.count - waiting.count - partial.count
        #expect(
            [declared.1, declared.2, declared.3, declared.4].map { Int($0) }
                == [rows.count, met, partial.count, waiting.count],
            "\(rows.count) rows: \(met) met, \(partial.count) in part, \(waiting.count) not yet\n\(list)"
        )
    }

    // MARK: Reading

    @Test func `the rows of Requirements.md are parsed`() {
        let rows = RequirementRow.all(in: [
            "# Title", "| no section | `a` | B.swift |", "## S1. Name", "",
            "| Sentence | Test | File |",
            "|---|---|---|", "| One. | `a b` | `C/D.swift` |",
            "| Two. | `c`, `d | e` | F.swift, G.swift |",
            "| Three. | not yet: the service | |", "### To the letter", "| in part: Four. | | |",
            "## 0. Decisions",
            "| Sentence | Test | File |", "| --- | --- | --- |", "| Five. | text | H.swift |",
        ])
        #expect(rows.map(\.sentence) == ["One.", "Two.", "Three.", "in part: Four.", "Five."])
        #expect(rows.map(\.isToTheLetter) == [false, false, false, true, false])
        #expect(rows.map(\.isPartial) == [false, false, false, true, false])
        #expect(rows.map(\.tests) == [["a b"], ["c", "d | e"], [], [], []])
        #expect(rows.prefix(2).map(\.files) == [["C/D.swift"], ["F.swift", "G.swift"]])
        #expect(rows.map(\.waitsFor) == [nil, nil, "the service", nil, nil])
        #expect(rows.map(\.section) == ["S1", "S1", "S1", "S1", "0"])
    }

    @Test(arguments: [
        ("    @Test func `a b`() {", true),
        ("@Test(arguments: [1])\n    func `a b`(x: Int) {", true),
        ("@Test(arguments: [\n1,\n])\n@MainActor\nfunc `a b`() {", true),
        ("func `a b`() {", false), ("@Test func `a`() {\n}\n\nfunc `a b`() {", false),
        ("// @Test func `a b`() {", false), ("@Test func `a b c`() {", false),
        ("    Row(58, \"a b\") { k in", true), ("@Test func `a b`(x: Int) {", true),
        ("    Row(58, \"a b c\") { k in", false),
    ])
    func `a test is told apart from other text with its name`(text: String, isTest: Bool) {
        #expect(Self.isTest("a b", in: text) == isTest)
    }

    private static func rows() throws -> [RequirementRow] {
        let text = try Repository.file("Documentation/Requirements.md")
        return RequirementRow.all(in: text.split(separator: "\n", omittingEmptySubsequences: false))
    }

    /// Whether a text contains a test function with this name, or a row with this name in a table
    /// of behavior cases.
    private static func isTest(_ name: String, in text: String) -> Bool {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let code = line.trimmingCharacters(in: .whitespaces)
            guard !code.hasPrefix("//") else { continue }
            if code.hasPrefix("Row("), code.contains(", \"\(name)\")") { return true }
            guard code.contains("func `\(name)`") || code.contains("func \(name)(") else {
                continue
            }
            // The attribute is on the same line or above it, without an empty line between them.
            let above = lines[..<index].reversed().prefix { !$0.allSatisfy(\.isWhitespace) }
            if ([line] + above.prefix { !$0.contains("func ") }).contains(where: {
                $0.contains("@Test")
            }) {
                return true
            }
        }
        return false
    }
}

@Suite struct `Behavior cases` {
    @Test func `Cases.md has each number once, in order`() throws {
        let numbers = try Self.documented()
        #expect(numbers.count > 250)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test func `each number that a test cites is in Cases.md`() throws {
        let documented = Set(try Self.documented())
        var count = 0
        for file in try Repository.files(
            in: "Tests/KeychainServicesTests/Cases", suffix: ".swift")
        {
            for (index, line) in file.lines.enumerated() where line.contains("Row(") {
                for row in line.matches(of: /\b(?:Damage)?Row\(([0-9]+), "/) {
                    count += 1
                    let number = try #require(Int(row.1))
                    #expect(documented.contains(number), "\(file):\(index + 1) cites \(number)")
                }
            }
        }
        #expect(count > 200)
    }

    /// The numbers are in the last column of the tables of differences.
    @Test func `each number that a difference cites is in Cases.md`() throws {
        let documented = Set(try Self.documented())
        var count = 0
        for line in try Repository.file("Documentation/Differences.md").split(separator: "\n") {
            guard let column = line.firstMatch(of: /\| ([0-9]+(?:, [0-9]+)*) \|$/) else { continue }
            for number in column.1.split(separator: ", ") {
                count += 1
                let isThere = Int(number).map(documented.contains) == true
                #expect(isThere, "Differences.md cites \(number)")
            }
        }
        #expect(count > 25)
    }

    private static func documented() throws -> [Int] {
        try Repository.file("Documentation/Cases.md").split(separator: "\n").compactMap { line in
            line.prefixMatch(of: /\| ([0-9]+) \|/).flatMap { Int($0.1) }
        }
    }
}
