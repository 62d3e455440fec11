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
            Programs find the service by its socket. The keychain is then opened by the service \
            alone, and what a program may see is decided by its executable, with --system by its \
            user id, and not by what it says. Without --system it serves the user who starts it.

            The service ends in good order on SIGTERM, SIGINT and SIGHUP, and locks every keychain \
            on SIGUSR1. It takes its socket from systemd where it is started for one.
            """,
        version: PackageVersion.text)

    @Flag(help: "Serve all users of this machine, each with a keychain of their own.")
    var system = false

    @Option(
        help: ArgumentHelp(
            "The folder of the keychain; with --system the folder of all keychains.",
            discussion: "Default: $XDG_DATA_HOME/keychain, or /var/lib/keychaind.",
            valueName: "path"))
    var directory: String?

    @Option(
        help: ArgumentHelp(
            "Where to listen.",
            discussion:
                "Default: $XDG_RUNTIME_DIR/keychain/socket, without the variable that of "
                + "/run/user/UID; with --system /run/keychaind/socket.",
            valueName: "path"))
    var socket: String?

    @Option(
        help: ArgumentHelp(
            "Where systemd asks for the credentials of units, with --system.",
            discussion: "Default: nowhere, unless systemd has made the socket.",
            valueName: "path"))
    var credentials: String?

    @Option(
        help: ArgumentHelp(
            "The folder that says which programs have which entitlements.",
            discussion:
                "Default: $XDG_CONFIG_HOME/keychain/programs, or /etc/keychaind/programs.",
            valueName: "path"))
    var registry: String?

    @Flag(help: "Give nothing to programs, with --system to users, that the registry doesn't name.")
    var registryOnly = false

    @Option(
        help: ArgumentHelp(
            "Lock a keychain when no item that needs it unlocked was read for so long.",
            discussion: "A number and s, m or h: 90s, 15m, 8h. Default: never.",
            valueName: "duration"))
    var lockAfter: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "The least important lines to log: trace, debug, info, notice, warning or error.",
            discussion: "At info and below every request has a line. Default: info.",
            valueName: "level"),
        transform: Self.level)
    var logLevel: Logger.Level = .info

    @Option(help: ArgumentHelp("How lines look: text or json.", valueName: "format"))
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
        if let folder = environment["RUNTIME_DIRECTORY"]?.split(separator: ":").first {
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
                "There is no XDG_RUNTIME_DIR to put the socket in, nor a /run/user/\(geteuid()) of "
                    + "this user's alone. Say where with --socket.")
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
            throw ServiceFailure("\(error.reason) Say where with --registry.")
        }
    }
}
