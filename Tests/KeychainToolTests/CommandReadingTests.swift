import ArgumentParser
import Testing

@testable import KeychainTool

@Suite struct `A command that is read alone` {
    @Test(arguments: [
        ["get", "-s", "mail"], ["get", "-s", "mail", "-a", "ada"],
        ["get", "--service=mail", "--account", "ada", "--group", "team"],
        ["get", "-g", "team", "-a", "ada", "-s", "mail", "--json"],
        ["get", "--server", "example.org", "--raw", "-a", ""],
        ["get", "-s", "two words", "-a", "é", "--no-prompt"],
        ["get", "-s", "mail", "--passcode-fd", "3"], ["get", "-s", "mail", "--label", "x"],
        ["set", "-s", "mail", "-a", "ada"], ["delete", "-s", "mail"], ["list"], ["list", "--json"],
        ["info", "-s", "mail"], ["status"], ["passcode", "remove"], ["lock"], ["unlock"], ["check"],
        ["device-key", "seal"], ["completions", "bash"],
    ])
    func `is what all commands read`(_ arguments: [String]) throws {
        let alone = try ControlProgram.command(arguments)
        let whole = try RootCommand.parseAsRoot(arguments)
        #expect(type(of: alone) == type(of: whole))
        #expect(Self.content(of: alone) == Self.content(of: whole))
    }

    @Test(arguments: [
        ["get"], ["get", "-s"], ["get", "-s", "-a", "ada"], ["get", "-s", "mail", "--help"],
        ["get", "-h"], ["get", "help"], ["get", "--version"], ["get", "-s", "mail", "surplus"],
        ["get", "--serv", "mail"], ["get", "-s", "mail", "--raw=1"], ["set", "--what"],
        ["get", "--generate-completion-script", "bash"], ["list", "list"], ["unknown"],
        ["--service", "mail", "get"], ["completions", "cmd"], ["help", "nothing"],
    ])
    func `is refused with the message of all commands`(_ arguments: [String]) throws {
        #expect(
            try Self.message(from: ControlProgram.command(arguments))
                == Self.message(from: RootCommand.parseAsRoot(arguments)))
    }

    private static func message(
        from command: @autoclosure () throws -> any ParsableCommand
    ) throws -> String {
        do {
            var command = try command()
            // Help of its own is a command.
            guard "\(type(of: command))" == "HelpCommand" else { return "read" }
            try command.run()
            return "run"
        } catch {
            return RootCommand.fullMessage(for: error)
        }
    }

    private static func content(of command: any ParsableCommand) -> String {
        var text = ""
        dump(command, to: &text)
        return text
    }
}
