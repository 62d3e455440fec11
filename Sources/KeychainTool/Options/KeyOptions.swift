// KeyOptions: the options for an item's primary key.

import ArgumentParser
import KeychainCore

struct KeyOptions: ParsableArguments {
    /// A plain string, because the parser would repeat an invalid value in its error, and the value
    /// may be a secret.
    @Argument(
        help: ArgumentHelp(
            "A generic password, SERVICE/ACCOUNT or SERVICE, in place of these options. The last "
                + "slash separates; %2F stands for one that doesn't."))
    var item: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Of a generic password: the service it is for.", valueName: "name"))
    var service: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The account.", valueName: "name"))
    var account: String?

    @Option(help: ArgumentHelp("Of an internet password: the server's name.", valueName: "host"))
    var server: String?

    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp(
            "Of an internet password: https, imaps, ssh, …, or Apple's four characters.",
            valueName: "name"),
        completion: .list(NetworkNames.protocols.map(\.name)))
    var networkProtocol: String?

    @Option(help: ArgumentHelp("Of an internet password: the server's port.", valueName: "number"))
    var port: UInt16?

    @Option(
        help: ArgumentHelp("Of an internet password: the path on the server.", valueName: "path"))
    var path: String?

    @Option(help: ArgumentHelp("Of an internet password: the realm.", valueName: "name"))
    var securityDomain: String?

    @Option(
        help: ArgumentHelp(
            "Of an internet password: http-basic, html-form, …, or Apple's four characters.",
            valueName: "name"),
        completion: .list(NetworkNames.authenticationTypes.map(\.name)))
    var authenticationType: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The access group.", valueName: "name"))
    var group: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Items marked for synchronization only, or those that are not.")
    var synchronizable: Bool?

    mutating func validate() throws {
        if service != nil, !internetAttributes.isEmpty {
            throw ValidationError(
                "--service is for generic passwords; --server, --protocol, --port, --path, "
                    + "--security-domain and --authentication-type are for internet passwords.")
        }
    }

    /// Whether options other than ``item`` also name a password.
    var isNamedByOptions: Bool {
        service != nil || account != nil || !internetAttributes.isEmpty
    }

    /// Whether the options name a service or server.
    var namesPlace: Bool { item != nil || service != nil || server != nil }

    func requireOneName() throws {
        guard item == nil || !isNamedByOptions else {
            throw ValidationError(
                "Name the item by SERVICE/ACCOUNT or by options, not by both.")
        }
        guard item == nil || name != nil else {
            throw ValidationError("No service is named. Write SERVICE/ACCOUNT.")
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

    /// The primary key attributes that the options set.
    var attributes: Attributes {
        var attributes = internetAttributes
        attributes[.service] = (name?.service ?? service).map { .string($0) }
        attributes[.account] = (name?.account ?? account).map { .string($0) }
        return attributes
    }

    /// The class that the options imply, or `nil` if they imply none.
    var itemClass: ItemClass? {
        if item != nil || service != nil { return .genericPassword }
        return internetAttributes.isEmpty ? nil : .internetPassword
    }
}
