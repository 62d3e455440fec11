// ServiceUnderTest: a keychain behind a socket, with the service in this process.

import Foundation
import KeychainRuntime
import KeychainCrypto
import KeychainDaemon
import KeychainEngine
import KeychainCore
import Logging
import Testing

final class ServiceUnderTest: KeychainUnderTest {
    private let configuration: DaemonConfiguration
    private let client: ServiceClient
    private var server: KeychainServer
    private let folder: String
    private let passcode = SecretBytes(copying: Array("passcode".utf8))

    /// A test case gets all groups that it claims, because this program may use every group.
    var handler: KeychainHandler { .service(client) }

    init(hardware: (any KeyHardware)? = nil) throws {
        var engine = EngineOptions.testing
        engine.hardware = hardware
        // The name is short, because the path of a socket has at most 107 bytes.
        folder = NSTemporaryDirectory() + "kc-" + UUID().uuidString.prefix(8)
        var limits = DaemonConfiguration.Limits()
        limits.requests = 2
        configuration = DaemonConfiguration(
            directory: folder + "/keychain", socket: folder + "/run/socket",
            registry: folder + "/programs", limits: limits, engine: engine)
        try Self.entitle(in: folder)
        server = try Self.start(configuration)
        client = ServiceClient(socketPath: configuration.socket)
        try setPasscode()
    }

    deinit {
        server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func start(_ configuration: DaemonConfiguration) throws -> KeychainServer {
        var log = Logger(label: "service under test")
        log.logLevel = .critical
        let server = try KeychainServer(configuration, log: log)
        try server.start()
        return server
    }

    /// Adds an entry for the test program to the service's registry.
    private static func entitle(in folder: String) throws {
        let programs = folder + "/programs/"
        try FileManager.default.createDirectory(
            atPath: programs, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let list = try PropertyListSerialization.data(
            fromPropertyList: ["keychain-access-groups": ["*"]], format: .xml, options: 0)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let entry = try JSONEncoder().encode([
            "executable": program, "entitlements": "tests.entitlements",
        ])
        for (name, content) in [("tests.entitlements", list), ("tests.json", entry)] {
            try #require(
                FileManager.default.createFile(
                    atPath: programs + name, contents: content,
                    attributes: [.posixPermissions: 0o600]))
        }
    }

    func lock() throws { try client.perform(Lock()) }
    func unlock() throws { try client.perform(Unlock(passcode: passcode)) }

    func restart() throws {
        server.stop()
        server = try Self.start(configuration)
    }

    func setPasscode() throws { try client.perform(SetPasscode(passcode, allowsWeak: true)) }
    func removePasscode() throws { _ = try client.perform(RemovePasscode(passcode)) }
}
