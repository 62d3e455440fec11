// ProgramTests: the compiled programs run and get Apple's results.

import Foundation
import Testing

@Suite struct `Programs in both language modes` {
    /// The package, three levels above this file.
    private static let package = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of the built programs, which also contains the test program.
    private static let programs = URL(filePath: "/proc/self/exe")
        .resolvingSymlinksInPath().deletingLastPathComponent()

    @Test(arguments: ["SymbolsInSwift5", "SymbolsInSwift6"])
    func `the program that uses every symbol gets the same results as on Apple's platforms`(
        program: String
    ) throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "symbols-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = Self.programs.appending(path: program)
        process.environment = [
            "HOME": folder.path, "KEYCHAIN_SERVICE": "embedded", "KEYCHAIN_TPM": "none",
            "KEYCHAIN_ENTITLEMENTS": Self.package.appending(path: "Symbols.entitlements").path,
            // Code that only this program runs must not count as covered by the tests.
            "LLVM_PROFILE_FILE": folder.appending(path: "profile").path,
        ]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let printed = String(
            decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(printed.hasSuffix("\nAll results are Apple's.\n"), "\(printed)")
        #expect(process.terminationStatus == 0)
    }
}
