// KeyringHelper: the command line of Python's `keyring`, which pip and uv call. Source:
// github.com/jaraco/keyring, `keyring.cli`.
//   (1) A password is a generic password with the given service and account. For pip and uv the
//       service is the URL or the host of a package index.
//   (2) If `get` finds no password, the exit status is 1 and nothing is printed, as pip and uv
//       expect.
// AWSHelper: returns the access keys of a profile to AWS's tools.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct KeyringHelper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyring",
        abstract: "Answers pip and uv, as Python's keyring does.",
        discussion: """
            If the PATH contains a link to this program named keyring, pip uses it after `pip \
            config set global.keyring-provider subprocess`, and uv if \
            UV_KEYRING_PROVIDER=subprocess is set.
            """)

    enum Operation: String, CaseIterable, ExpressibleByArgument {
        case get, set, del
    }

    enum Mode: String, CaseIterable, ExpressibleByArgument {
        case password, creds
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case plain, json
    }

    @Option(help: "With get: returns the password only, or the user as well.")
    var mode = Mode.password

    @Option(help: "With get: the output format, lines or JSON.")
    var output = Format.plain

    @Argument(help: "get, set or del. set reads the password from standard input.")
    var operation: Operation

    @Argument(help: "The service that the password is for.")
    var service: String

    @Argument(help: "The user. Without it, get --mode creds returns any user's password.")
    var username: String?

    @OptionGroup var passcode: PasscodeOptions

    func validate() throws {
        guard username != nil || (operation == .get && mode == .creds) else {
            throw ValidationError("\(operation.rawValue) requires a user name.")
        }
    }

    func run() throws {
        switch operation {
        case .get: try get()
        case .set: try set()
        case .del: try delete()
        }
    }

    private var query: ItemQuery {
        var attributes: Attributes = [.service: .string(service)]
        attributes[.account] = username.map { .string($0) }
        return ItemQuery(
            itemClass: .genericPassword, attributes: attributes, isSynchronizable: nil)
    }

    private struct Answer: Encodable {
        var username: String?
        let password: String
    }

    /// Performs `get`. If several items match, usually the one added first is used.
    private func get() throws {
        guard let session = try KeychainSession(existing: passcode.source),
            let item = try session.find([query]).first
        else { throw ControlFailure(.failure, "") }
        defer { session.closeIfLogIsLong() }
        ProcessProtection.beginHoldingSecrets()
        let reference = ItemQuery(
            itemClass: .genericPassword, isSynchronizable: nil, reference: item.reference)
        guard let data = try session.openOne([reference]).data,
            let password = String(validating: data, as: UTF8.self)
        else {
            throw ControlFailure(
                .failure, "The password is not text, which this protocol requires.")
        }
        var answer = Answer(password: password)
        if mode == .creds {
            if case .string(let account) = item.attributes[.account] { answer.username = account }
            answer.username = answer.username ?? ""
        }
        switch output {
        case .json: try Output.print(DockerCredential.json(answer))
        case .plain:
            let lines = [answer.username, answer.password].compactMap(\.self)
            try Output.write(Array(lines.map { $0 + "\n" }.joined().utf8))
        }
    }

    private func set() throws {
        var bytes = try HelperCommand.request()
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        let session = try KeychainSession(making: passcode.source)
        defer { session.close() }
        try ItemSaving(
            itemClass: .genericPassword,
            keys: [.service: .string(service), .account: .string(username ?? "")]
        ).save(Data(bytes), in: session)
    }

    private func delete() throws {
        guard let session = try KeychainSession(existing: passcode.source),
            let item = try session.find([query]).first
        else { throw ControlFailure(.notFound, "There is no such password.") }
        defer { session.close() }
        let reference = ItemQuery(
            itemClass: .genericPassword, isSynchronizable: nil, reference: item.reference)
        _ = try session.unlocking { () throws(KeychainFailure) in
            try session.keychain.perform(
                DeleteItems(reference, tombstones: .automatic, keepsVersions: true),
                as: session.caller)
        }
    }
}

/// Implements `credential_process` for AWS's tools, as described in the user guide of the AWS CLI,
/// “Sourcing credentials with an external process”.
struct AWSHelper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aws",
        abstract: "Returns the access keys of a profile to AWS's tools, as credential_process.",
        discussion: """
            In ~/.aws/config, below the profile: credential_process = keychainctl helper aws NAME

            The item is aws/NAME, and its secret is JSON with Version 1, AccessKeyId, \
            SecretAccessKey and, if present, SessionToken and Expiration. `keychainctl import aws` \
            creates it.
            """)

    @Argument(help: ArgumentHelp("The account of the item.", valueName: "name"))
    var name: String

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string("aws"), .account: .string(name)], isSynchronizable: nil)
        guard let session = try KeychainSession(existing: passcode.source) else {
            throw KeychainFailure.itemNotFound
        }
        defer { session.closeIfLogIsLong() }
        ProcessProtection.beginHoldingSecrets()
        let item = try session.openOne([query])
        guard let data = item.data,
            let credentials = try? JSONDecoder().decode(
                AWSCredentialFile.Credentials.self, from: data),
            credentials.version == 1, credentials.accessKeyID != nil,
            credentials.secretAccessKey != nil
        else {
            throw ControlFailure(
                .failure,
                "The secret is not the JSON of an access key, with “Version” 1, “AccessKeyId” and "
                    + "“SecretAccessKey”.")
        }
        try Output.print(DockerCredential.json(credentials))
    }
}
