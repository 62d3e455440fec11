// ControlProgram: runs a command, from the arguments of the process to its exit status.
//   (1) The result of a command goes to standard output, questions go to the terminal, and
//       everything else goes to standard error. Two helpers differ: `docker` also writes the
//       message about a refused request to standard output, and `security` writes its prompt for
//       commands and the password that `-g` shows to standard error.
//   (2) An error message begins with the tool's name. If the user can do something about the error,
//       the message says what. A message is one line, unless it lists items, or the usage follows
//       because the arguments are wrong. The messages of the helper `security` follow those of
//       macOS's program of that name instead.

import ArgumentParser
import Glibc
import KeychainCrypto
import KeychainCore
import KeychainTPM

package enum ControlProgram {
    /// Runs the command in the arguments of the process, and exits.
    package static func main() -> Never {
        StandardStreams.occupyClosed()
        ProcessProtection.apply()
        PlatformHardware.silenceLibrary()
        if let position = ProcessArguments.firstInvalidPosition {
            Output.report(ProcessArguments.complaint(about: position))
            exit(ControlStatus.usage.rawValue)
        }
        let arguments = HelperCommand.arguments(CommandLine.arguments)
        if let arguments = SecurityHelper.arguments(in: arguments) {
            EngineLog.install()
            exit(SecurityHelper.run(arguments))
        }
        exit(run(arguments).rawValue)
    }

    private static func run(_ arguments: [String]) -> ControlStatus {
        EngineLog.install()
        do {
            if NameCompletion.isRequested(by: arguments) {
                NameCompletion.printNames()
            } else if ClipboardKeeper.isRequested(by: arguments) {
                ClipboardKeeper.run(arguments)
            } else if let request = DirectGet.request(arguments) {
                try request.run()
            } else {
                var command = try RootCommand.parseAsRoot(arguments)
                try command.run()
            }
            return .success
        } catch let failure as ControlFailure {
            if !failure.message.isEmpty { Output.report(failure.message) }
            return failure.status
        } catch let failure as KeychainFailure {
            let failure = ControlFailure(failure)
            Output.report(failure.message)
            return failure.status
        } catch {
            return end(with: error)
        }
    }

    /// Prints requested help or the version on standard output, and errors in the arguments on
    /// standard error.
    private static func end(with error: any Error) -> ControlStatus {
        let text = RootCommand.fullMessage(for: error)
        guard RootCommand.exitCode(for: error) == .success else {
            Output.complain(text)
            return .usage
        }
        do {
            try Output.print(text)
            return .success
        } catch {
            Output.report(error.message)
            return error.status
        }
    }
}

struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keychainctl",
        abstract: "Stores, reads and manages the items of a keychain.",
        discussion: """
            Secrets are read from standard input, files, file descriptors or the terminal, never \
            from arguments or the environment.

            \(ControlStatus.table)
            """,
        version: PackageVersion.text,
        groupedSubcommands: [
            CommandGroup(
                name: "Items",
                subcommands: [
                    SetCommand.self, GenerateCommand.self, GetCommand.self, RenameCommand.self,
                    DuplicateCommand.self, LabelCommand.self, DeleteCommand.self,
                    ListCommand.self, FindCommand.self, InfoCommand.self, OTPCommand.self,
                    EditCommand.self, CopyCommand.self, RunCommand.self,
                    HistoryCommand.self, PurgeCommand.self,
                    ImportCommand.self, ExportCommand.self,
                ]),
            CommandGroup(
                name: "Keychain",
                subcommands: [
                    StatusCommand.self, PasscodeCommand.self, SlotCommand.self,
                    RotateCommand.self, BindCommand.self, UnbindCommand.self, LockCommand.self,
                    UnlockCommand.self,
                    CheckCommand.self, RecoverCommand.self, DoctorCommand.self,
                    BackupCommand.self, RestoreCommand.self, ConvertCommand.self,
                    DeviceKeyCommand.self,
                    AuditCommand.self, SyncCommand.self,
                ]),
            CommandGroup(
                name: "Service", subcommands: [ProgramCommand.self, ServiceCommand.self]),
            CommandGroup(
                name: "Other programs",
                subcommands: [HelperCommand.self, SetupCommand.self, CompletionsCommand.self]),
        ])

    /// The text before the colon in an error message about arguments.
    // swift-format-ignore: NoLeadingUnderscores
    static var _errorLabel: String { "keychainctl" }
}
