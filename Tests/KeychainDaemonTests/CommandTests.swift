import ArgumentParser
import Foundation
import KeychainEngine
import Logging
import TestPrograms
import Testing

@testable import KeychainDaemon

/// Arguments and environment variables, and the folder, socket and registry that result from them.
struct CommandRow: Sendable, CustomTestStringConvertible {
    let arguments: [String]
    let environment: [String: String]
    let places: [String]

    init(_ arguments: [String], _ environment: [String: String], _ places: String...) {
        self.arguments = arguments
        self.environment = environment
        self.places = places
    }

    var testDescription: String { arguments.joined(separator: " ") }
}

private let home = ["HOME": "/home/a", "XDG_RUNTIME_DIR": "/run/user/7"]

@Suite struct CommandTests {
    private func configuration(
        _ arguments: [String], _ environment: [String: String]
    ) throws -> DaemonConfiguration {
        try DaemonCommand.parse(arguments).daemonConfiguration(
            environment, executable: "/usr/bin/keychaind")
    }

    @Test(arguments: [
        (nil, "/run/user/7/keychain"), ("/run/own:/run/other", "/run/own"),
        ("own", "/run/user/7/keychain"), ("", "/run/user/7/keychain"),
    ])
    func `freshness notes are in RUNTIME_DIRECTORY if absolute, or else in the socket's folder`(
        given: String?, folder: String
    ) throws {
        var environment = home
        environment["RUNTIME_DIRECTORY"] = given
        #expect(
            try configuration([], environment).engine.freshness == FreshnessOptions(folder: folder))
    }

    // The expected values are from the help text and freedesktop.org's base directory
    // specification.
    @Test(arguments: [
        CommandRow(
            [], home, "/home/a/.local/share/keychain", "/run/user/7/keychain/socket",
            "/home/a/.config/keychain/programs"),
        CommandRow(
            [],
            home.merging(["XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config"]) { $1 },
            "/data/keychain", "/run/user/7/keychain/socket", "/config/keychain/programs"),
        CommandRow(
            [], home.merging(["KEYCHAIN_DIRECTORY": "/k"]) { $1 }, "/k",
            "/run/user/7/keychain/socket", "/home/a/.config/keychain/programs"),
        CommandRow(
            ["--system"], home, "/var/lib/keychaind", "/run/keychaind/socket",
            "/etc/keychaind/programs"),
        CommandRow(
            ["--directory", "/d/", "--socket", "/s", "--registry", "/r"], [:], "/d", "/s", "/r"),
    ])
    func `the service uses the configured paths, or else the default paths`(_ row: CommandRow)
        throws
    {
        let configuration = try configuration(row.arguments, row.environment)
        #expect(
            [configuration.directory, configuration.socket, configuration.registry] == row.places)
        let isSystem = row.arguments.contains("--system")
        #expect(configuration.kind == (isSystem ? .system : .user))
        #expect(!configuration.isRegistryOnly)
        #expect(configuration.keychainctl == (isSystem ? nil : "/usr/bin/keychainctl"))
    }

    @Test(arguments: [
        ["--directory", "d"], ["--socket", "s"], ["--registry", "./r"], [],
    ])
    func `relative paths, and defaults that can't be determined, are errors`(_ arguments: [String])
    {
        // An empty variable means that there is no folder for sockets.
        #expect(throws: ServiceFailure.self) {
            try configuration(arguments, ["XDG_RUNTIME_DIR": ""])
        }
    }

    @Test(
        arguments: zip(
            ["90s", "15m", "8h"], [Duration.seconds(90), .seconds(900), .seconds(28_800)]))
    func `a duration is a number with a unit`(_ text: String, _ duration: Duration) throws {
        #expect(try configuration(["--lock-after", text], home).lockAfter == duration)
    }

    @Test(arguments: ["15", "m", "0s", "-1m", "1.5h", "1d", "99999999999999999999s"])
    func `a duration without a positive whole number and a known unit is refused`(_ text: String) {
        #expect(throws: (any Error).self) { try DaemonCommand.parse(["--lock-after", text]) }
    }

    @Test(arguments: Logger.Level.allCases)
    func `each log level is accepted, and listed in the help`(_ level: Logger.Level) throws {
        #expect(try DaemonCommand.parse(["--log-level", level.rawValue]).logLevel == level)
        let help = DaemonCommand.helpMessage(includeHidden: false, columns: 1000)
        let line = try #require(help.split(separator: "\n").first { $0.contains("minimum level") })
        #expect(line.contains(level.rawValue))
    }

    @Test(arguments: [["--log-level", "loud"], ["--log-format", "xml"], ["--verbose"], ["serve"]])
    func `unknown options, option values and arguments are refused`(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try DaemonCommand.parse(arguments) }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The text of a systemd unit of the service for `user` or `system`.
    private func unit(_ name: String, _ kind: String) throws -> String {
        try String(
            contentsOf: Self.root.appending(path: "Distribution/systemd/\(kind)/\(name)"),
            encoding: .utf8)
    }

    @Test(arguments: ["user", "system"])
    func `the systemd units start the service with valid arguments and create its socket`(
        _ kind: String
    ) throws {
        let service = try unit("keychaind.service", kind)
        let socket = try unit("keychaind.socket", kind)
        let line = try #require(
            service.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let words = line.split(separator: " ").dropFirst().map(String.init)
        let configuration = try configuration(
            words, ["HOME": "/h", "XDG_RUNTIME_DIR": "/run"])
        #expect(configuration.kind == (kind == "user" ? .user : .system))
        // systemd creates the socket at the path where programs look for it.
        let listen = socket.replacing("%t", with: "/run").split(separator: "\n")
            .first { $0.hasPrefix("ListenStream=") }
        #expect(listen == "ListenStream=\(configuration.socket)")
    }

    @Test(arguments: ["user", "system"])
    func `the systemd units restrict the service and have a watchdog`(_ kind: String) throws {
        let service = try unit("keychaind.service", kind)
        for line in [
            "NoNewPrivileges=yes", "LimitCORE=0", "MemoryDenyWriteExecute=yes",
            "RestrictAddressFamilies=AF_UNIX", "SystemCallFilter=@system-service",
            "WatchdogSec=3min",
        ] {
            #expect(service.contains("\n\(line)\n"), "\(line)")
        }
        // In its own mount namespace a user's service couldn't see the executables of its peers.
        #expect(service.contains("ProtectSystem=strict\n") == (kind == "system"))
    }

    @Test func `the credential socket unit and the service agree on path and descriptor name`()
        throws
    {
        let unit = try unit("keychaind-credentials.socket", "system")
        for line in [
            "ListenStream=/run/keychaind/credentials-socket", "Service=keychaind.service",
            "FileDescriptorName=\(ServiceManager.credentialsName)", "SocketMode=0600",
        ] {
            #expect(unit.contains("\n\(line)\n"), "\(line)")
        }
        let words = ["--system", "--credentials", "/run/keychaind/credentials-socket/"]
        #expect(
            try configuration(words, [:]).credentialSocket == "/run/keychaind/credentials-socket")
        #expect(throws: ServiceFailure.self) { try configuration(["--credentials", "s"], home) }
    }

    @Test func `keychaind and keychainctl print the version at the top of the change log`() throws {
        let changes = try String(
            contentsOf: Self.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let version = try #require(changes.firstMatch(of: /(?m)^## (\S+)$/)?.1)
        for program in ["keychaind", "keychainctl"] {
            let path = try #require(TestProgram.path(of: program))
            #expect(
                try TestProgram(path: path, ["--version"], environment: [:]).lines()
                    == [String(version)])
        }
    }

    @Test func `keychaind prints help`() throws {
        let path = try #require(TestProgram.path(of: "keychaind"))
        let help = try TestProgram(path: path, ["--help"], environment: [:]).lines()
        #expect(help.first == "OVERVIEW: Keeps keychains for the programs that connect to it.")
        #expect(help.contains { $0.hasPrefix("USAGE: keychaind [--system]") })
    }
}
