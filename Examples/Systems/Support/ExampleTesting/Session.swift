// Session: the commands in a README.md with their output, which a test compares with the actual
// output.

import Foundation
import Testing

/// The sessions of a document, which are the blocks between ```` ```console ```` and ```` ``` ````.
/// A line that begins with "$ " is a command. The lines below it are its output, and a final line
/// such as "[1]" is its exit status.
public struct Session {
    /// A command and its output.
    public struct Step: Sendable {
        /// The command line for the shell.
        public let command: String
        /// The standard output and standard error.
        public var output = ""
    }

    /// The name of the example system's folder.
    public let system: String

    /// The commands in order.
    public private(set) var steps: [Step] = []

    /// Reads the README of an example system.
    ///
    /// - Parameter system: The name of the example system's folder.
    /// - Throws: An error if the README can't be read.
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

    /// Runs the commands one after the other and compares their output.
    ///
    /// If the environment variable `KEYCHAIN_SESSIONS` specifies a file, the commands and their
    /// output are appended to that file. `./dev systems` shows the file.
    ///
    /// - Parameter home: The home directory to run the commands in.
    /// - Throws: An error if there are no commands, or the error of running one.
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
