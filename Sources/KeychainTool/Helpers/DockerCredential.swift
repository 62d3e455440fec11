// DockerCredential: the credentials of registries, for Docker, Podman and related programs. The
// protocol is that of github.com/docker/docker-credential-helpers. The texts of three messages are
// also from there, because Docker recognizes them: `notFound`, `noServer` and `noUser`.
//   (1) A credential is a generic password. Its service is the server's URL as Docker gives it, and
//       its description marks it as a registry credential.
//   (2) A server has one credential: storing a credential of another user replaces it.

import FoundationEssentials
import KeychainCore
import KeychainRuntime

struct DockerCredential {
    static let description = "registry credential"
    private static let kind: Attributes = [.description: .string(description)]

    static let notFound = "credentials not found in native keychain"
    static let noServer = "no credentials server URL"
    static let noUser = "no credentials username"

    /// The reason why a request failed. Docker reads the message from standard output.
    struct Refusal: Error {
        let message: String
    }

    private struct Credentials: Codable {
        var url: String?
        var user: String?
        var secret: String?

        enum CodingKeys: String, CodingKey {
            case url = "ServerURL"
            case user = "Username"
            case secret = "Secret"
        }
    }

    private static func items(_ session: KeychainSession, of url: String? = nil) throws
        -> [ItemSnapshot]
    {
        var attributes = kind
        attributes[.service] = url.map { .string($0) }
        return try session.find([
            ItemQuery(
                itemClass: .genericPassword, attributes: attributes, isSynchronizable: nil)
        ])
    }

    /// The server's URL in a request, without surrounding white space.
    static func url(_ input: [UInt8]) throws -> String {
        guard let text = String(validating: input, as: UTF8.self) else {
            throw Refusal(message: noServer)
        }
        let url = text.drop(while: \.isWhitespace)
        let end = url.lastIndex { !$0.isWhitespace }
        guard let end else { throw Refusal(message: noServer) }
        return String(url[...end])
    }

    static func store(_ input: [UInt8], in session: () throws -> KeychainSession) throws {
        let credentials: Credentials
        do {
            credentials = try JSONDecoder().decode(Credentials.self, from: Data(input))
        } catch {
            // The input contains the secret, so the error repeats no part of it.
            throw Refusal(message: "the credentials are not valid JSON")
        }
        guard let url = credentials.url, !url.isEmpty else { throw Refusal(message: noServer) }
        guard let user = credentials.user, !user.isEmpty else { throw Refusal(message: noUser) }
        let session = try session()
        defer { session.close() }
        try ItemSaving(
            itemClass: .genericPassword,
            keys: [.service: .string(url), .account: .string(user)],
            remarks: kind.merging([.label: .string(url)]) { $1 }, keepsVersions: false
        ).save(Data((credentials.secret ?? "").utf8), in: session)
        for item in try items(session, of: url) where account(of: item) != user {
            try delete(item, session)
        }
    }

    static func find(_ url: String, in session: KeychainSession) throws -> String {
        guard let item = try items(session, of: url).first else {
            throw Refusal(message: notFound)
        }
        let reference = ItemQuery(
            itemClass: .genericPassword, isSynchronizable: nil, reference: item.reference)
        guard let data = try session.openOne([reference]).data,
            let secret = String(validating: data, as: UTF8.self)
        else { throw Refusal(message: notFound) }
        return try json(Credentials(url: url, user: account(of: item), secret: secret))
    }

    static func erase(_ url: String, in session: KeychainSession) throws {
        let found = try items(session, of: url)
        guard !found.isEmpty else { throw Refusal(message: notFound) }
        for item in found { try delete(item, session) }
    }

    /// A JSON object with the user for each server.
    static func list(in session: KeychainSession) throws -> String {
        var users: [String: String] = [:]
        for item in try items(session) {
            if case .string(let url) = item.attributes[.service] { users[url] = account(of: item) }
        }
        return try json(users)
    }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private static func account(of item: ItemSnapshot) -> String {
        if case .string(let account) = item.attributes[.account] { account } else { "" }
    }

    private static func delete(_ item: ItemSnapshot, _ session: KeychainSession) throws {
        let reference = ItemQuery(
            itemClass: .genericPassword, isSynchronizable: nil, reference: item.reference)
        _ = try session.unlocking { () throws(KeychainFailure) in
            try session.keychain.perform(
                DeleteItems(reference, tombstones: .automatic), as: session.caller)
        }
    }
}
