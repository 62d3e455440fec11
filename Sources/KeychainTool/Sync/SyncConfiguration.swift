// SyncConfiguration: the file that says which server a circle uses, and how to connect to it.
//   (1) No secret is in the file itself, among the arguments or in the environment: the private key
//       and the password are in separate files.
//   (2) Anyone who can write the file can choose the server to which the password is sent. So the
//       file must belong to the user, and no other user may have access to it.
//   (3) An unknown setting is an error, so that a misspelled setting isn't silently ignored.

#if Synchronization

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainEtcd

struct SyncConfiguration: Sendable {
    let etcd: EtcdConfiguration
    /// The number of milliseconds without a sign of life after which a machine is suspended; 0 for
    /// never.
    let absenceLimit: Int64

    private static let standardAbsence = "60d"
    private static let standardPrefix = "keychain/"
    private static let byteLimit = 64 << 10
    private static let passwordByteLimit = 4096
    private static let example =
        #"{"endpoints": ["https://etcd.example.org:2379"], "authority": "ca.pem", "#
        + #""certificate": "client.pem", "key": "client.key"}"#

    /// The path of the file if the option --config is not given: `keychain/sync.json` in the user's
    /// configuration folder.
    static func standardPath(
        _ environment: [String: String] = ProcessEnvironment.variables
    ) throws(ControlFailure) -> String {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            return folder + "/keychain/sync.json"
        }
        guard let home = ProcessEnvironment.home(environment) else {
            throw ControlFailure(
                .failure,
                "This user has no home folder, neither in HOME nor in the user database. Specify "
                    + "the configuration of the server with --config.")
        }
        return home + "/.config/keychain/sync.json"
    }

    /// Reads the file.
    ///
    /// - Throws: ``ControlFailure``, which says what to change in the file or in the files that it
    ///   names.
    init(path: String) throws {
        let settings = try Self.settings(in: Self.content(of: path), path)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        func place(_ name: String) -> String { name.hasPrefix("/") ? name : folder + "/" + name }

        var certificate: EtcdConfiguration.ClientCertificate?
        switch (settings.certificate, settings.key) {
        case (nil, nil): break
        case (let file?, let key?):
            try Self.checkSecret(place(key))
            certificate = EtcdConfiguration.ClientCertificate(
                certificateFile: place(file), keyFile: place(key))
        default:
            throw Self.failure(path, "“certificate” and “key” must be set both or not at all")
        }
        var user: EtcdConfiguration.User?
        switch (settings.user, settings.passwordFile) {
        case (nil, nil): break
        case (let name?, let file?):
            let password = place(file)
            try Self.checkSecret(password)
            user = EtcdConfiguration.User(name: name) { try Self.password(in: password) }
        default:
            throw Self.failure(path, "“user” and “passwordFile” must be set both or not at all")
        }
        absenceLimit = try Self.absence(settings.suspendAfter ?? Self.standardAbsence, path)
        do {
            etcd = try EtcdConfiguration(
                endpoints: settings.endpoints, prefix: settings.prefix ?? Self.standardPrefix,
                authorityFile: settings.authority.map(place), clientCertificate: certificate,
                user: user)
        } catch let failure as EtcdFailure {
            throw Self.failure(path, "\(failure.reason)", isSentence: true)
        }
    }

    private static func absence(
        _ text: String, _ path: String
    ) throws(ControlFailure) -> Int64 {
        if text == "never" { return 0 }
        guard let duration = SyncDuration(argument: text), duration.seconds >= 86_400 else {
            throw failure(
                path, "“suspendAfter” must be a duration from “1d” to “366d”, or “never”")
        }
        return duration.seconds * 1000
    }

    private static func failure(
        _ path: String, _ what: String, isSentence: Bool = false
    ) -> ControlFailure {
        ControlFailure(
            .failure,
            "The configuration \(printable(path)) can't be used: \(printable(what))"
                + (isSentence ? "" : "."))
    }

    // MARK: Files

    private static func content(of path: String) throws(ControlFailure) -> Data {
        guard Files.isThere(path) else {
            throw ControlFailure(
                .failure,
                "No server is configured. Create \(printable(path)), readable only by you (chmod "
                    + "600), with the settings of the server, for example \(example)")
        }
        // O_NONBLOCK, so that a pipe doesn't block this process.
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK) else {
            throw failure(path, errorText(errno))
        }
        guard let status = Files.status(of: file), status.isPlainFile else {
            throw failure(path, "it is not a regular file")
        }
        guard status.owner == geteuid(), status.mode & 0o077 == 0 else {
            throw failure(
                path,
                "it belongs to another user, or other users have access to it. Make sure that it "
                    + "wasn't changed, then run `chmod 600` on it")
        }
        guard let content = Files.content(of: file, atMost: byteLimit) else {
            throw failure(path, "it can't be read, or has more than \(byteLimit) bytes")
        }
        return content
    }

    /// Checks the file of a private key or of a password: it must be a regular file of this user or
    /// of root, to which users outside the file's group have no access.
    ///
    /// The mode may show group permissions, because systemd lets a unit's user read the unit's
    /// credentials through an access control list: the mode's group bits then show the list's mask.
    private static func checkSecret(_ path: String) throws(ControlFailure) {
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK) else {
            throw ControlFailure(
                .failure,
                "Can't read \(printable(path)), which the configuration of the server names: "
                    + "\(errorText(errno)).")
        }
        guard let status = Files.status(of: file), status.isPlainFile,
            status.owner == geteuid() || status.owner == 0, status.mode & 0o007 == 0
        else {
            throw ControlFailure(
                .denied,
                "\(printable(path)) contains a secret of the server's configuration, but is not a "
                    + "regular file of this user to which others have no access. Run `chmod 600` "
                    + "on it.")
        }
    }

    /// Reads the password, without the newline at its end. The file is read for each
    /// authentication, so that the password can be changed while `sync run` runs.
    ///
    /// This method doesn't call `ProcessProtection.beginHoldingSecrets()`: when the keychain
    /// service has been restarted, the service must be able to identify this process again. All
    /// programs of this user can read the file of the password anyway.
    private static func password(in path: String) throws -> String {
        guard let file = Files.open(path, O_RDONLY | O_NONBLOCK),
            let content = Files.content(of: file, atMost: passwordByteLimit),
            let text = String(validating: content, as: UTF8.self)
        else {
            throw ControlFailure(
                .failure, "\(printable(path)) can't be read, or is not a password.")
        }
        return text.last?.isNewline == true ? String(text.dropLast()) : text
    }

    // MARK: Settings

    private static func settings(
        in content: Data, _ path: String
    ) throws(ControlFailure) -> SyncSettings {
        do {
            return try JSONDecoder().decode(SyncSettings.self, from: content)
        } catch let unknown as SyncSettings.Unknown {
            throw failure(path, "there is no setting “\(unknown.name)”")
        } catch {
            throw failure(path, "it must be a JSON object like this example: \(example)")
        }
    }
}

/// The members of the file's object.
private struct SyncSettings: Decodable {
    var endpoints: [String]
    var prefix: String?
    var authority: String?
    var certificate: String?
    var key: String?
    var user: String?
    var passwordFile: String?
    var suspendAfter: String?

    struct Unknown: Error {
        let name: String
    }

    private enum Name: String, CodingKey {
        case endpoints, prefix, authority, certificate, key, user, passwordFile, suspendAfter
    }

    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let names = try decoder.container(keyedBy: AnyName.self).allKeys.map(\.stringValue)
        if let unknown = names.first(where: { Name(stringValue: $0) == nil }) {
            throw Unknown(name: unknown)
        }
        let container = try decoder.container(keyedBy: Name.self)
        endpoints = try container.decode([String].self, forKey: .endpoints)
        prefix = try container.decodeIfPresent(String.self, forKey: .prefix)
        authority = try container.decodeIfPresent(String.self, forKey: .authority)
        certificate = try container.decodeIfPresent(String.self, forKey: .certificate)
        key = try container.decodeIfPresent(String.self, forKey: .key)
        user = try container.decodeIfPresent(String.self, forKey: .user)
        passwordFile = try container.decodeIfPresent(String.self, forKey: .passwordFile)
        suspendAfter = try container.decodeIfPresent(String.self, forKey: .suspendAfter)
    }
}

#endif
