// OtherProcess: runs the program `fault-writer`, which changes a test's keychain on command.

#if !canImport(Darwin)

import Foundation
import TestPrograms
import Testing

@testable import Keychain

/// The process ends when this object is released.
final class OtherProcess {
    private let program: TestProgram
    private let input = Pipe()

    /// Starts a process that opens the keychain of a test database.
    init(_ test: TestDatabase) throws {
        program = try TestProgram(
            "fault-writer",
            [
                "obey", try test.database.status().directory.path, "com.example.app",
                TestDatabase.groups[0],
            ], input: input)
        try #require(program.line() == "ready")
    }

    deinit {
        try? input.fileHandleForWriting.close()
        _ = program.endedWell
    }

    func save(_ value: String, for account: String) throws {
        try obey("save \(account) \(value)")
    }

    func delete(_ account: String) throws {
        try obey("delete \(account)")
    }

    /// Sends a command, and returns after the process has made the change.
    private func obey(_ command: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8))
        try #require(program.line() == "done")
    }
}

#endif
