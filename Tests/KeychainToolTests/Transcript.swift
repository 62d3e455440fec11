// Transcript: shell sessions with everything that they print.
// The notation, which Documentation/keychainctl.md uses too:
//
//   $ COMMAND      a command line for sh
//   > COMMAND      a continuation of the command line
//   ! LINE         a line of standard error
//   [N]            an exit status that is not 0
//   # COMMENT
//   anything else  a line of standard output. “(no newline)” marks a last line without a newline
//
//   (1) All steps of a transcript share one home and one keychain.
//   (2) Dates, references and sizes differ between runs. Fixed values replace them before the
//       comparison. The home is shown as “~”.

import Foundation
import Testing

struct Transcript: CustomStringConvertible {
    let path: String
    let steps: [Step]

    struct Step {
        /// The line number of the command, from 1.
        let line: Int
        var command: String
        /// The expected lines, in the notation.
        var expected: [String] = []
    }

    var description: String { (path as NSString).lastPathComponent }

    // MARK: Reading

    /// Reads a file. In a Markdown document each session is a code block that begins with
    /// ```` ```console ````. Any other file is a session from its start.
    init(path: String) throws {
        self.path = path
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let isDocument = path.hasSuffix(".md")
        var isInside = !isDocument
        var steps: [Step] = []
        var takesContinuation = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if isDocument, line.hasPrefix("```") {
                isInside = line == "```console"
                takesContinuation = false
                continue
            }
            guard isInside, !line.hasPrefix("# ") else { continue }
            if line.hasPrefix("$ ") {
                steps.append(Step(line: index + 1, command: String(line.dropFirst(2))))
                takesContinuation = true
            } else if takesContinuation, line.hasPrefix("> ") || line == ">" {
                steps[steps.count - 1].command += "\n" + line.dropFirst(2)
            } else if !steps.isEmpty {
                takesContinuation = false
                steps[steps.count - 1].expected.append(String(line))
            }
        }
        for index in steps.indices {
            while steps[index].expected.last == "" { steps[index].expected.removeLast() }
        }
        self.steps = steps
    }

    // MARK: Running

    /// Runs all steps and records where the output differs from the expected output. `prepare` adds
    /// to the keychain what the command line can't add.
    func run(preparing prepare: (TestHome) throws -> Void = { _ in }) throws {
        let home = try TestHome()
        try prepare(home)
        var names = ReplacedNames(home: home.path)
        for step in steps {
            let outcome = try home.run(step.command)
            let printed = Self.lines(of: outcome, &names)
            #expect(
                printed == step.expected,
                """
                \(self):\(step.line): \(step.command)
                printed:
                \(printed.joined(separator: "\n"))
                expected:
                \(step.expected.joined(separator: "\n"))
                """)
        }
    }

    private static func lines(
        of outcome: TestHome.Outcome, _ names: inout ReplacedNames
    ) -> [String] {
        var lines = Self.lines(names.replace(in: outcome.output))
        lines += Self.lines(names.replace(in: outcome.errors)).map { $0.isEmpty ? "!" : "! " + $0 }
        switch outcome.ending {
        case .exit(0): break
        case .exit(let status): lines.append("[\(status)]")
        case .signal(let number): lines.append("[signal \(number)]")
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    private static func lines(_ text: String) -> [String] {
        guard !text.isEmpty else { return [] }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" {
            lines.removeLast()
        } else {
            lines[lines.count - 1] += "(no newline)"
        }
        return lines
    }
}

/// Replaces everything that differs between runs with fixed text.
private struct ReplacedNames {
    let home: String
    private var references: [String: String] = [:]

    init(home: String) {
        self.home = home
    }

    mutating func replace(in text: String) -> String {
        var text = text.replacingOccurrences(of: home, with: "~")
        text.replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) { _ in "2026-05-01T12:00:00Z" }
        text.replace(/(size: +|"byteCount": )\d+/) { "\($0.output.1)98304" }
        text.replace(/damaged-\d+(-\d+)?/) { _ in "damaged-1777636800" }
        for match in text.matches(of: /\b[0-9a-f]{32}\b/) {
            let reference = String(match.output)
            if references[reference] == nil {
                let number = String(references.count + 1)
                references[reference] = String(repeating: "0", count: 32 - number.count) + number
            }
        }
        for (reference, name) in references {
            text = text.replacingOccurrences(of: reference, with: name)
        }
        return text
    }
}
