// SetupCommand: configures another program to get its passwords from this one, and undoes that.
//   (1) All changes are shown and, without --yes, must be confirmed. If a file can't be parsed,
//       nothing is changed. Nothing is changed either if a file has a different setting, except
//       with --replace, which replaces that setting, or --undo, which leaves it.
//   (2) A second run changes nothing. --undo removes what a run without --undo adds, but doesn't
//       restore a setting that --replace replaced.

import ArgumentParser
import KeychainCrypto

struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Configures git, Docker, pip or AWS's tools to use the keychain, or undoes that.",
        discussion: """
            setup shows the lines that it will change in each file, and asks for confirmation. \
            Everything else in the files is preserved. If the helper's name doesn't lead to \
            keychainctl in the PATH, setup creates a link in ~/.local/bin. --undo removes the same \
            lines and the link.
            """)

    enum Program: String, CaseIterable, ExpressibleByArgument {
        case git, docker, pip, aws
    }

    @Argument(help: "The program to configure.")
    var program: Program

    @Argument(help: "With aws: the profile, which is also the account of the item.")
    var name: String?

    @Flag(help: "Undoes what this command sets up.")
    var undo = false

    @Flag(help: "Replaces a different setting. --undo doesn't restore it.")
    var replace = false

    @Flag(help: "Shows what would be done, without doing it.")
    var dryRun = false

    @Flag(help: "Changes the files without asking.")
    var yes = false

    mutating func validate() throws {
        guard (program == .aws) == (name != nil) else {
            throw ValidationError("aws requires a profile. Other programs don't accept one.")
        }
        // The name becomes part of a command line and of a section heading.
        if let name {
            let isPlain = name.utf8.allSatisfy { byte in
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                    || "._-+@".utf8.contains(byte)
            }
            guard isPlain, !name.isEmpty, !name.hasPrefix("-") else {
                throw ValidationError(
                    "The name of a profile may contain only letters, digits and . _ - + @, and "
                        + "can't begin with -.")
            }
        }
        guard !dryRun || !yes else {
            throw ValidationError("--dry-run and --yes can't be combined.")
        }
        guard !undo || !replace else {
            throw ValidationError(
                "--undo and --replace can't be combined.")
        }
    }

    func run() throws {
        var plan = try SetupPlan(undoes: undo, replaces: replace)
        switch program {
        case .git: try plan.planGit()
        case .docker: try plan.planDocker()
        case .pip: try plan.planPip()
        case .aws: try plan.planAWS(name ?? "")
        }
        let notes = plan.notes.map { "Note: \($0)\n" }.joined()
        guard !plan.steps.isEmpty else {
            let answer = undo ? "Nothing to undo.\n" : "Already set up.\n"
            return try Output.print(answer + notes)
        }
        let shown = plan.steps.map { $0.shown + "\n" }.joined()
        if dryRun { return try Output.print(shown + notes) }
        if !yes {
            try Confirmation.require(
                shown + notes + "The changes above will be made.", phrase: "yes", noPrompt: false)
        }
        for step in plan.steps { try step.carryOut() }
        try Output.print(shown + notes)
    }
}
