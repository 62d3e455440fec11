// GitCredential: handles git's requests to a credential helper, as described in gitcredentials(7)
// and git-credential(1).
//   (1) A credential is an internet password. Server, port, protocol, path and account come from
//       git. The first line of the secret is the password; further lines NAME=VALUE contain data
//       that belongs to it, as in the items of git's own helper for Apple's keychain.
//   (2) Unknown attributes are ignored, as git requires of helpers.
//   (3) A credential with a scheme (`authtype`) is given only to a git that supports schemes,
//       because a git without this support would send the credential as a password.

import FoundationEssentials
import KeychainCore
import KeychainRuntime

struct GitCredential {
    /// The attributes of the request, by name.
    private let said: [String: String]
    private let capabilities: Set<String>

    /// The attributes that are stored in addition to the password. In a stored secret, the line of
    /// `authtype` follows the password; then come the other attributes, in the order of this array.
    private static let kept = ["password_expiry_utc", "oauth_refresh_token", "authtype"]

    /// The default ports of the protocols over which git usually sends passwords. Other programs
    /// store the port with the item even if it is the default.
    private static let defaultPorts: [String: Int64] = ["http": 80, "https": 443]

    /// - Parameter input: Lines NAME=VALUE, up to the first empty line.
    /// - Throws: ``ControlFailure`` if the input is not UTF-8.
    init(_ input: [UInt8]) throws(ControlFailure) {
        guard let text = String(validating: input, as: UTF8.self) else {
            throw ControlFailure(.usage, "git's request is not UTF-8. Nothing was done.")
        }
        var said: [String: String] = [:]
        var capabilities: Set<String> = []
        for line in text.lines {
            if line.isEmpty { break }
            guard let parts = line.split(atFirst: "=") else { continue }
            let value = String(parts.after)
            switch parts.before {
            case "capability[]": capabilities.insert(value)
            case let name: said[String(name)] = value
            }
        }
        self.said = said
        self.capabilities = capabilities
    }

    // MARK: The item

    /// The primary key attributes in the request; `nil` if it lacks a host or a protocol that items
    /// can have.
    private var key: Attributes? {
        guard let name = said["protocol"], let host = said["host"], !host.isEmpty,
            NetworkNames.protocols.contains(where: { $0.name == name }),
            let value = NetworkNames.value(of: name, for: .protocolType)
        else { return nil }
        // A host that can't be split into host and port is compared as a whole.
        let (server, port) = NetworkNames.hostAndPort(host[...]) ?? (host, nil)
        var key: Attributes = [.protocolType: value, .server: .string(server)]
        key[.port] = port.map { .number(Int64($0)) }
        key[.path] = said["path"].map { .string($0) }
        key[.account] = said["username"].map { .string($0) }
        return key
    }

    /// The matching items. git's `host` contains a port if the URL does. If `host` contains no
    /// port, the default port is meant: an item with another port doesn't match, but an item
    /// without a port does.
    private func items(in session: KeychainSession) throws -> [ItemSnapshot] {
        guard let key else { return [] }
        let query = ItemQuery(itemClass: .internetPassword, attributes: key, isSynchronizable: nil)
        let ports: [Int64] = [0, Self.defaultPorts[said["protocol"] ?? ""] ?? 0]
        return try session.find([query]).filter { item in
            guard key[.port] == nil, case .number(let port) = item.attributes[.port] else {
                return true
            }
            return ports.contains(port)
        }
    }

    /// An item's secret, split into its lines.
    private struct Secret {
        let password: String
        private(set) var remarks: [String: String] = [:]

        init?(_ data: Data?) {
            guard let data, let text = String(validating: data, as: UTF8.self) else { return nil }
            let lines = text.lines
            password = lines.first.map(String.init) ?? ""
            for line in lines.dropFirst() {
                guard let parts = line.split(atFirst: "=") else { continue }
                remarks[String(parts.before)] = String(parts.after)
            }
        }
    }

    // MARK: Operations

    /// The response to `get`; empty if there is no credential.
    func find(in session: KeychainSession) throws -> String {
        let found = try items(in: session).sorted { $0.changeSeconds > $1.changeSeconds }
        for item in found {
            let reference = ItemQuery(
                itemClass: .internetPassword, isSynchronizable: nil, reference: item.reference)
            guard let secret = Secret(try session.openOne([reference]).data),
                let answer = answer(item, secret)
            else { continue }
            return answer
        }
        return ""
    }

    private func answer(_ item: ItemSnapshot, _ secret: Secret) -> String? {
        var lines: [String] = []
        if case .string(let account) = item.attributes[.account] {
            // A line break would begin another line, with which an item could name another host.
            guard !account.utf8.contains(where: { $0 == 0x0A || $0 == 0 }) else { return nil }
            lines.append("username=\(account)")
        }
        if let scheme = secret.remarks["authtype"] {
            // See (3) at the top.
            guard capabilities.contains("authtype") else { return nil }
            lines = [
                "capability[]=authtype", "authtype=\(scheme)", "credential=\(secret.password)",
            ]
        } else {
            lines.append("password=\(secret.password)")
        }
        for name in Self.kept where name != "authtype" {
            if let value = secret.remarks[name] { lines.append("\(name)=\(value)") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Performs `store`.
    func store(in session: () throws -> KeychainSession) throws {
        guard var key, said["ephemeral"] != "1" else { return }
        var lines: [String]
        if let credential = said["credential"], let scheme = said["authtype"] {
            lines = [credential, "authtype=\(scheme)"]
        } else if let password = said["password"], said["username"] != nil {
            lines = [password]
        } else {
            return
        }
        for name in Self.kept where name != "authtype" {
            if let value = said[name] { lines.append("\(name)=\(value)") }
        }
        key[.account] = key[.account] ?? .string("")
        let session = try session()
        defer { session.close() }
        try ItemSaving(
            itemClass: .internetPassword, keys: key,
            remarks: [
                .label: .string(said["host"] ?? ""), .description: .string("git credential"),
            ],
            // git stores a credential again each time a server has accepted it.
            keepsVersions: false
        ).save(Data(lines.joined(separator: "\n").utf8), in: session)
    }

    /// Performs `erase`: deletes the matching items. If the request contains a password or a
    /// `credential`, only items whose secret has it as the first line are deleted.
    func erase(in session: KeychainSession) throws {
        for item in try items(in: session) {
            let reference = ItemQuery(
                itemClass: .internetPassword, isSynchronizable: nil, reference: item.reference)
            if let wanted = said["password"] ?? said["credential"],
                Secret(try session.openOne([reference]).data)?.password != wanted
            {
                continue
            }
            _ = try session.unlocking { () throws(KeychainFailure) in
                try session.keychain.perform(
                    DeleteItems(reference, tombstones: .automatic), as: session.caller)
            }
        }
    }
}

extension ItemSnapshot {
    /// Seconds since 2001-01-01, or 0 if the item has no date.
    fileprivate var changeSeconds: Double {
        if case .date(let seconds) = attributes[.modificationDate] { seconds } else { 0 }
    }
}
