// FairnessSample: a service in a separate process, an honest program that looks up an item, and
// attackers.

import Foundation
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime
import TestPrograms
import Testing

@testable import KeychainDaemon

/// A service whose standard error goes to a file that the test chooses.
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

    /// A client in the test's process, which is a different program from the attackers.
    func client() -> ServiceClient { ServiceClient(socketPath: socket) }

    /// The service's resident memory, in MiB.
    func memory() throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(program.processIdentifier)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ")[1])) / 1024
    }

    /// The lines of the service's log.
    func log() throws -> [Substring] {
        try String(contentsOfFile: folder.path + "/log", encoding: .utf8).split(separator: "\n")
    }

    /// Ends the service with SIGTERM and expects success.
    func end() {
        program.send(SIGTERM)
        #expect(program.endedWell)
    }
}

/// Running attackers, each in a separate process.
final class Attackers {
    private let input = Pipe()
    private let programs: [TestProgram]
    /// The number of connections that each attacker had when its attack began.
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
    /// - Returns: The lines that the attackers printed since the attack began.
    @discardableResult
    func stop() throws -> [String] {
        try input.fileHandleForWriting.close()
        return programs.flatMap { $0.lines() }
    }

    deinit { for program in programs { program.kill() } }
}

/// The durations of an honest program's requests.
struct Figures {
    private var times: [Duration] = []
    private(set) var failures: [String] = []

    /// Makes requests until `count` requests were made or `time` is over, but at least one.
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

    /// Measures look-ups, including the time for connecting.
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

    /// Prints a row with the times without and with the attack.
    func report(_ attack: String, alone: Figures) {
        print(
            "fairness | \(attack) | \(alone.text) | \(text) | \(failures.count) of \(times.count)")
    }

    /// Expects that no request was refused or took too long. The limit allows for machines under
    /// load: without a defence a request takes ten seconds or is refused.
    func expectFair(_ limit: Duration = .seconds(2)) {
        #expect(failures.isEmpty, "\(failures.count) of \(times.count): \(failures.first ?? "")")
        #expect(worst <= limit)
    }
}
