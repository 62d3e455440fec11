// SessionTests: verifies that the output of the program is the output that its README shows.

import Foundation
import Testing

@Suite struct SessionTests {
    /// The package, three levels above this file.
    private static let package = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of the built programs. It also contains the program that runs the tests.
    private static let programs = URL(filePath: "/proc/self/exe")
        .resolvingSymlinksInPath().deletingLastPathComponent()

    @Test func `the program prints the session of the README`() throws {
        let readme = try String(
            contentsOf: Self.package.appending(path: "README.md"), encoding: .utf8)
        let command = try #require(readme.range(of: "\n$ .build/debug/GenericKeys\n"))
        let rest = command.upperBound..<readme.endIndex
        let end = try #require(readme.range(of: "```\n", range: rest))

        let folder = FileManager.default.temporaryDirectory
            .appending(path: "generic-keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = Self.programs.appending(path: "GenericKeys")
        process.environment = [
            "HOME": folder.path, "KEYCHAIN_SERVICE": "embedded", "KEYCHAIN_TPM": "none",
            // Keep the program's coverage profile out of the tests' profile.
            "LLVM_PROFILE_FILE": folder.appending(path: "profile").path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let printed = String(
            decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(printed == readme[rest.lowerBound..<end.lowerBound])
        #expect(process.terminationStatus == 0)
    }
}
