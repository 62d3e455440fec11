// RunCommand: starts a program with secrets in its environment variables, in files in memory or on
// descriptors.
//   (1) All secrets are read before the program is started; if one is missing, nothing is started.
//   (2) Without --mask the program replaces this process: the process ID stays the same, signals
//       reach the program directly, and the exit status is the program's.
//   (3) Besides descriptors 0 to 2, the program inherits only the descriptors that contain its
//       secrets and those that the caller left open. A descriptor above 2 that is given for the
//       passcode or the application password is not inherited, even if it was not read.

import ArgumentParser
import FoundationEssentials
import Glibc
import KeychainCore
import KeychainCrypto
import KeychainRuntime

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Starts a program with secrets in environment variables or in files in memory.",
        usage: """
            keychainctl run [--env <name=item>] [--file <name=item>] [--fd <number=item>] \
            [--manifest <path>] [--mask] -- <program> [<arguments>]
            """,
        discussion: """
            An item is SERVICE/ACCOUNT, separated at the last slash, or SERVICE alone if one item \
            matches. Write %2F for a slash that isn't the separator.

            All secrets are read before the program is started; if one is missing, nothing is \
            started. Without --mask, the program replaces the keychainctl process.

            Environment variables can be read by other programs of this user and are inherited by \
            all child processes. A file in memory has no name in any folder, and disappears with \
            the last process that has it open: use --file if the program accepts a path.
            """)

    @Option(
        name: .customLong("env"),
        help: ArgumentHelp(
            "Sets a variable to the secret of an item. This option and the next three may be "
                + "repeated.",
            valueName: "name=item"),
        transform: NamedItem.init)
    var variables: [NamedItem] = []

    @Option(
        name: .customLong("file"),
        help: ArgumentHelp(
            "Sets a variable to the path of a file in memory that contains the secret.",
            valueName: "name=item"),
        transform: NamedItem.init)
    var files: [NamedItem] = []

    @Option(
        name: .customLong("fd"),
        help: ArgumentHelp(
            "Opens the secret on this file descriptor of the program.", valueName: "number=item"),
        transform: NumberedItem.init)
    var descriptors: [NumberedItem] = []

    @Option(
        name: [.customLong("manifest"), .customLong("env-file")],
        help: ArgumentHelp(
            "Reads lines of the form NAME=VALUE. If VALUE is keychain:ITEM, the variable is set to "
                + "the item's secret; if it is keychain-file:ITEM, to the path of a file in memory "
                + "that contains the secret.",
            valueName: "path"),
        completion: .file())
    var manifests: [String] = []

    @Flag(help: "Replaces secrets in the program's output with <concealed>.")
    var mask = false

    @Flag(help: "Passes none of this process's environment variables to the program.")
    var clearEnv = false

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The access group of all items.", valueName: "name"))
    var group: String?

    @OptionGroup var passcode: PasscodeOptions

    @OptionGroup var application: ApplicationPasswordOptions

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("The program and its arguments, after “--”.", valueName: "program"))
    var program: [String] = []

    mutating func validate() throws {
        guard !program.isEmpty else {
            throw ValidationError("Specify the program after the options and “--”.")
        }
        guard !(variables.isEmpty && files.isEmpty && descriptors.isEmpty && manifests.isEmpty)
        else {
            throw ValidationError(
                "Specify at least one of --env, --file, --fd or --manifest.")
        }
        var names: Set<String> = []
        for option in variables + files where !names.insert(option.name).inserted {
            throw ValidationError("\(option.name) is set twice.")
        }
        let inputs = [
            InputOption("--passcode-fd", passcode.passcodeFd),
            InputOption("--application-password-fd", application.applicationPasswordFd),
        ]
        try InputOption.requireDistinct(inputs)
        var numbers = Set(inputs.compactMap(\.descriptor))
        for option in descriptors where !numbers.insert(option.number).inserted {
            throw ValidationError("Descriptor \(option.number) is used twice.")
        }
    }

    func run() throws {
        try ControlFailure.refuseRightsOfOthers()
        let inherited = Descriptor.openNumbers.filter(Descriptor.isInherited)
        let values = try variableValues()
        guard
            let path = ProgramStart.find(
                program[0], in: ProcessEnvironment.variables["PATH"])
        else { throw ControlFailure.start(errno) }
        for option in descriptors where !Descriptor.reserve(option.number) {
            throw ControlFailure(
                .failure, "Can't use descriptor \(option.number): \(errorText(errno)).")
        }
        let secrets = try open(
            values.compactMap(\.value.item) + descriptors.map(\.item))
        let concealment = mask ? try self.concealment(of: secrets) : nil

        var start = ProgramStart(path, argumentCount: program.count, isCleared: clearEnv)
        var given: Set<Int32> = []
        for (name, value) in values {
            start.set(name, to: try text(of: value, secrets, &given))
        }
        for option in descriptors {
            given.insert(try give(option.item, secrets, as: option.number))
        }
        keep(given.union(inherited))
        if let concealment {
            Glibc.exit(try MaskedProgram(start: start, concealment: concealment).run())
        }
        throw ControlFailure.start(ProcessProtection.withLimitOfCaller(start.replaceProcess))
    }

    // MARK: Requested values

    /// The variables, sorted by name. A later manifest takes precedence over an earlier one, and
    /// options take precedence over manifests.
    private func variableValues() throws -> [(name: String, value: VariableValue)] {
        var values: [String: VariableValue] = [:]
        for path in manifests {
            for (name, value) in try RunManifest(path: path).variables { values[name] = value }
        }
        for option in variables { values[option.name] = .secret(option.item) }
        for option in files { values[option.name] = .file(option.item) }
        return values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func open(_ items: [ItemName]) throws -> [ItemName: SecretBytes] {
        var secrets: [ItemName: SecretBytes] = [:]
        guard let first = items.first else { return secrets }
        guard let session = try KeychainSession(existing: application.source(with: passcode)) else {
            throw ControlFailure(KeychainFailure.itemNotFound, of: first)
        }
        defer { session.close() }
        ProcessProtection.beginHoldingSecrets()
        for item in items where secrets[item] == nil {
            do {
                let found = try session.openOne([item.query(in: group)])
                guard let data = found.data else {
                    throw ControlFailure(.failure, "The item has no secret, only attributes.")
                }
                secrets[item] = SecretBytes(copying: data)
            } catch let failure as KeychainFailure {
                throw ControlFailure(failure, of: item)
            } catch let failure as ControlFailure {
                throw failure.of(item)
            }
        }
        return secrets
    }

    private func concealment(of secrets: [ItemName: SecretBytes]) throws -> Concealment {
        var concealed: [[UInt8]] = []
        for (item, secret) in secrets {
            var bytes = secret.plainBytes
            // Newlines at the end of a secret aren't searched for: a program rarely prints them.
            while bytes.last == UInt8(ascii: "\n") || bytes.last == UInt8(ascii: "\r") {
                bytes.removeLast()
            }
            guard !bytes.isEmpty else { continue }
            guard bytes.count >= Concealment.shortest else {
                throw ControlFailure(
                    .failure,
                    "The secret has fewer than \(Concealment.shortest) bytes: --mask would find it "
                        + "in almost any output."
                ).of(item)
            }
            concealed.append(bytes)
        }
        return Concealment(concealed)
    }

    // MARK: The program's variables and descriptors

    private func text(
        of value: VariableValue, _ secrets: [ItemName: SecretBytes], _ given: inout Set<Int32>
    ) throws -> SecretBytes {
        switch value {
        case .text(let text):
            return SecretBytes(copying: Array(text.utf8))
        case .secret(let item):
            let secret = secrets[item] ?? SecretBytes(copying: [])
            guard !secret.plainBytes.contains(0) else {
                throw ControlFailure(
                    .failure,
                    "The secret contains a NUL byte, which a variable can't contain. Use --file or "
                        + "--fd."
                ).of(item)
            }
            return secret
        case .file(let item):
            let number = try give(item, secrets)
            given.insert(number)
            return SecretBytes(copying: Array("/proc/self/fd/\(number)".utf8))
        }
    }

    /// Opens a descriptor with a secret for the program.
    private func give(
        _ item: ItemName, _ secrets: [ItemName: SecretBytes], as number: Int32? = nil
    ) throws -> Int32 {
        guard let secret = secrets[item], let file = MemoryFile.make(of: secret),
            let given = MemoryFile.give(file, as: number)
        else {
            throw ControlFailure(
                .failure, "Can't create a file in memory: \(errorText(errno))."
            ).of(item)
        }
        // Without a requested number, the program inherits the file under this process's own
        // descriptor, which must therefore stay open.
        if number == nil { _ = file.handOn() }
        return given
    }

    /// Marks all descriptors above 2, except those in `kept`, to be closed by the kernel when the
    /// program is started. The descriptors for the passcode and the application password are marked
    /// even if `kept` contains them.
    private func keep(_ kept: Set<Int32>) {
        let read = [passcode.passcodeFd, application.applicationPasswordFd].compactMap(\.self)
        for descriptor in Descriptor.openNumbers where descriptor > STDERR_FILENO {
            if !kept.contains(descriptor) || read.contains(descriptor) {
                Descriptor.setClosedOnExec(descriptor)
            }
        }
    }
}

extension ControlFailure {
    /// - Throws: ``ControlFailure`` if this process has more rights than its caller, for example as
    ///   a set-user-ID program.
    static func refuseRightsOfOthers() throws(ControlFailure) {
        guard !ProcessEnvironment.hasRightsOfOthers else {
            throw ControlFailure(
                .denied,
                "This process has rights that its caller doesn't have, and must not pass them to "
                    + "another program.")
        }
    }

    /// The error for a secret that couldn't be read. It names the item as the caller wrote it.
    fileprivate init(_ failure: KeychainFailure, of item: ItemName) {
        let own = ControlFailure(failure)
        guard failure.status == .itemNotFound else {
            self = own.of(item)
            return
        }
        self.init(
            own.status,
            "\(printable(item.description)): No item matches. Run `keychainctl doctor "
                + "\(shellQuoted(item.description))` to find out why. Nothing was started.")
    }

    fileprivate func of(_ item: ItemName) -> ControlFailure {
        let end = (message.contains("\n") ? "\n" : " ") + "Nothing was started."
        return ControlFailure(status, "\(printable(item.description)): \(message)\(end)")
    }
}
