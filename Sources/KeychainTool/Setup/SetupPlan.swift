// SetupPlan: the changes that make another program get its passwords from this one, or that undo
// those changes.
//   (1) A plan changes nothing by itself. It is derived from the present state, so once a plan has
//       been carried out, the next one has no steps.
//   (2) A different setting is replaced only if requested. Undoing removes only what a plan adds;
//       it doesn't restore a setting that was replaced.

import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct SetupStep {
    /// The path of a file or link, or a git command, followed by a line for each change.
    let shown: String
    let carryOut: () throws -> Void
}

struct SetupPlan {
    let undoes: Bool
    let replaces: Bool
    private(set) var steps: [SetupStep] = []
    /// Further information for the user.
    private(set) var notes: [String] = []

    private let environment: [String: String]
    private let home: String

    init(undoes: Bool, replaces: Bool) throws(ControlFailure) {
        self.undoes = undoes
        self.replaces = replaces
        environment = ProcessEnvironment.variables
        guard let home = ProcessEnvironment.home(environment) else {
            throw ControlFailure(
                .failure, "Neither HOME nor the user database names a home folder. Set HOME.")
        }
        self.home = home
    }

    private func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    // MARK: Programs

    mutating func planGit() throws(ControlFailure) {
        let git = try GitConfiguration(path: environment["PATH"])
        let helpers = try git.helpers()
        let isThere = helpers.contains(GitConfiguration.helper)
        if isThere == undoes {
            let setting = "credential.helper = \(GitConfiguration.helper)"
            steps.append(
                SetupStep(shown: "git config --global:\n  \(undoes ? "-" : "+") \(setting)") {
                    [undoes] in try git.change(removing: undoes)
                })
        }
        let others = helpers.filter { $0 != GitConfiguration.helper && !$0.isEmpty }
        if !undoes, !others.isEmpty {
            notes.append(
                "git also gives each password to \(others.joined(separator: ", ")). Use `git "
                    + "config --global --edit` to stop that.")
        }
        try planLink("git-credential-keychain")
    }

    mutating func planDocker() throws(ControlFailure) {
        let folder = variable("DOCKER_CONFIG") ?? home + "/.docker"
        let file = try ConfigurationFile(folder + "/config.json", isPrivate: true)
        let step = try step(in: file) { text throws(TextProblem) in
            let isEmpty = text.allSatisfy(\.isWhitespace)
            let object = try ObjectText(isEmpty ? "{}\n" : text)
            guard undoes else {
                return try object.setting("credsStore", to: "keychain", replacing: replaces)
            }
            return object.removing("credsStore", "keychain")
        }
        if let step { steps.append(step) }
        if !undoes {
            notes.append(
                "Passwords that Docker stored earlier stay where they are: `keychainctl import "
                    + "docker` imports those in its file.")
        }
        try planLink("docker-credential-keychain")
    }

    mutating func planPip() throws(ControlFailure) {
        let configuration = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let path =
            variable("PIP_CONFIG_FILE") ?? (configuration ?? home + "/.config") + "/pip/pip.conf"
        try plan(
            ConfigurationFile(path, isPrivate: false), ("keyring-provider", "subprocess"),
            in: "global")
        if !undoes {
            notes.append(
                "uv does the same if UV_KEYRING_PROVIDER=subprocess is set in its environment.")
        }
        try planLink("keyring")
    }

    mutating func planAWS(_ name: String) throws(ControlFailure) {
        let file = try ConfigurationFile(
            variable("AWS_CONFIG_FILE") ?? home + "/.aws/config", isPrivate: true)
        // The possible headings of the profile. A new profile gets the last of these headings.
        var headings = ["profile \"\(name)\"", "profile '\(name)'", "profile \(name)"]
        if name == "default" { headings.append(name) }
        let known = try? SectionedText(file.content ?? "")
        let heading = headings.first { known?.hasSection($0) == true } ?? headings.last ?? name
        try plan(
            file, ("credential_process", "keychainctl helper aws \(name)"), in: heading)
        guard !undoes else { return }
        if ProgramStart.find("keychainctl", in: environment["PATH"]) == nil {
            notes.append("keychainctl is not in your PATH, where AWS's tools look for it.")
        }
        let keys = variable("AWS_SHARED_CREDENTIALS_FILE") ?? home + "/.aws/credentials"
        let content = try ConfigurationFile(keys, isPrivate: true).content
        if let text = try? SectionedText(content ?? ""),
            text.value(of: "aws_access_key_id", in: name) != nil
        {
            notes.append(
                "\(printable(keys)) has keys for [\(name)], which take precedence. `keychainctl "
                    + "import aws` imports the keys; then remove them from that file.")
        }
    }

    // MARK: Steps

    private mutating func plan(
        _ file: ConfigurationFile, _ setting: (name: String, value: String), in section: String
    ) throws(ControlFailure) {
        let step = try step(in: file) { text throws(TextProblem) in
            let settings = try SectionedText(text)
            return undoes
                ? settings.removing(setting, from: section)
                : try settings.setting(setting, in: section, replacing: replaces)
        }
        if let step { steps.append(step) }
    }

    /// The step for a change of a file, or `nil` if nothing needs to be done.
    private func step(
        in file: ConfigurationFile, _ edit: (String) throws(TextProblem) -> TextChange?
    ) throws(ControlFailure) -> SetupStep? {
        let change: TextChange?
        do {
            change = try edit(file.content ?? "")
        } catch {
            switch error {
            case .notUnderstood(let line):
                throw ControlFailure(
                    .failure,
                    "\(printable(file.path)):\(line): The file can't be parsed from this line on. "
                        + "Nothing was changed.")
            case .otherValue(let value, let line):
                throw ControlFailure(
                    .exists,
                    "\(printable(file.path)):\(line): “\(escapedForLine(value))” is already set. "
                        + "Nothing was changed. --replace replaces it.")
            }
        }
        guard let change else { return nil }
        let shown = ["\(printable(file.path)):"] + change.shown.map { escapedForLine($0) }
        return SetupStep(shown: shown.joined(separator: "\n")) {
            try file.replace(with: change.text)
        }
    }

    private mutating func planLink(_ name: String) throws(ControlFailure) {
        let link = HelperLink(
            name, home: home, path: environment["PATH"],
            executable: EmbeddedKeychain.executablePath ?? "")
        if undoes {
            if let step = link.removing() { steps.append(step) }
            return
        }
        if let step = try link.making() { steps.append(step) }
        if let obstacle = link.obstacle { notes.append(obstacle) }
    }
}

/// The user's git configuration, which git itself reads and writes.
struct GitConfiguration {
    static let helper = "keychain"
    private let program: String

    init(path: String?) throws(ControlFailure) {
        try ControlFailure.refuseRightsOfOthers()
        guard let program = ProgramStart.find("git", in: path) else {
            throw ControlFailure(
                .failure,
                "git was not found in the PATH. Nothing was changed. Install git, or add its "
                    + "folder to the PATH.")
        }
        self.program = program
    }

    func helpers() throws(ControlFailure) -> [String] {
        let (status, output) = try run(["--get-all", "credential.helper"])
        switch status {
        case 0:
            return output.split(separator: "\n", omittingEmptySubsequences: false)
                .dropLast().map(String.init)
        // No value is set.
        case 1: return []
        default: throw Self.failed
        }
    }

    func change(removing: Bool) throws(ControlFailure) {
        let arguments =
            removing
            ? ["--unset-all", "credential.helper", "^\(Self.helper)$"]
            : ["--add", "credential.helper", Self.helper]
        guard try run(arguments).status == 0 else { throw Self.failed }
    }

    private static let failed = ControlFailure(
        .failure, "git can't read or write its configuration, which was not changed.")

    /// Runs `git config --global`. Errors of git go to standard error.
    private func run(
        _ arguments: [String]
    ) throws(ControlFailure) -> (status: Int32, output: String) {
        guard let (reading, writing) = Descriptor.pipe() else { throw Self.failed }
        let (process, code) = ProgramStart(
            program, arguments: ["git", "config", "--global"] + arguments
        ).spawn(output: writing.number)
        writing.close()
        defer { reading.close() }
        guard code == 0, let output = Files.content(of: reading, atMost: 1 << 20),
            let status = ProgramStart.exitStatus(of: process)
        else { throw Self.failed }
        return (status, String(decoding: output, as: UTF8.self))
    }
}
