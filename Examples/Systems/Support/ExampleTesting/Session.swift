// Session: the commands of README.md together with what they print, so that it stays true.

import Foundation
import Testing

/// The sessions of a document: what stands between ```` ```console ```` and ```` ``` ````. A line
/// after "$ " is a command; the lines below it are what it prints, and a last one such as "[1]" is
/// an exit status.
public struct Session {
    /// A command and all that it prints.
    public struct Step: Sendable {
        /// For the shell.
        public let command: String
        /// Standard output and standard error.
        public var output = ""
    }

    /// The name of the system's folder.
    public let system: String

    /// The commands in their order.
    public private(set) var steps: [Step] = []

    /// Reads the README of a system.
    ///
    /// - Parameter system: The name of its folder.
    /// - Throws: If it can't be read.
    public init(readmeOf system: String) throws {
        self.system = system
        var isInSession = false
        let readme = folder(ofSystem: system).appending(path: "README.md")
        for line in try String(contentsOf: readme, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("```") {
                isInSession = line == "```console"
            } else if isInSession, line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if isInSession, !steps.isEmpty {
                steps[steps.count - 1].output += line + "\n"
            }
        }
    }

    /// Runs the commands one after the other and compares.
    ///
    /// What they print is added to the file that the variable `KEYCHAIN_SESSIONS` names, if it is
    /// set: `./dev systems` shows it.
    ///
    /// - Parameter home: The home that they run in.
    /// - Throws: If there are none, or what running one throws.
    public func check(in home: Home) throws {
        try #require(!steps.isEmpty)
        var transcript = "\n== \(system)\n\n"
        for step in steps {
            let printed = try home.run(step.command)
            #expect(printed == step.output, "\(step.command)")
            transcript += "$ \(step.command)\n\(printed)"
        }
        if let path = ProcessInfo.processInfo.environment["KEYCHAIN_SESSIONS"] {
            let shown = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            try (shown + transcript).write(toFile: path, atomically: true, encoding: .utf8)
        }
    }
}
