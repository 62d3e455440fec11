// Home: a home directory for one test of a program, with the program, a keychain and stand-ins. A
// stand-in is a process that takes the place of a server or a device, such as a television.

import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// The folder of an example system, which contains its README.md, sources and entitlements.
public func folder(ofSystem name: String) -> URL {
    URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: name)
}

/// A temporary home directory, which is removed with the last reference to it.
///
/// Programs are installed as hard links, because a program looks for its entitlements beside its
/// own file. A hard link can't point to another file system, so the home directory is in the folder
/// of the built programs.
public final class Home {
    /// The folder of the built programs, which also contains the test program.
    public static let programs: URL = {
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: path ?? ".").deletingLastPathComponent()
    }()

    /// The home directory, which is also the working directory of the programs.
    public let url: URL

    /// Environment variables in addition to those that every program gets.
    public var environment: [String: String] = [:]

    /// The folder of the keychain of programs that run in this home directory.
    public var keychain: URL { url.appending(path: ".local/share/keychain") }

    private var bin: URL { url.appending(path: "bin") }

    /// Creates a home directory with programs and their entitlements.
    ///
    /// - Parameters:
    ///   - names: The names of the programs.
    ///   - entitlements: The entitlements file of each program that has one, by the program's name.
    ///   - portVariable: The environment variable from which the programs and the stand-in read the
    ///     port of the stand-in. The value of the variable is a free port.
    /// - Throws: An error of the file system.
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

    /// A TCP port on the loopback interface that was free a moment ago.
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
        // Stop stand-ins that the test left running.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        where name.hasSuffix(".pid") {
            let text = try? String(contentsOf: url.appending(path: name), encoding: .utf8)
            guard let process = text.flatMap(Int32.init) else { continue }
            // If the stand-in has exited by itself, another process may have its process ID.
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(process)/exe")
            let program = bin.appending(path: String(name.dropLast(".pid".count)))
            if target == program.path { kill(process, SIGKILL) }
        }
        try? FileManager.default.removeItem(at: url)
    }

    /// Runs a shell command line.
    ///
    /// - Parameter command: The command line.
    /// - Returns: The standard output and standard error, followed by a line such as "[1]" if the
    ///   exit status is not 0.
    /// - Throws: The error that prevents the shell from running.
    public func run(_ command: String) throws -> String {
        let output = url.appending(path: ".output")
        try Data().write(to: output)
        let process = Process()
        // A command that doesn't end is killed, and its status makes the test fail.
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["300", "/bin/sh", "-c", command]
        process.currentDirectoryURL = url
        process.environment = [
            "HOME": url.path, "LC_ALL": "C.UTF-8", "KEYCHAIN_TPM": "none",
            // Never use the keychain service of the machine that the tests run on.
            "KEYCHAIN_SERVICE": "embedded",
            "PATH": "\(bin.path):/usr/bin:/bin",
            // Keep the program's coverage profile out of the tests' profile.
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

    /// Whether any file of the keychain contains the given bytes.
    ///
    /// - Throws: An error if there is no keychain.
    public func keychainFilesContain(_ bytes: Data) throws -> Bool {
        let names = try FileManager.default.contentsOfDirectory(atPath: keychain.path)
        try #require(!names.isEmpty)
        return try names.contains {
            try Data(contentsOf: keychain.appending(path: $0)).range(of: bytes) != nil
        }
    }
}
