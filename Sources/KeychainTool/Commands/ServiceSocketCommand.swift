// ServiceSocketCommand: manages the dedicated sockets of the user's keychain service.

import ArgumentParser
import KeychainCore
import KeychainRuntime

/// Dedicated sockets act as identities: a client that connects to one has the socket's access
/// groups, and nothing else.
struct ServiceSocketCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "socket",
        abstract: "Creates sockets that grant access groups to the programs that connect to them.",
        discussion: """
            Use such a socket for a container, a unit or a script. Give this client access to no \
            other socket of the service, and set KEYCHAIN_SERVICE in its environment to the \
            socket's path. A running service creates the socket within a few seconds, in a folder \
            that no other user can enter.
            """,
        subcommands: [Add.self, List.self, Remove.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: "Creates a socket, or replaces its groups, and prints its path.")

        @Argument(
            help: ArgumentHelp("The name: 1 to 32 letters, digits and hyphens.", valueName: "name"))
        var name: String

        @OptionGroup var groups: GroupOptions

        mutating func validate() throws {
            guard RegistryEntry.isSocketName(name) else {
                throw ValidationError(
                    "The name of a socket must be 1 to 32 letters, digits and hyphens.")
            }
            guard !groups.group.isEmpty || groups.entitlements != nil else {
                throw ValidationError(
                    "Use --group or --entitlements to specify the socket's groups.")
            }
        }

        func run() throws {
            guard let list = try groups.list() else { return }
            _ = try RegistryFolder.ofUser().put(.socket(name), sha256: nil, list: list)
            try Output.print(try KeychainChoice.ownSocket(name))
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists the sockets, with their access groups.")

        @Flag(help: "Writes an array of JSON objects.")
        var json = false

        func run() throws {
            try RegistryEntry.show(in: .ofUser(), json: json, heading: "SOCKET") { subject in
                if case .socket = subject { true } else { false }
            }
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Removes a socket, and closes its connections.")

        @Argument(help: ArgumentHelp("The name, as shown by `list`.", valueName: "name"))
        var name: String

        func run() throws {
            try RegistryEntry.remove(
                .socket(name), "`keychainctl service socket list` shows the existing sockets.")
        }
    }
}
