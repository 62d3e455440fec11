// device-identity as a program: 32 of it at once, and the session of README.md.

import DeviceKeychain
import ExampleTesting
import Foundation
import Testing

@Suite struct `Program device-identity` {
    @Test func `the session of README.md is what is printed`() throws {
        try Session("Device identity", in: packageDirectory.appending(path: "README.md"))
            .check(in: Home(["device-identity"]))
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `of 32 processes that are the first all print the same identifier`(
        hasKeychain: Bool
    ) throws {
        let home = try Home(["device-identity"])
        let data = home.url.appending(path: "fresh")
        home.environment = ["XDG_DATA_HOME": data.path]
        // Where there is no keychain, they race for it first. Where there is one, nothing holds
        // them up, and most have looked in vain before the first identifier is saved.
        if hasKeychain { #expect(try home.run("device-identity reset") == "there was none\n") }
        #expect(FileManager.default.fileExists(atPath: data.path) == hasKeychain)
        let printed = try Race(32, "device-identity", ["XDG_DATA_HOME": data.path]).run()
        #expect(printed.count == 32)
        #expect(Set(printed).count == 1)
        let identifier = try #require(printed.first).trimmingCharacters(in: .newlines)
        #expect(UUID(uuidString: identifier) != nil, "\(identifier)")
        #expect(try home.run("device-identity") == "\(identifier)\n")
    }

    @Test func `the identifier stands in no file, and in UserDefaults least of all`() throws {
        let home = try Home(["device-identity"])
        let old = "3F2504E0-4F89-41D3-9A0C-0305E82C3301"
        #expect(try home.run("device-identity import \(old)") == "imported\n")
        #expect(try home.run("device-identity") == "\(old)\n")
        #expect(try home.run("grep -rlaFi \(old) . || true") == "")
        // What finds nothing must be able to find something.
        #expect(try home.run("echo x\(old)x > file && grep -rlaFi \(old) .") == "./file\n")
    }
}

/// Many of one program that begin at the same moment.
private struct Race {
    private let start = Pipe()
    private let racers: [Racer]

    init(_ count: Int, _ program: String, _ environment: [String: String]) throws {
        let start = start
        racers = try (0..<count).map { _ in try Racer(program, environment, start) }
    }

    /// Lets them go and waits for the end of all.
    ///
    /// - Returns: What each has printed.
    func run() throws -> [String] {
        for racer in racers { racer.waitUntilReady() }
        try start.fileHandleForWriting.close()
        return racers.map { $0.result() }
    }
}

/// A shell that is ready, waits for the end of its input, and becomes the program.
private final class Racer {
    private let process = Process()
    private let output = Pipe()

    init(_ program: String, _ environment: [String: String], _ start: Pipe) throws {
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", "echo ready; read line; exec \"$0\" 2>&1",
            Home.programs.appending(path: program).path,
        ]
        process.environment = environment
        process.standardInput = start.fileHandleForReading
        process.standardOutput = output
        try process.run()
    }

    func waitUntilReady() {
        while let byte = try? output.fileHandleForReading.read(upToCount: 1),
            !byte.isEmpty, byte != Data("\n".utf8)
        {}
    }

    func result() -> String {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
            + (process.terminationStatus == 0 ? "" : "[\(process.terminationStatus)]")
    }
}
