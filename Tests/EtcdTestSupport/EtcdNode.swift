// EtcdNode: one process of etcd, which a test can kill, suspend and start again.
//   (1) etcd ends when the test's process ends, for whatever reason: a shell reads from a pipe
//       whose writing end only the test's process holds open, and kills etcd when that end is
//       closed.

#if Synchronization

import Foundation
import Glibc

/// Not for use by several tasks at a time.
final class EtcdNode {
    private let arguments: [String]
    private let log: URL
    private var process: Process?
    private var lifeline = Pipe()

    init(arguments: [String], log: URL) { (self.arguments, self.log) = (arguments, log) }

    deinit { kill() }

    /// Starts etcd, with the data of its previous run if there was one.
    func start() throws {
        let program = try Program.path("etcd", package: "etcd-server etcd-client")
        let process = Process()
        lifeline = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c",
                """
                log=$1; shift; exec 3<&0
                (read -r _ <&3; kill -KILL $$) >/dev/null 2>&1 &
                exec "$@" 3<&- </dev/null >>"$log" 2>&1
                """,
                "sh", log.path, program,
            ] + arguments
        process.standardInput = lifeline
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
    }

    func send(_ signal: Int32) {
        if let process { Glibc.kill(process.processIdentifier, signal) }
    }

    /// Kills etcd, whatever it is doing, and waits until it has ended.
    func kill() {
        guard let process else { return }
        try? lifeline.fileHandleForWriting.close()
        process.waitUntilExit()
        self.process = nil
    }

    /// The last five lines of etcd's log.
    var lastWords: String {
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: "\n")
    }
}

#endif
