// KeyOptions: the options for an item's primary key.

import ArgumentParser
import KeychainCore

struct KeyOptions: ParsableArguments {
    /// A plain string, because the parser would repeat an invalid value in its error, and the value
    /// may be a secret.
    @Argument(
        help: ArgumentHelp(
            "The generic password, as SERVICE/ACCOUNT or SERVICE. The last slash is the separator; "
                + "write %2F for a slash that isn't."))
    var item: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Generic passwords: the service.", valueName: "name"))
    var service: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The account.", valueName: "name"))
    var account: String?

    @Option(help: ArgumentHelp("Internet passwords: the server's host name.", valueName: "host"))
    var server: String?

    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp(
            "Internet passwords: https, imaps, ssh, …, or Apple's four-character code.",
            valueName: "name"),
        completion: .list(NetworkNames.protocols.map(\.name)))
    var networkProtocol: String?

    @Option(help: ArgumentHelp("Internet passwords: the server's port.", valueName: "number"))
    var port: UInt16?

    @Option(
        help: ArgumentHelp("Internet passwords: the path on the server.", valueName: "path"))
    var path: String?

    @Option(
        help: ArgumentHelp("Internet passwords: the security domain (realm).", valueName: "name"))
    var securityDomain: String?

    @Option(
        help: ArgumentHelp(
            "Internet passwords: http-basic, html-form, …, or Apple's four-character code.",
            valueName: "name"),
        completion: .list(NetworkNames.authenticationTypes.map(\.name)))
    var authenticationType: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The access group.", valueName: "name"))
    var group: String?

    @Flag(
        inversion: .prefixedNo,
        help: """
            Only items marked for synchronization, or only the others. A new item is marked if \
            --synchronizable is given.
            """)
    var synchronizable: Bool?

    mutating func validate() throws {
        if service != nil, !internetAttributes.isEmpty {
            throw ValidationError(
                "--service applies to generic passwords; --server, --protocol, --port, --path, "
                    + "--security-domain and --authentication-type apply to internet passwords.")
        }
    }

    /// Whether options name a password, regardless of ``item``.
    var isNamedByOptions: Bool {
        service != nil || account != nil || !internetAttributes.isEmpty
    }

    /// Whether a service or server is named, by the argument or by options.
    var namesPlace: Bool { item != nil || service != nil || server != nil }

    func requireOneName() throws {
        guard item == nil || !isNamedByOptions else {
            throw ValidationError(
                "Name the item by SERVICE/ACCOUNT or by options, not by both.")
        }
        guard item == nil || name != nil else {
            throw ValidationError("The service is missing. Write SERVICE/ACCOUNT.")
        }
    }

    private var name: ItemName? { item.flatMap(ItemName.init) }

    private var internetAttributes: Attributes {
        var attributes: Attributes = [:]
        attributes[.server] = server.map { .string($0) }
        attributes[.protocolType] = networkProtocol.flatMap {
            NetworkNames.value(of: $0, for: .protocolType)
        }
        attributes[.port] = port.map { .number(Int64($0)) }
        attributes[.path] = path.map { .string($0) }
        attributes[.securityDomain] = securityDomain.map { .string($0) }
        attributes[.authenticationType] = authenticationType.flatMap {
            NetworkNames.value(of: $0, for: .authenticationType)
        }
        return attributes
    }

    /// The primary key attributes that the argument and the options set, except the access group
    /// and `synchronizable`.
    var attributes: Attributes {
        var attributes = internetAttributes
        attributes[.service] = (name?.service ?? service).map { .string($0) }
        attributes[.account] = (name?.account ?? account).map { .string($0) }
        return attributes
    }

    /// The class that the argument or the options imply, or `nil` if they imply none.
    var itemClass: ItemClass? {
        if item != nil || service != nil { return .genericPassword }
        return internetAttributes.isEmpty ? nil : .internetPassword
    }
}
