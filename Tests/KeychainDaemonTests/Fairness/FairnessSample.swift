// FairnessSample: a service in a process of its own, an honest program that looks something up, and
// those who don't want it to.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import TestPrograms
import Testing

@testable import KeychainDaemon

/// A service whose standard error goes where the test wants.
final class AttackedService {
    let folder: TemporaryFolder
    let socket: String
    let program: TestProgram

    init(
        folder: TemporaryFolder? = nil, errors: String? = nil, level: String = "warning"
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        let path = self.folder.path
        socket = path + "/run/socket"
        program = try TestProgram(
            path: "/bin/sh",
            [
                "-c", #"exec "$@" 2>>"$errors""#, "sh",
                try #require(TestProgram.path(of: "keychaind")), "--directory",
                path + "/keychain", "--socket", socket, "--registry", path + "/programs",
                "--log-level", level,
            ], environment: ["errors": errors ?? path + "/log", "KEYCHAIN_TPM": "none"])
        try eventually("the service listens") { Sockets.isAnsweredForTests(socket) }
        try add("n")
    }

    deinit { program.kill() }

    func add(_ account: String, byteCount: Int = 1) throws {
        let value = String(repeating: "x", count: byteCount)
        _ = try client().perform(
            AddItem(password(account, value)), as: AccessGroups(["default"]))
    }

    /// Another program than those that attack: this one.
    func client() -> ServiceClient { ServiceClient(socketPath: socket) }

    /// What the service has in memory, in MiB.
    func memory() throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(program.processIdentifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ")[1])) / 1024
    }

    /// The lines of its log.
    func log() throws -> [Substring] {
        try String(contentsOfFile: folder.path + "/log", encoding: .utf8).split(separator: "\n")
    }

    /// Ends it in good order.
    func end() {
        program.send(SIGTERM)
        #expect(program.endedWell)
    }
}

/// Attackers that are at it, each in a process of its own.
final class Attackers {
    private let input = Pipe()
    private let programs: [TestProgram]
    /// How many connections each had when it was begun.
    private(set) var counts: [Int] = []

    init(
        _ name: String, _ service: AttackedService, processes: Int = 1, connections: Int = 1,
        as path: String? = nil, waits: Bool = true
    ) throws {
        programs = try (0..<processes).map { [input] _ in
            try peer("attack", service.socket, name, "\(connections)", as: path, input: input)
        }
        guard waits else { return }
        for program in programs {
            let words = try #require(program.line()).split(separator: " ")
            try #require(words.first == "begun", "\(words)")
            counts.append(Int(words[1]) ?? 0)
        }
    }

    /// Ends the attack.
    /// - Returns: What they said since.
    @discardableResult
    func stop() throws -> [String] {
        try input.fileHandleForWriting.close()
        return programs.flatMap { $0.lines() }
    }

    deinit { for program in programs { program.kill() } }
}

/// How long an honest program's requests took.
struct Figures {
    private var times: [Duration] = []
    private(set) var failures: [String] = []

    /// Up to so many requests, each over a connection of its own, for a while.
    init(
        count: Int = 200, within time: Duration = .milliseconds(1500),
        _ request: () throws -> Void
    ) {
        let begun = ContinuousClock.now
        while times.count < count, times.isEmpty || begun.duration(to: .now) < time {
            let start = ContinuousClock.now
            do { try request() } catch { failures.append("\(error)") }
            times.append(start.duration(to: .now))
        }
    }

    /// Look-ups, each with all that connecting takes.
    init(lookUpsIn service: AttackedService, count: Int = 200) {
        self.init(count: count) {
            let found = try service.client().load("n", as: AccessGroups(["default"]))
            #expect(found == "x")
        }
    }

    var median: Duration { times.sorted()[times.count / 2] }
    var worst: Duration { times.max() ?? .zero }

    fileprivate var text: String {
        "\(Self.milliseconds(median)) | \(Self.milliseconds(worst))"
    }

    private static func milliseconds(_ time: Duration) -> String {
        String(format: "%.1f ms", time / .milliseconds(1))
    }

    /// Prints a row: alone, and under the attack.
    func report(_ attack: String, alone: Figures) {
        print(
            "fairness | \(attack) | \(alone.text) | \(text) | \(failures.count) of \(times.count)")
    }

    /// Nobody was refused, and nobody waited for long. The limit is for machines under load: without
    /// a defence it is ten seconds, or a refusal.
    func expectFair(_ limit: Duration = .seconds(2)) {
        #expect(failures.isEmpty, "\(failures.count) of \(times.count): \(failures.first ?? "")")
        #expect(worst <= limit)
    }
}
