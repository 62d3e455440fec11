// SetupCommand: configures another program to get its passwords from this one, and undoes that.
//   (1) All changes are shown and must be confirmed. If a file can't be parsed, or has a different
//       setting, nothing is changed.
//   (2) A second run changes nothing, and --undo reverts the changes of a run without it.

import ArgumentParser
import KeychainCrypto

struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Has git, Docker, pip or AWS's tools use the keychain, or takes that back.",
        discussion: """
            It shows which lines of which files it changes, and asks. Everything else in them \
            stays. Where the helper's name isn't in the PATH it makes a link in ~/.local/bin. \
            With --undo the same lines and the link go again.
            """)

    enum Program: String, CaseIterable, ExpressibleByArgument {
        case git, docker, pip, aws
    }

    @Argument(help: "The program to configure.")
    var program: Program

    @Argument(help: "With aws: the profile, and the account of the item.")
    var name: String?

    @Flag(help: "Undoes what this command sets up.")
    var undo = false

    @Flag(help: "Replaces a setting that names something else. --undo doesn't bring it back.")
    var replace = false

    @Flag(help: "Shows what it would do, and does nothing.")
    var dryRun = false

    @Flag(help: "Changes the files without asking.")
    var yes = false

    mutating func validate() throws {
        guard (program == .aws) == (name != nil) else {
            throw ValidationError("A profile belongs to aws, which needs one.")
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
                    "The name of a profile has letters, digits and . _ - + @ alone.")
            }
        }
        guard !dryRun || !yes else { throw ValidationError("--dry-run does nothing to confirm.") }
        guard !undo || !replace else { throw ValidationError("--undo replaces nothing.") }
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
            let answer = undo ? "Nothing to take back.\n" : "Already set up.\n"
            return try Output.print(answer + notes)
        }
        let shown = plan.steps.map { $0.shown + "\n" }.joined()
        if dryRun { return try Output.print(shown + notes) }
        if !yes {
            try Confirmation.require(
                shown + notes + "This will be changed.", phrase: "yes", noPrompt: false)
        }
        for step in plan.steps { try step.carryOut() }
        try Output.print(shown + notes)
    }
}
