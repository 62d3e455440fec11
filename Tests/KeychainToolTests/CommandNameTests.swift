import ArgumentParser
import Testing

@testable import KeychainTool

@Suite struct `The names of commands` {
    private func unnamed(_ command: any ParsableCommand.Type) -> [String] {
        let configuration = command.configuration
        return (configuration.commandName == nil ? ["\(command)"] : [])
            + configuration.subcommands.flatMap(unnamed)
    }

    /// ArgumentParser derives a missing name from the type. It does so for all commands at every
    /// start. This took a millisecond for 16 commands without names.
    @Test func `every command sets its commandName explicitly`() {
        #expect(unnamed(RootCommand.self) == [])
    }
}
