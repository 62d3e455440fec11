// OtherProcess: a fault-writer that changes a test's keychain on command.

import Foundation
import Testing

@testable import Keychain

/// Ends with the last reference.
final class OtherProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var rest = Data()

    /// Opens the keychain of a test database.
    init(_ test: TestDatabase) throws {
        process.executableURL = URL(filePath: try #require(Self.path))
        process.arguments = [
            "obey", try test.database.status().directory.path, "com.example.app",
            TestDatabase.groups[0],
        ]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try #require(line() == "ready")
    }

    deinit {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    func save(_ value: String, for account: String) throws {
        try obey("save \(account) \(value)")
    }

    func delete(_ account: String) throws {
        try obey("delete \(account)")
    }

    /// Returns once the change is made.
    private func obey(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        try #require(line() == "done")
    }

    /// The next line; nil at the end of the output.
    private func line() -> String? {
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

    /// Beside the tests in the build folder.
    private static var path: String? {
        let tests = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return [
            tests, Bundle.main.bundleURL,
            URL(filePath: FileManager.default.currentDirectoryPath)
                .appending(path: ".build/debug"),
        ]
        .map { $0.appending(path: "fault-writer").path }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
