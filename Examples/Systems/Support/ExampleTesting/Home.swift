// Home: a folder for one test of a program, with the program, a keychain and its stand-ins.

import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// The folder of one of the five systems: its README.md, entitlements and sources.
public func folder(ofSystem name: String) -> URL {
    URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: name)
}

/// A home directory of its own, which goes with the last reference.
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

    /// A home with programs in it, and beside each its entitlements.
    ///
    /// - Parameters:
    ///   - names: The names of the programs.
    ///   - entitlements: The file of a program's entitlements, if it has one.
    ///   - portVariable: The environment variable by which programs and stand-in agree on a port.
    ///     It names one that is free.
    /// - Throws: What the file system reports.
    public init(
        _ names: [String], entitlements: [String: URL] = [:], portVariable: String? = nil
    ) throws {
        url = Self.programs.appending(path: "home-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        for name in names {
            try FileManager.default.linkItem(
                at: Self.programs.appending(path: name), to: bin.appending(path: name))
            if let list = entitlements[name] {
                try FileManager.default.copyItem(
                    at: list, to: bin.appending(path: "\(name).entitlements"))
            }
        }
        if let portVariable { environment[portVariable] = "\(try Self.freePort())" }
    }

    /// A TCP port on the loopback that was free a moment ago.
    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        try #require(isBound)
        return UInt16(bigEndian: address.sin_port)
    }

    deinit {
        // Stand-ins that the test left running.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        where name.hasSuffix(".pid") {
            let text = try? String(contentsOf: url.appending(path: name), encoding: .utf8)
            if let process = text.flatMap(Int32.init) { kill(process, SIGKILL) }
        }
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
            // Never the service of the machine that the tests run on.
            "KEYCHAIN_SERVICE": "embedded",
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
