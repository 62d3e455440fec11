// CircleMachine: a machine of a circle as a user has it: a home, a keychain service with a disk and a
// clock of its own, and a relay with a link to each node of etcd. A test can end, suspend and cut all
// of these.

#if Synchronization

import EtcdTestSupport
import Foundation
import Glibc
import TestPrograms

/// It must not be used by several tasks at once.
final class CircleMachine {
    let name: String
    /// To the nodes of etcd, in their order.
    let links: [TestLink]
    let home: URL
    private let certificates: TestCertificates
    private let host: ServiceHost
    private(set) var relay: TestProgram?

    struct Outcome {
        /// The exit status, or the negative number of the signal.
        let status: Int32
        let output: Data
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
                throw Failure(what: "There is no port in \(endpoint).")
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

    deinit { relay?.kill() }

    private static func path(_ program: String) throws -> String {
        guard let path = TestProgram.path(of: program) else {
            throw Failure(what: "there is no \(program)")
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

    /// Writes the settings of the server.
    ///
    /// - Parameters:
    ///   - user: The user of etcd, and the prefix.
    ///   - authority: The file of the authority that signs the nodes' certificates. `nil` for that
    ///     of the cluster.
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
    /// - Parameter clock: How wrong the service's clock is, such as `-1000d`. `nil` if it is right.
    /// - Throws: ``Failure`` if it doesn't answer.
    func startService(clock: String? = nil) async throws {
        try host.start(clock: clock)
        try await wait(for: "an answer of the service") { try run(["status"]).isDone }
    }

    func killService() throws { try host.order("kill") }
    func suspendService() throws { try host.order("suspend") }
    func resumeService() throws { try host.order("resume") }
    func fillDisk() throws { try host.order("fill") }
    func clearDisk() throws { try host.order("clear") }

    /// Another relay of this machine, whose events are in the same log.
    func newRelay() throws -> TestProgram {
        try TestProgram(
            path: "/bin/sh",
            [
                "-c", "exec \"$@\" 2>>\"$relay_log\"", "sh", try Self.path("keychainctl"), "sync",
                "run",
            ], environment: environment)
    }

    func startRelay() throws { relay = try newRelay() }
    func killRelay() { relay?.kill() }
    func suspendRelay() { relay?.send(SIGSTOP) }
    func resumeRelay() { relay?.send(SIGCONT) }

    /// The events of all relays so far.
    var relayLog: String {
        (try? String(contentsOf: home.appending(path: "relay.log"), encoding: .utf8)) ?? ""
    }

    // MARK: Commands

    /// Runs `keychainctl` to its end.
    func run(_ arguments: [String], input: String = "") throws -> Outcome {
        try run(program: try Self.path("keychainctl"), arguments, input: input)
    }

    /// Runs a command of bash, in which `$keychainctl` is the program. See ``ServiceHost`` for why
    /// it isn't a smaller shell.
    func run(shell command: String) throws -> Outcome {
        try run(
            program: "/bin/bash", ["-c", command],
            variables: ["keychainctl": try Self.path("keychainctl")])
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

    /// Runs a command that has to succeed.
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

    /// What `sync status` shows, as the object of its JSON.
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

    func delete(_ account: String) throws -> Outcome {
        try run(["delete", "--service", "soak", "--account", account, "--no-prompt"])
    }

    /// The values of all items that travel, by account.
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
    /// - Throws: ``Failure`` if it doesn't hold after two minutes.
    func wait(for what: String, _ condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(120)
        while ContinuousClock.now < end {
            if try condition() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failure(what: "\(name) waits for \(what): \(host.complaints)\n\(relayLog)")
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
    /// Runs a test with machines of a new circle, which have services and no relays.
    static func withCircle(
        of names: String..., in cluster: EtcdCluster, _ user: EtcdCluster.User,
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

/// The output of `keychainctl sync status --json`.
struct CircleReport: Decodable {
    let state: String
    let server: String?
    let circle: String?
    let ownLogMissing: Bool
    let machines: [Machine]
    let waiting: Int
    let notices: [String]

    struct Machine: Decodable {
        let name: String?
        let withheld: Int
    }
}

#endif
