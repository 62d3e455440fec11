// Home: a folder for one test of a program, with the program, its keychain and nobody else's.

public import Foundation
import Testing

/// The folder of this package.
public let packageDirectory = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

/// A home of its own, which goes with the last reference.
///
/// It stands beside the built programs, so that they can be installed in it as links: a program
/// looks for its entitlements beside its own file.
public final class Home {
    /// The folder of the built programs, which is that of the test program.
    public static let programs: URL = {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: path ?? ".").deletingLastPathComponent()
    }()

    /// The folder. Programs run in it.
    public let url: URL

    /// Beyond the variables that every program gets.
    public var environment: [String: String] = [:]

    /// The folder of the keychain of programs that run here.
    public var keychain: URL { url.appending(path: ".local/share/keychain") }

    private var bin: URL { url.appending(path: "bin") }

    /// A home with programs in it, and beside each its entitlements, if the package has some.
    ///
    /// - Parameter names: Their names.
    /// - Throws: Whatever keeps it from being made.
    public init(_ names: [String]) throws {
        url = Self.programs.appending(path: "home-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        for name in names {
            try FileManager.default.linkItem(
                at: Self.programs.appending(path: name), to: bin.appending(path: name))
            let list = Self.entitlements(of: name)
            guard FileManager.default.fileExists(atPath: list.path) else { continue }
            try FileManager.default.copyItem(
                at: list, to: bin.appending(path: "\(name).entitlements"))
        }
    }

    /// The property list of a program in this package.
    public static func entitlements(of program: String) -> URL {
        packageDirectory.appending(path: "Entitlements/\(program).entitlements")
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// Runs a command line of the shell.
    ///
    /// - Parameter command: The command line.
    /// - Returns: What it wrote to standard output and standard error and, if its exit status
    ///   isn't 0, a line such as "[1]".
    /// - Throws: Whatever keeps the shell from running.
    public func run(_ command: String) throws -> String {
        let output = url.appending(path: ".output")
        try Data().write(to: output)
        let process = Process()
        // One that doesn't end is killed, and the test fails by its status.
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["300", "/bin/sh", "-c", command]
        process.currentDirectoryURL = url
        process.environment = [
            "HOME": url.path, "LC_ALL": "C.UTF-8", "KEYCHAIN_TPM": "none",
            "PATH": "\(bin.path):/usr/bin:/bin",
            // What a program counts for the coverage of itself is not that of the tests.
            "LLVM_PROFILE_FILE": url.appending(path: ".profile").path,
        ].merging(environment) { $1 }
        let file = try FileHandle(forWritingTo: output)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        try process.run()
        process.waitUntilExit()
        try file.close()
        let text = try String(contentsOf: output, encoding: .utf8)
        return process.terminationStatus == 0 ? text : "\(text)[\(process.terminationStatus)]\n"
    }

    /// Whether bytes stand in any file of the keychain.
    ///
    /// - Throws: If there is no keychain.
    public func keychainFilesContain(_ bytes: Data) throws -> Bool {
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.path)
        try #require(!names.isEmpty)
        return try names.contains {
            try Data(contentsOf: keychain.appending(path: $0)).range(of: bytes) != nil
        }
    }
}
