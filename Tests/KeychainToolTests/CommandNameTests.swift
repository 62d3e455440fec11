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
    /// start, which took a millisecond for 16 of them.
    @Test func `every command sets its commandName explicitly`() {
        #expect(unnamed(RootCommand.self) == [])
    }
}
