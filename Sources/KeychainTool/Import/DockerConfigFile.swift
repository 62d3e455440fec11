// DockerConfigFile: parses the credentials that `docker login` writes to `~/.docker/config.json` if
// no credential helper is configured: for each registry, USER:PASSWORD in Base64, or a token. The
// credentials are imported in the form in which `docker-credential-keychain` stores them.

import FoundationEssentials
import KeychainCore

enum DockerConfigFile {
    private struct Config: Decodable {
        struct Registry: Decodable {
            var auth: String?
            var identitytoken: String?
        }

        var auths: [String: Registry]?
    }

    /// The user name that Docker uses with a token.
    private static let tokenUser = "<token>"

    static func items(in text: String) throws(ImportProblem) -> [ImportedItem] {
        guard let config = try? JSONDecoder().decode(Config.self, from: Data(text.utf8)) else {
            // The decoder's error may contain part of a secret, so it isn't repeated.
            throw ImportProblem(line: 1, text: "This is not JSON as written by Docker.")
        }
        var items: [ImportedItem] = []
        for (server, registry) in (config.auths ?? [:]).sorted(by: { $0.key < $1.key }) {
            if let token = registry.identitytoken, !token.isEmpty {
                items.append(item(server, tokenUser, token))
            } else if let auth = registry.auth, !auth.isEmpty {
                guard let data = Data(base64Encoded: auth),
                    let login = String(validating: data, as: UTF8.self),
                    let parts = login.split(atFirst: ":")
                else {
                    throw ImportProblem(
                        line: 1, text: "“auth” of \(printable(server)) is not USER:PASSWORD.")
                }
                // Docker, too, ignores zero bytes before and after the password that it reads.
                var password = parts.after.drop { $0 == "\0" }
                while password.last == "\0" { password.removeLast() }
                items.append(item(server, String(parts.before), String(password)))
            }
        }
        return items
    }

    private static func item(_ server: String, _ user: String, _ secret: String) -> ImportedItem {
        ImportedItem(
            service: server, account: user, label: server,
            description: DockerCredential.description, secret: secret, line: 1)
    }
}
