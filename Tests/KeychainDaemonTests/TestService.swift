// TestService: a service in this process or a separate one, and its clients.

import Foundation
import KeychainRuntime
import KeychainCrypto
import Glibc
import KeychainEngine
import KeychainCore
import Logging
import Synchronization
import TestPrograms
import Testing

@testable import KeychainDaemon

/// A folder that is deleted with this object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        // The name is short, because the path of a socket has at most 107 bytes.
        path = NSTemporaryDirectory() + "kd-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file, and returns its path.
    func put(_ content: String, _ name: String, mode: Int = 0o600) throws -> String {
        let file = path + "/" + name
        try? FileManager.default.removeItem(atPath: file)
        try #require(
            FileManager.default.createFile(
                atPath: file, contents: Data(content.utf8), attributes: [.posixPermissions: mode]))
        return file
    }

    func makeFolder(_ name: String, mode: Int = 0o700) throws -> String {
        let folder = path + "/" + name
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: mode])
        return folder
    }
}

/// The lines that were logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])
    private let onLine: @Sendable (String) -> Void

    /// The logging thread calls `onLine`, and continues when `onLine` returns.
    init(onLine: @escaping @Sendable (String) -> Void = { _ in }) { self.onLine = onLine }

    var all: [String] { lines.withLock { $0 } }

    func logger(_ format: LogLineFormat = .text) -> Logger {
        Logger(label: "test") { [self] _ in
            DaemonLogHandler(format: format, level: .trace) { line in
                self.lines.withLock { $0.append(line) }
                self.onLine(line)
            }
        }
    }
}

/// Waits until a condition holds. The deadline is far beyond what any successful run needs.
func eventually(_ what: String, _ condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now.advanced(by: .seconds(60))
    while try !condition() {
        try #require(ContinuousClock.now < deadline, "timed out: \(what)")
        usleep(2000)
    }
}

/// A service in this process.
final class TestService: Sendable {
    let folder: TemporaryFolder
    let log: LogLines
    let server: KeychainServer
    let configuration: DaemonConfiguration
    private let isStopped = Mutex(false)

    init(
        folder: TemporaryFolder? = nil, socket: Int32? = nil, isStarted: Bool = true,
        log: LogLines = LogLines(), format: LogLineFormat = .text,
        _ change: (inout DaemonConfiguration) -> Void = { _ in }
    ) throws {
        self.log = log
        let folder = try folder ?? TemporaryFolder()
        var configuration = DaemonConfiguration(
            directory: folder.path + "/keychain", socket: folder.path + "/run/socket",
            registry: folder.path + "/programs", engine: .testing)
        configuration.limits.registryInterval = .milliseconds(20)
        change(&configuration)
        self.folder = folder
        self.configuration = configuration
        server = try KeychainServer(configuration, socket: socket, log: log.logger(format))
        if isStarted { try server.start() }
    }

    func client() -> ServiceClient {
        ServiceClient(socketPath: configuration.socket)
    }

    deinit { stop() }

    func stop() {
        let isFirst = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return !isStopped
        }
        if isFirst { server.stop() }
    }

    /// Entitles this test program to access groups.
    static func entitle(_ groups: String..., in folder: TemporaryFolder) throws {
        try entitle(.executable(try thisExecutable()), groups, in: folder)
    }

    /// Entitles a program, user, unit, sandbox or socket to access groups.
    static func entitle(
        _ subject: RegistryEntry.Subject, _ groups: [String], in folder: TemporaryFolder
    ) throws {
        _ = try RegistryFolder(path: folder.path + "/programs").put(
            subject, sha256: nil, list: Entitlements.propertyList(groups: groups))
    }
}

func thisExecutable() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
}

func entitlements(_ texts: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0"><dict>
    <key>keychain-access-groups</key><array>\(texts)</array>
    </dict></plist>
    """
}

/// A service in a separate process.
final class ServiceProcess {
    let folder: TemporaryFolder
    let socket: String
    private let program: TestProgram

    init(in folder: TemporaryFolder, _ more: String...) throws {
        self.folder = folder
        socket = folder.path + "/run/socket"
        let path = try #require(TestProgram.path(of: "keychaind"))
        program = try TestProgram(
            path: path,
            [
                "--directory", folder.path + "/keychain", "--socket", socket, "--registry",
                folder.path + "/programs", "--log-level", "warning",
            ] + more, environment: [:])
        try eventually("the service listens") { Sockets.isAnsweredForTests(socket) }
    }

    func kill(_ signal: Int32 = SIGKILL) { program.send(signal) }

    var processIdentifier: Int32 { program.processIdentifier }

    var endedWell: Bool { program.endedWell }

    func waitForEnd() { _ = program.lines() }
}

extension Sockets {
    /// Whether the socket exists and a program listens on it.
    static func isAnsweredForTests(_ path: String) -> Bool {
        Files.status(ofLink: path)?.isSocket == true && isAnswered(path)
    }
}

/// Starts the test program `service-peer`, or the program at `path`, in a separate process.
func peer(_ arguments: String..., as path: String? = nil, input: Pipe? = nil) throws -> TestProgram
{
    let program = try path ?? #require(TestProgram.path(of: "service-peer"))
    return try TestProgram(path: program, arguments, environment: [:], input: input)
}

/// A hard link to the test program `service-peer`, with another name. To the service, the link is
/// another program.
final class PeerCopy {
    let path: String

    init() throws {
        let original = try #require(TestProgram.path(of: "service-peer"))
        path = original + "-" + UUID().uuidString.prefix(8)
        try FileManager.default.linkItem(atPath: original, toPath: path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.removeItem(atPath: path + ".entitlements")
    }

    /// Adds an entry for this link to a registry.
    func entitle(_ groups: String..., in folder: TemporaryFolder) throws {
        try TestService.entitle(.executable(path), groups, in: folder)
    }

    /// Writes an entitlements file beside this link. The file applies in embedded mode.
    func entitle(_ groups: String...) throws {
        let list = entitlements(groups.map { "<string>\($0)</string>" }.joined())
        try Data(list.utf8).write(to: URL(filePath: path + ".entitlements"))
    }
}

func password(_ account: String, _ value: String? = nil, in group: String? = nil) -> NewItem {
    NewItem(
        itemClass: .genericPassword,
        attributes: [.service: .string("service"), .account: .string(account)],
        accessGroup: group, protection: .afterFirstUnlock, data: Data((value ?? account).utf8))
}

func passwordQuery(_ account: String, in group: String? = nil) -> ItemQuery {
    ItemQuery(
        itemClass: .genericPassword,
        attributes: [.service: .string("service"), .account: .string(account)],
        accessGroup: group)
}

extension RequestHandler {
    /// The secret of an account, or `nil` if there is none.
    func load(_ account: String, as caller: AccessGroups) throws(KeychainFailure) -> String? {
        do {
            return try perform(
                FindItems(passwordQuery(account), Retrieval(includesData: true)), as: caller
            ).first?.data.map { String(decoding: $0, as: UTF8.self) }
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return nil
        }
    }
}

/// The status of the error that `body` throws, or zero if it throws none.
func status(_ body: () throws -> Void) -> Status {
    do {
        try body()
        return Status(rawValue: 0)
    } catch {
        return (error as? KeychainFailure)?.status ?? .internalError
    }
}

let everything = AccessGroups(["default", "*"])
