// DaemonCommand+Configuration: from arguments and environment to what a service is told.

import KeychainRuntime
import KeychainEngine
import KeychainCore

extension DaemonCommand {
    /// What the arguments say, and what is taken where they say nothing.
    ///
    /// - Parameters:
    ///   - environment: The variables of the process.
    ///   - executable: Where keychaind itself is, for the tool beside it.
    /// - Returns: The configuration.
    /// - Throws: ``ServiceFailure`` where a path isn't absolute, or can't be told.
    func daemonConfiguration(
        _ environment: [String: String], executable: String?
    ) throws(ServiceFailure) -> DaemonConfiguration {
        DaemonConfiguration(
            kind: system ? .system : .user,
            directory: try path(directory, "--directory", defaultDirectory, environment),
            socket: try path(socket, "--socket", defaultSocket, environment),
            registry: try path(registry, "--registry", defaultRegistry, environment),
            isRegistryOnly: registryOnly, keychainctl: system ? nil : Self.tool(beside: executable),
            lockAfter: lockAfter?.duration)
    }

    private static func tool(beside executable: String?) -> String? {
        guard let executable, let slash = executable.lastIndex(of: "/") else { return nil }
        return executable[...slash] + "keychainctl"
    }

    /// What was given, or what is taken otherwise.
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
        guard let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") else {
            throw ServiceFailure(
                "There is no XDG_RUNTIME_DIR to put the socket in. Say where with --socket.")
        }
        return runtime + "/keychain/socket"
    }

    private func defaultRegistry(
        _ environment: [String: String]
    ) throws(ServiceFailure) -> String {
        if system { return "/etc/keychaind/programs" }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            return folder + "/keychain/programs"
        }
        guard let home = environment["HOME"], home.hasPrefix("/") else {
            throw ServiceFailure(
                "There is no HOME to look for the registry in. Say where with --registry.")
        }
        return home + "/.config/keychain/programs"
    }
}
