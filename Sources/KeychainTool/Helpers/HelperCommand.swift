// HelperCommand: answers programs that request credentials in their own protocols.
//   (1) Each helper is this program, called as `keychainctl helper NAME`. All helpers except the
//       one for AWS's tools also have a name in `names`. A link to this program with that name
//       calls the helper, so the requesting program doesn't have to pass `helper NAME`.
//   (2) The git and Docker helpers and `security -i` read requests from standard input; the other
//       helpers take the request from their arguments, and a password to save from standard input.
//       A helper prompts only at the terminal: for the passcode, an application password or, with
//       `security`, the password to save.

import ArgumentParser
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct HelperCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Answers credential requests of git, Docker and other programs.",
        subcommands: [
            GitHelper.self, DockerHelper.self, KeyringHelper.self, AWSHelper.self,
            SecurityHelper.self,
        ])

    /// The names that this program can be called by, with the corresponding helpers.
    static let names = [
        "git-credential-keychain": "git", "docker-credential-keychain": "docker",
        "keyring": "keyring", "security": "security",
    ]

    /// Returns the arguments of this process without the name of the program. If the program was
    /// called by a name in `names`, `helper` and the helper's subcommand are put in front.
    static func arguments(_ arguments: [String]) -> [String] {
        guard let path = arguments.first, let slash = path.split(separator: "/").last,
            let helper = names[String(slash)]
        else { return Array(arguments.dropFirst()) }
        return ["helper", helper] + arguments.dropFirst()
    }

    /// The maximum size of a request, in bytes.
    fileprivate static let largestRequest = 1 << 20

    static func request() throws -> [UInt8] {
        try KeychainPlace.connect()
        ProcessProtection.beginHoldingSecrets()
        return try Descriptor.readToEnd(of: STDIN_FILENO, atMost: largestRequest)
    }
}

struct GitHelper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git",
        abstract: "Stores git's passwords, as git-credential-keychain.",
        discussion: """
            If the PATH contains a link to this program named git-credential-keychain, this \
            command makes git use it: git config --global credential.helper keychain
            """)

    @Argument(help: "get, store or erase. Other operations are ignored.")
    var operation: String

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        guard ["get", "store", "erase"].contains(operation) else { return }
        let credential = try GitCredential(try HelperCommand.request())
        if operation == "store" {
            return try credential.store { try KeychainSession(making: passcode.source) }
        }
        guard let session = try KeychainSession(existing: passcode.source) else { return }
        if operation == "erase" {
            defer { session.close() }
            return try credential.erase(in: session)
        }
        try Output.write(Array(try credential.find(in: session).utf8))
    }
}

struct DockerHelper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker",
        abstract: "Stores passwords of registries, as docker-credential-keychain.",
        discussion: """
            If the PATH contains a link to this program named docker-credential-keychain, the \
            setting "credsStore": "keychain" in ~/.docker/config.json makes Docker use it.
            """)

    enum Operation: String, CaseIterable, ExpressibleByArgument {
        case store, get, erase, list, version
    }

    @Argument(help: "store, get, erase, list or version.")
    var operation: Operation

    @OptionGroup var passcode: PasscodeOptions

    func run() throws {
        do {
            try Output.write(Array(try answer().utf8))
        } catch let refusal as DockerCredential.Refusal {
            try Output.print(refusal.message)
            throw ControlFailure(.failure, refusal.message)
        }
    }

    private func answer() throws -> String {
        if operation == .version {
            return "docker-credential-keychain (swift-keychain) \(PackageVersion.text)\n"
        }
        let request = try HelperCommand.request()
        if operation == .store {
            try DockerCredential.store(request) { try KeychainSession(making: passcode.source) }
            return ""
        }
        let url = operation == .list ? "" : try DockerCredential.url(request)
        guard let session = try KeychainSession(existing: passcode.source) else {
            guard operation == .list else {
                throw DockerCredential.Refusal(message: DockerCredential.notFound)
            }
            return "{}\n"
        }
        switch operation {
        case .get: return try DockerCredential.find(url, in: session) + "\n"
        case .list: return try DockerCredential.list(in: session) + "\n"
        case .erase, .store, .version:
            defer { session.close() }
            try DockerCredential.erase(url, in: session)
            return ""
        }
    }
}
