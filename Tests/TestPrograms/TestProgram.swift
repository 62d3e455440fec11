// TestProgram: a program of this package that runs beside a test. The test reads the program's
// output and waits for its end.

package import Foundation
import Glibc

/// No executable with this name was found, for example because it isn't built.
package struct NoProgram: Error {
    package let name: String
}

/// A running program. It must not be used by several threads.
package final class TestProgram {
    private let process = Process()
    private let output = Pipe()
    private var rest = Data()

    /// Starts an executable of this package.
    ///
    /// - Parameters:
    ///   - name: The name of the executable.
    ///   - arguments: The arguments.
    ///   - input: The standard input, or `nil` for that of the tests.
    /// - Throws: ``NoProgram``, or an error if the program can't be started.
    package convenience init(_ name: String, _ arguments: [String], input: Pipe? = nil) throws {
        guard let path = Self.path(of: name) else { throw NoProgram(name: name) }
        try self.init(path: path, arguments, environment: [:], input: input)
    }

    /// Starts a program, with environment variables in addition to those of the tests.
    package init(
        path: String, _ arguments: [String], environment: [String: String], input: Pipe? = nil
    ) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let input { process.standardInput = input.fileHandleForReading }
        process.standardOutput = output
        try process.run()
    }

    /// The path of an executable of this package, or `nil` if it isn't built.
    package static func path(of name: String) -> String? {
        let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return [
            tests, Bundle.main.bundleURL,
            URL(filePath: FileManager.default.currentDirectoryPath).appending(path: ".build/debug"),
        ]
        .map { $0.appending(path: name).path }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The next complete line, or `nil` at the end of the output.
    package func line() -> String? {
        while true {
            if let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[rest.startIndex..<end], as: UTF8.self)
                rest = Data(rest[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { return nil }
            rest += more
        }
    }

    /// The remaining complete lines. Waits for the end of the program.
    package func lines() -> [String] {
        var all: [String] = []
        while let line = line() { all.append(line) }
        process.waitUntilExit()
        return all
    }

    package func kill() { send(SIGKILL) }

    package func send(_ signal: Int32) {
        Glibc.kill(process.processIdentifier, signal)
    }

    package var isRunning: Bool { process.isRunning }

    package var processIdentifier: Int32 { process.processIdentifier }

    /// Waits for the end of the program.
    /// - Returns: Whether it exited with status 0.
    package var endedWell: Bool {
        process.waitUntilExit()
        return process.terminationReason == .exit && process.terminationStatus == 0
    }
}
