// ServiceProcess: a service process for one test, and its log.

import ExampleTesting
import Foundation
import Synchronization
import Testing

/// A `keychaind` process with a keychain in a home directory and a socket in a separate folder. The
/// path of a socket is limited to about a hundred bytes, and the path of a home directory can be
/// longer.
final class ServiceProcess {
    let socket: String
    let keychain: URL
    private let folder: URL
    private let process = Process()
    private let log: LogReader

    init(in home: Home) throws {
        folder = FileManager.default.temporaryDirectory
            .appending(path: "fundamentals-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        socket = folder.appending(path: "socket").path
        keychain = home.url.appending(path: "served")
        let pipe = Pipe()
        log = LogReader(pipe.fileHandleForReading)
        process.executableURL = Home.programs.appending(path: "keychaind")
        process.arguments = [
            "--socket", socket, "--directory", keychain.path, "--log-level", "info",
        ]
        process.environment = [
            "HOME": home.url.path, "KEYCHAIN_TPM": "none",
            "LLVM_PROFILE_FILE": home.url.appending(path: ".profile-service").path,
        ]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = pipe
        try process.run()
        try #require(log.isReady(), "\(log.lines())")
    }

    deinit {
        if process.isRunning { process.terminate() }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends the service, and returns its log lines for the requests of the given program.
    func end(requestsOf program: String) -> [String] {
        process.terminate()
        process.waitUntilExit()
        return log.all().filter { $0.hasSuffix("/\(program)\"") && $0.contains(" query=") }
    }
}

/// Reads lines as they arrive, so that the writer never blocks.
private final class LogReader: Sendable {
    private let taken: AsyncLines

    init(_ handle: FileHandle) {
        let lines = AsyncLines()
        taken = lines
        Thread.detachNewThread {
            while case let data = handle.availableData, !data.isEmpty { lines.append(data) }
            lines.end()
        }
    }

    /// Waits at most a minute for the service's report that it is ready. Returns `false` if the
    /// report doesn't arrive.
    func isReady() -> Bool { taken.isReady() }

    /// The lines that have arrived so far.
    func lines() -> [String] { taken.split() }

    /// Waits at most a minute for the end of the log, and returns all lines.
    func all() -> [String] { taken.all() }
}

private final class AsyncLines: Sendable {
    private struct State {
        var data = Data()
        var isReady = false
    }

    private static let readyLine = Data("notice ready\n".utf8)

    private let state = Mutex(State())
    private let ready = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    func append(_ data: Data) {
        let isReady = state.withLock { state in
            state.data += data
            let isReady = !state.isReady && state.data.range(of: Self.readyLine) != nil
            if isReady { state.isReady = true }
            return isReady
        }
        if isReady { ready.signal() }
    }

    func end() {
        ready.signal()
        ended.signal()
    }

    func isReady() -> Bool {
        _ = ready.wait(timeout: .now() + 60)
        return state.withLock { $0.isReady }
    }

    func all() -> [String] {
        _ = ended.wait(timeout: .now() + 60)
        return split()
    }

    func split() -> [String] {
        String(decoding: state.withLock { $0.data }, as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }
}
