// Session: the commands of README.md together with what they print, so that it stays true.

public import Foundation
import Testing

/// The sessions of one section of a document: what stands between ```` ```console ```` and
/// ```` ``` ````. A line after "$ " is a command; the lines below it are what it prints, and a
/// last one such as "[1]" an exit status.
public struct Session {
    /// A command and all that it prints.
    public struct Step: Sendable {
        /// For the shell.
        public let command: String
        /// Standard output and standard error.
        public var output = ""
    }

    /// The commands in their order.
    public private(set) var steps: [Step] = []

    /// Reads a section.
    ///
    /// - Parameters:
    ///   - heading: The line after "## ", or its beginning.
    ///   - document: A Markdown file.
    /// - Throws: If it can't be read.
    public init(_ heading: String, in document: URL) throws {
        var isInSection = false
        var isInSession = false
        for line in try String(contentsOf: document, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("## ") {
                isInSection = line.dropFirst(3).hasPrefix(heading)
            } else if line.hasPrefix("```") {
                isInSession = isInSection && line == "```console"
            } else if isInSession, line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if isInSession, !steps.isEmpty {
                steps[steps.count - 1].output += line + "\n"
            }
        }
    }

    /// Runs the commands one after the other and compares.
    ///
    /// - Parameter home: Where.
    /// - Throws: If there are none, or what running one throws.
    public func check(in home: Home) throws {
        try #require(!steps.isEmpty)
        for step in steps {
            let printed = try home.run(step.command)
            #expect(printed == step.output, "\(step.command)")
        }
    }
}
