// DaemonCommand: the arguments of keychaind, and the configuration that follows from them and from
// the environment.

import ArgumentParser
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEngine
import KeychainRuntime
import Logging

struct DaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keychaind",
        abstract: "Keeps keychains for the programs that connect to it.",
        discussion: """
            Programs find the service by its socket, and the service opens the keychain for them. \
            A program's access depends on its executable or sandbox, or with --system on its user \
            id and systemd unit, never on what the program claims. A program that connects to a \
            dedicated socket has the access of that socket. Without --system, the service serves \
            the user who starts it.

            The service shuts down cleanly on SIGTERM, SIGINT and SIGHUP, and locks all keychains \
            on SIGUSR1. With socket activation, it takes its socket from systemd.
            """,
        version: PackageVersion.text)

    @Flag(help: "Serve all users of this machine, each with a separate keychain.")
    var system = false

    @Option(
        help: ArgumentHelp(
            "The folder of the keychain; with --system the folder of all keychains.",
            discussion:
                "Default: $KEYCHAIN_DIRECTORY or, if it isn't set, $XDG_DATA_HOME/keychain; with "
                + "--system, /var/lib/keychaind.",
            valueName: "path"))
    var directory: String?

    @Option(
        help: ArgumentHelp(
            "The path of the socket to listen at.",
            discussion:
                "Default: $XDG_RUNTIME_DIR/keychain/socket, or /run/user/UID/keychain/socket if "
                + "the variable isn't set; with --system, /run/keychaind/socket.",
            valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "With --system, the path of the socket at which systemd requests the credentials of "
                + "units.",
            discussion: "Default: none, unless systemd passes the socket.",
            valueName: "path"))
    var credentials: String?

    @Option(
        help: ArgumentHelp(
            "The folder of the registry, which defines the entitlements of programs.",
            discussion:
                "Default: $XDG_CONFIG_HOME/keychain/programs; with --system, "
                + "/etc/keychaind/programs.",
            valueName: "path"))
    var registry: String?

    @Flag(
        help: ArgumentHelp(
            "Deny access to programs, or with --system to users, that the registry doesn't name."))
    var registryOnly = false

    @Option(
        help: ArgumentHelp(
            "Lock a keychain when no secret that requires it to be unlocked has been read or saved "
                + "for this long.",
            discussion: "A number and s, m or h: 90s, 15m, 8h. Default: never.",
            valueName: "duration"))
    var lockAfter: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "The minimum level of log lines: trace, debug, info, notice, warning, error or "
                + "critical.",
            discussion: "At info and below, each request is logged. Default: info.",
            valueName: "level"),
        transform: Self.level)
    var logLevel: Logger.Level = .info

    @Option(help: ArgumentHelp("The format of log lines: text or json.", valueName: "format"))
    var logFormat: LogLineFormat = .text

    private static func level(_ argument: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: argument) else {
            throw ValidationError("There is no log level \"\(argument)\".")
        }
        return level
    }
}

/// A duration as the user writes it, such as `90s`, `15m` or `8h`.
struct TimeSpan: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
        guard let unit = argument.last.flatMap({ units[$0] }),
            let number = Int64(argument.dropLast()), number > 0, number <= 1_000_000
        else { return nil }
        duration = .seconds(number * unit)
    }
}

extension LogLineFormat: ExpressibleByArgument {}

// MARK: - Configuration

extension DaemonCommand {
    /// The configuration from the arguments, with the defaults for options that were not given.
    ///
    /// - Parameters:
    ///   - environment: The environment variables of the process.
    ///   - executable: The path of keychaind, to find `keychainctl` beside it.
    /// - Returns: The configuration.
    /// - Throws: ``ServiceFailure`` if a path isn't absolute or a default can't be determined.
    func daemonConfiguration(
        _ environment: [String: String], executable: String?
    ) throws(ServiceFailure) -> DaemonConfiguration {
        let socket = try path(socket, "--socket", defaultSocket, environment)
        return DaemonConfiguration(
            kind: system ? .system : .user,
            directory: try path(directory, "--directory", defaultDirectory, environment),
            socket: socket,
            registry: try path(registry, "--registry", defaultRegistry, environment),
            isRegistryOnly: registryOnly, keychainctl: system ? nil : Self.tool(beside: executable),
            lockAfter: lockAfter?.duration,
            engine: EngineOptions(
                freshness: FreshnessOptions(folder: Self.noteFolder(beside: socket, environment))),
            credentialSocket: try credentials.map { given throws(ServiceFailure) in
                try path(
                    given, "--credentials",
                    { _ throws(ServiceFailure) in given }, environment)
            })
    }

    /// The folder of the freshness notes: the runtime folder that systemd made for this service, or
    /// else the folder of the socket.
    private static func noteFolder(
        beside socket: String, _ environment: [String: String]
    ) -> String? {
        if let folder = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first,
            folder.hasPrefix("/")
        {
            return String(folder)
        }
        return socket.lastIndex(of: "/").map { String(socket[..<$0]) }
    }

    private static func tool(beside executable: String?) -> String? {
        guard let executable, let slash = executable.lastIndex(of: "/") else { return nil }
        return executable[...slash] + "keychainctl"
    }

    /// The path that was given for an option, or the default that `otherwise` returns.
    private func path(
        _ given: String?, _ option: String,
        _ otherwise: ([String: String]) throws(ServiceFailure) -> String,
        _ environment: [String: String]
    ) throws(ServiceFailure) -> String {
        guard var path = given else { return try otherwise(environment) }
        guard path.hasPrefix("/") else {
            throw ServiceFailure("\(option) takes an absolute path.")
        }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    private func defaultDirectory(
        _ environment: [String: String]
    ) throws(ServiceFailure) -> String {
        if system { return "/var/lib/keychaind" }
        do throws(KeychainFailure) {
            return try EmbeddedKeychain.location(environment).directory
        } catch {
            throw ServiceFailure(error.reason)
        }
    }

    private func defaultSocket(_ environment: [String: String]) throws(ServiceFailure) -> String {
        if system { return "/run/keychaind/socket" }
        guard let runtime = RuntimeFolder(environment).path else {
            throw ServiceFailure(
                "XDG_RUNTIME_DIR isn't set to an absolute path, and /run/user/\(geteuid()) isn't a "
                    + "folder that only this user can enter. Set the path of the socket with "
                    + "--socket.")
        }
        return RuntimeFolder.socket(in: runtime)
    }

    private func defaultRegistry(
        _ environment: [String: String]
    ) throws(ServiceFailure) -> String {
        if system { return "/etc/keychaind/programs" }
        do throws(KeychainFailure) {
            return try RegistryFolder.ofUser(environment).path
        } catch {
            throw ServiceFailure("\(error.reason) Set the folder with --registry.")
        }
    }
}
