// CircleMachine: a machine of a circle: a home folder, a keychain service with its own disk and
// clock, and a relay with a link to each node of etcd. A test can kill or suspend the service and
// the relay, fill the disk, set the clock wrong, and cut, silence or reset the links.

#if Synchronization

import EtcdTestSupport
import Foundation
import Glibc
import TestPrograms

/// Several tasks must not use a machine at the same time.
final class CircleMachine {
    let name: String
    /// The links to the nodes of etcd, in the order of the nodes.
    let links: [TestLink]
    let home: URL
    private let certificates: TestCertificates
    private let host: ServiceHost
    private(set) var relay: TestProgram?

    struct Outcome {
        /// The exit status, or the negative number of the signal that ended the command.
        let status: Int32
        let output: Data
        /// The text that the command wrote to its standard error.
        let complaint: String
        var isDone: Bool { status == 0 }
        var text: String { String(decoding: output, as: UTF8.self) }
    }

    struct Failure: Error {
        let what: String
    }

    init(
        _ name: String, in folder: URL, _ cluster: EtcdCluster, _ user: EtcdCluster.User,
        diskSize: String = "64m"
    ) async throws {
        self.name = name
        home = folder.appending(path: name)
        certificates = cluster.certificates
        var links: [TestLink] = []
        for endpoint in cluster.endpoints {
            guard let port = URL(string: endpoint)?.port else {
                throw Failure(what: "The endpoint \(endpoint) has no port.")
            }
            links.append(try await TestLink(to: port))
        }
        self.links = links
        for path in ["config/keychain", "data"] {
            try FileManager.default.createDirectory(
                at: home.appending(path: path), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        host = try ServiceHost(
            [
                try Self.path("keychaind"), "--directory",
                home.appending(path: "data/keychain").path,
                "--socket", home.appending(path: "socket").path, "--log-level", "error",
            ], home: home, diskSize: diskSize)
        try configure(user)
    }

    deinit { killRelay() }

    private static func path(_ program: String) throws -> String {
        guard let path = TestProgram.path(of: program) else {
            throw Failure(what: "The program \(program) wasn't found.")
        }
        return path
    }

    private var environment: [String: String] {
        [
            "HOME": home.path, "XDG_CONFIG_HOME": home.appending(path: "config").path,
            "XDG_DATA_HOME": home.appending(path: "data").path,
            "XDG_RUNTIME_DIR": home.appending(path: "run").path,
            "KEYCHAIN_SERVICE": home.appending(path: "socket").path,
            "relay_log": home.appending(path: "relay.log").path,
        ]
    }

    /// Writes the machine's settings for synchronization, and the file with the user's password.
    ///
    /// - Parameters:
    ///   - user: The user of etcd. Its `prefix` is that of the circle's keys in etcd.
    ///   - authority: The file with the certificate of the certificate authority that the machine
    ///     trusts. `nil` for the certificate authority that signed the nodes' certificates.
    /// - Throws: An error if the files can't be written.
    func configure(_ user: EtcdCluster.User, authority: String? = nil) throws {
        let settings = home.appending(path: "config/keychain")
        let content: [String: Any] = [
            "endpoints": links.map(\.endpoint), "prefix": user.prefix,
            "authority": authority ?? certificates.authority, "certificate": certificates.client,
            "key": certificates.clientKey, "user": user.name, "passwordFile": "password",
        ]
        for (name, data) in [
            ("password", Data(user.password.utf8)),
            ("sync.json", try JSONSerialization.data(withJSONObject: content)),
        ] {
            let file = settings.appending(path: name)
            try data.write(to: file)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
    }

    // MARK: Processes

    /// Starts the service, and waits until it answers.
    ///
    /// - Parameter clock: The offset of the service's clock from the right time, such as `-1000d`.
    ///   `nil` for the right time.
    /// - Throws: ``Failure`` if the service doesn't answer; ``MissingProgram`` if its clock is to
    ///   be wrong and libfaketime isn't installed.
    func startService(clock: String? = nil) async throws {
        try host.start(clock: clock)
        try await wait(for: "an answer of the service") { try run(["status"]).isDone }
    }

    func killService() throws { try host.order("kill") }
    func suspendService() throws { try host.order("suspend") }
    func resumeService() throws { try host.order("resume") }
    func fillDisk() throws { try host.order("fill") }
    func clearDisk() throws { try host.order("clear") }

    /// Starts a relay of this machine. All relays of a machine write to the same log. `clock` has
    /// the same meaning as for ``startService(clock:)``.
    func newRelay(clock: String? = nil) throws -> TestProgram {
        // ``ServiceHost`` explains why `env` is run twice.
        let wrong = try clock.map { clock in
            [
                "env", "LD_PRELOAD=\(try ServiceHost.library())", "FAKETIME=\(clock)",
                "FAKETIME_DONT_FAKE_MONOTONIC=1", "env",
            ]
        }
        return try TestProgram(
            path: "/bin/sh",
            ["-c", "exec \"$@\" 2>>\"$relay_log\"", "sh"] + (wrong ?? [])
                + [try Self.path("keychainctl"), "sync", "run"], environment: environment)
    }

    func startRelay(clock: String? = nil) throws { relay = try newRelay(clock: clock) }

    func killRelay() {
        guard let relay else { return }
        relay.kill()
        // libfaketime leaves these files if its program is killed.
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            try? FileManager.default.removeItem(
                atPath: "/dev/shm/\(name)\(relay.processIdentifier)")
        }
    }

    func suspendRelay() { relay?.send(SIGSTOP) }
    func resumeRelay() { relay?.send(SIGCONT) }

    /// The log of all relays of this machine so far.
    var relayLog: String {
        (try? String(contentsOf: home.appending(path: "relay.log"), encoding: .utf8)) ?? ""
    }

    // MARK: Commands

    /// Runs `keychainctl` to its end.
    func run(_ arguments: [String], input: String = "") throws -> Outcome {
        try run(program: try Self.path("keychainctl"), arguments, input: input)
    }

    /// Runs a command of bash, in which `$keychainctl` is the path of `keychainctl`.
    /// ``ServiceHost`` explains why the shell is bash.
    func run(shell command: String) throws -> Outcome {
        try run(
            program: "/bin/bash", ["-c", command],
            variables: ["keychainctl": try Self.path("keychainctl")])
    }

    /// Runs `keychainctl` on a terminal, and types a line once the terminal shows a text. The
    /// output is what the terminal has shown.
    func run(_ arguments: [String], typing line: String, at prompt: String) throws -> Outcome {
        let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "at_terminal.py")
        return try run(
            program: "/usr/bin/env",
            ["python3", script.path, prompt, try Self.path("keychainctl")] + arguments,
            input: line + "\n")
    }

    /// Starts `keychainctl` without waiting for its end, so that a test can write to the input of
    /// the running program.
    func start(_ arguments: [String], input: Pipe) throws -> TestProgram {
        try TestProgram(
            path: try Self.path("keychainctl"), arguments, environment: environment, input: input)
    }

    private func run(
        program: String, _ arguments: [String], input: String = "",
        variables: [String: String] = [:]
    ) throws -> Outcome {
        let process = Process()
        let (standardInput, output, complaints) = (Pipe(), Pipe(), Pipe())
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(environment) { $1 }.merging(variables) { $1 }
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = complaints
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        let written = output.fileHandleForReading.readDataToEndOfFile()
        let complaint = complaints.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let isExit = process.terminationReason == .exit
        return Outcome(
            status: isExit ? process.terminationStatus : -process.terminationStatus,
            output: written, complaint: String(decoding: complaint, as: UTF8.self))
    }

    /// Runs `keychainctl` to its end.
    ///
    /// - Throws: ``Failure`` if it doesn't succeed.
    @discardableResult
    func require(_ arguments: [String], input: String = "") throws -> Outcome {
        let outcome = try run(arguments, input: input)
        guard outcome.isDone else {
            throw Failure(
                what: "\(name): keychainctl \(arguments.joined(separator: " ")): "
                    + "\(outcome.status), \(outcome.complaint)")
        }
        return outcome
    }

    /// The decoded output of `keychainctl sync status --json`.
    func status() throws -> CircleReport {
        let text = try require(["sync", "status", "--json"]).output
        return try JSONDecoder().decode(CircleReport.self, from: text)
    }

    func set(_ account: String, _ value: String, _ options: [String] = ["--synchronizable"]) throws
        -> Outcome
    {
        try run(
            ["set", "--service", "soak", "--account", account, "--no-prompt"] + options,
            input: value)
    }

    /// Adds an item that is marked for synchronization, but is for this device only. `set` refuses
    /// this combination; the API doesn't, and neither does `import`.
    func addDeviceItem(_ account: String, _ value: String) throws {
        let file = home.appending(path: "items.json")
        let item: [String: Any] = [
            "class": "generic", "service": "soak", "account": account, "synchronizable": true,
            "accessible": "when-unlocked-this-device-only",
            "data": Data(value.utf8).base64EncodedString(),
        ]
        try JSONSerialization.data(withJSONObject: [item]).write(to: file)
        try require(["import", "json", file.path, "--yes"])
    }

    func delete(_ account: String) throws -> Outcome {
        try run(["delete", "--service", "soak", "--account", account, "--no-prompt"])
    }

    /// The values of the items of the service `soak` that are synchronized to other machines, by
    /// account.
    func values() throws -> [String: String] {
        struct Item: Decodable {
            let account: String
            let text: String
            let synchronizable: Bool
            let accessible: String
            var travels: Bool { synchronizable && !accessible.hasSuffix("this-device-only") }
        }
        let outcome = try run(["export", "json", "-", "--service", "soak", "--yes"])
        if outcome.status == 3 { return [:] }
        guard outcome.isDone else { throw Failure(what: "\(name): \(outcome.complaint)") }
        let items = try JSONDecoder().decode([Item].self, from: outcome.output)
        return Dictionary(
            uniqueKeysWithValues: items.filter(\.travels).map { ($0.account, $0.text) })
    }

    // MARK: Waiting

    /// Waits until a condition holds.
    ///
    /// - Throws: ``Failure`` if it doesn't hold within two minutes, or what the condition throws.
    func wait(for what: String, _ condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(what: "\(name): timeout waiting for \(what): \(host.complaints)\n\(relayLog)")
    }

    /// Waits until nothing is left to be sent, and the machine has read everything.
    func waitUntilCurrent() async throws {
        try await wait(for: "everything to be sent") {
            let status = try status()
            return status.state == "current" && status.waiting == 0 && status.server == nil
        }
    }
}

extension CircleMachine {
    /// Runs a test with machines that are in no circle. Their services run.
    static func withMachines(
        _ names: [String], in cluster: EtcdCluster, _ user: EtcdCluster.User,
        _ test: ([CircleMachine]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "circle-\(UUID().uuidString.prefix(8))")
        defer { try? FileManager.default.removeItem(at: folder) }
        var machines: [CircleMachine] = []
        for name in names {
            let machine = try await CircleMachine(name, in: folder, cluster, user)
            try await machine.startService()
            machines.append(machine)
        }
        try await test(machines)
    }

    /// Runs a test with the machines of a new circle. Their services run, and their relays don't.
    static func withCircle(
        of names: String..., in cluster: EtcdCluster, _ user: EtcdCluster.User,
        _ test: ([CircleMachine]) async throws -> Void
    ) async throws {
        try await withMachines(names, in: cluster, user) { machines in
            try machines[0].require(["sync", "found", "--name", names[0]])
            try machines[0].startRelay()
            for machine in machines.dropFirst() {
                let token = try machines[0].require(["sync", "token"]).text
                try machine.require(["sync", "join", "--token-fd", "0"], input: token)
            }
            machines[0].killRelay()
            try await test(machines)
        }
    }
}

/// The output of `keychainctl sync status --json`.
struct CircleReport: Decodable {
    let state: String
    let server: String?
    let circle: String?
    let ownLogMissing: Bool
    let machines: [Machine]
    let waiting: Int
    let staying: [Staying]
    let notices: [String]

    struct Machine: Decodable {
        let name: String?
        let withheld: Int
    }

    /// The number of items that are marked for synchronization, but stay on their machine for one
    /// and the same reason.
    struct Staying: Decodable {
        let reason: String
        let items: Int
    }
}

#endif
