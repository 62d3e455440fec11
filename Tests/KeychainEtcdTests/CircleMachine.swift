// CircleMachine: a machine of a circle as a user has it: a home, a keychain service, and a relay, each
// a process that a test can kill and suspend.

#if Synchronization

import EtcdTestSupport
import Foundation
import Glibc
import TestPrograms

/// It must not be used by several tasks at once.
final class CircleMachine {
    let name: String
    private let home: URL
    private var service: TestProgram?
    private var relay: TestProgram?

    struct Outcome {
        let isDone: Bool
        let output: String
    }

    struct Failure: Error {
        let what: String
    }

    init(
        _ name: String, in folder: URL, _ cluster: EtcdCluster, _ user: EtcdCluster.User
    ) throws {
        self.name = name
        home = folder.appending(path: name)
        let settings = home.appending(path: "config/keychain")
        try FileManager.default.createDirectory(
            at: settings, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let (password, file) = (
            settings.appending(path: "password"), settings.appending(path: "sync.json")
        )
        try Data(user.password.utf8).write(to: password)
        let certificates = cluster.certificates
        let content: [String: Any] = [
            "endpoints": cluster.endpoints, "prefix": user.prefix,
            "authority": certificates.authority, "certificate": certificates.client,
            "key": certificates.clientKey, "user": user.name, "passwordFile": "password",
        ]
        try JSONSerialization.data(withJSONObject: content).write(to: file)
        for url in [password, file] {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: url.path)
        }
    }

    deinit {
        relay?.kill()
        service?.kill()
    }

    private var socket: String { home.appending(path: "socket").path }

    private var environment: [String: String] {
        [
            "HOME": home.path, "XDG_CONFIG_HOME": home.appending(path: "config").path,
            "XDG_DATA_HOME": home.appending(path: "data").path,
            "XDG_RUNTIME_DIR": home.appending(path: "run").path, "KEYCHAIN_SERVICE": socket,
        ]
    }

    private func path(_ program: String) throws -> String {
        guard let path = TestProgram.path(of: program) else {
            throw Failure(what: "there is no \(program)")
        }
        return path
    }

    // MARK: Processes

    func startService() throws {
        service = try TestProgram(
            path: try path("keychaind"),
            [
                "--directory", home.appending(path: "data/keychain").path, "--socket", socket,
                "--log-level", "error",
            ], environment: environment)
        for _ in 0..<500 {
            if try run(["status"]).isDone { return }
            usleep(20_000)
        }
        throw Failure(what: "the service of \(name) doesn't answer")
    }

    func startRelay() throws {
        relay = try TestProgram(
            path: try path("keychainctl"), ["sync", "run"], environment: environment)
    }

    func killService() { service?.kill() }
    func killRelay() { relay?.kill() }
    func suspendRelay() { relay?.send(SIGSTOP) }
    func resumeRelay() { relay?.send(SIGCONT) }
    var isRelayRunning: Bool { relay?.isRunning ?? false }
    var isServiceRunning: Bool { service?.isRunning ?? false }

    // MARK: Commands

    /// Runs `keychainctl` to its end.
    func run(_ arguments: [String], input: String = "") throws -> Outcome {
        let process = Process()
        let (standardInput, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: try path("keychainctl"))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return Outcome(
            isDone: process.terminationReason == .exit && process.terminationStatus == 0,
            output: String(decoding: bytes, as: UTF8.self))
    }

    /// Runs a command that has to succeed.
    @discardableResult
    func require(_ arguments: [String], input: String = "") throws -> String {
        let outcome = try run(arguments, input: input)
        guard outcome.isDone else {
            throw Failure(what: "\(name): keychainctl \(arguments.joined(separator: " "))")
        }
        return outcome.output
    }

    /// - Returns: Whether the change was acknowledged.
    func set(_ account: String, _ value: String) throws -> Bool {
        try run(
            ["set", "--service", "soak", "--account", account, "--synchronizable", "--no-prompt"],
            input: value
        ).isDone
    }

    func delete(_ account: String) throws -> Bool {
        try run(["delete", "--service", "soak", "--account", account, "--no-prompt"]).isDone
    }

    /// The value of an item. `nil` if there is none.
    func value(_ account: String) throws -> String? {
        let outcome = try run(["get", "--service", "soak", "--account", account, "--no-prompt"])
        return outcome.isDone ? outcome.output : nil
    }
}

#endif
