// BranchTests: Documentation/Branches.md names existing tests, existing sections or a reason for
// every branch.

import Foundation
import Testing

@Suite struct `Branches of Apple's source` {
    private struct Branch: CustomStringConvertible {
        let line: Int
        let cells: [String]

        var answer: String { cells[2] }
        var evidence: String { cells[3] }
        var description: String { "Branches.md:\(line): \(cells)" }
        /// The names of tests, which are in backticks.
        var tests: [String] { evidence.matches(of: /`([^`]+)`/).map { String($0.1) } }
        /// The sections of Differences.md, as links name them.
        var sections: [String] {
            evidence.matches(of: /\(Differences\.md#([^)]+)\)/).map { String($0.1) }
        }
    }

    private static func branches() throws -> [Branch] {
        try Repository.file("Documentation/Branches.md")
            .split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
            .filter { $1.hasPrefix("|") && !$1.hasPrefix("|-") && !$1.hasPrefix("| Function |") }
            .map { index, line in
                let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                    .dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
                return Branch(line: index + 1, cells: cells)
            }
    }

    /// The names of test functions, and the titles of rows in the tables of behavior cases.
    private static func tests() throws -> Set<String> {
        var names: Set<String> = []
        for file in try Repository.files(in: "Tests/KeychainServicesTests", suffix: ".swift") {
            for (index, line) in file.lines.enumerated() {
                let code = line.drop { $0 == " " }
                if let row = code.prefixMatch(of: /(?:Damage)?Row\([0-9]+, "([^"\\]+)"\)/) {
                    names.insert(String(row.1))
                }
                guard let name = code.firstMatch(of: /func `([^`]+)`/)?.1 else { continue }
                let above = file.lines[..<index].suffix(3).reversed().prefix { !$0.isEmpty }
                if ([line] + above).contains(where: { $0.contains("@Test") }) {
                    names.insert(String(name))
                }
            }
        }
        return names
    }

    @Test
    func `every row of Branches.md has existing tests, existing sections or a reason`()
        throws
    {
        let tests = try Self.tests()
        let sections = Set(
            try Repository.file("Documentation/Differences.md").split(separator: "\n")
                .filter { $0.hasPrefix("## ") }
                .map { $0.dropFirst(3).lowercased().replacing(" ", with: "-") })
        let branches = try Self.branches()
        for branch in branches {
            try #require(branch.cells.count == 4, "\(branch)")
            #expect(branch.cells.allSatisfy { !$0.isEmpty }, "\(branch)")
            switch branch.answer {
            case "same": #expect(!branch.tests.isEmpty, "\(branch)")
            case "different": #expect(!branch.sections.isEmpty, "\(branch)")
            case "not here":
                #expect(branch.evidence.contains(/^reason: ./), "\(branch)")
                continue
            default: Issue.record("\(branch)")
            }
            for test in branch.tests { #expect(tests.contains(test), "\(branch): `\(test)`") }
            for section in branch.sections {
                #expect(sections.contains(section), "\(branch): \(section)")
            }
        }
        #expect(branches.count > 100)
    }

    @Test func `Branches.md states the number of its branches`() throws {
        let text = try Repository.file("Documentation/Branches.md")
        let counts = try #require(
            text.firstMatch(of: /(\d+) branches: (\d+) same, (\d+) different, (\d+) not here\./))
        let answers = try Self.branches().map(\.answer)
        #expect(Int(counts.1) == answers.count)
        let declared = [
            ("same", counts.2), ("different", counts.3), ("not here", counts.4),
        ]
        for (answer, count) in declared {
            #expect(Int(count) == answers.count { $0 == answer }, "\(answer)")
        }
    }
}
