import ArgumentParser
import Testing

@testable import KeychainTool

@Suite struct `A get command that is parsed directly` {
    static let understood = [
        ["get", "-s", "mail"], ["get", "-s", "mail", "-a", "ada"],
        ["get", "--service", "mail", "--account", "ada", "--group", "team"],
        ["get", "-g", "team", "-a", "ada", "-s", "mail", "--json"],
        ["get", "--server", "example.org", "--raw", "-a", ""],
        ["get", "-s", "two words", "-a", "é", "--no-prompt"],
        ["get", "db/prod"], ["show", "db"],
        ["get", "--json", "https://example.org/ada", "-g", "team"],
        ["show", "-s", "mail"], ["get", "a%2Fb", "--raw", "--no-prompt"],
        ["get", "--raw", "--json", "--no-prompt", "--server", "s", "-a", "a=b"],
    ]

    @Test(arguments: understood)
    func `parsing get directly gives the same request as ArgumentParser`(_ arguments: [String])
        throws
    {
        let direct = try #require(DirectGet.request(arguments))
        let parsed = try #require(try RootCommand.parseAsRoot(arguments) as? GetCommand)
        #expect(direct == parsed.request)
    }

    @Test(arguments: [
        [], ["get"], ["set", "-s", "mail"], ["get", "-s"], ["get", "-s", "-a", "ada"],
        ["get", "-s", "--raw"], ["get", "-s", "a", "-s", "b"],
        ["get", "-s", "a", "--service", "b"],
        ["get", "-a", "ada"], ["get", "-s", "mail", "--server", "example.org"],
        ["get", "--service=mail"], ["get", "-smail"], ["get", "-s", "mail", "--help"],
        ["get", "-s", "mail", "surplus"], ["get", "-s", "mail", "--raw", "--raw"],
        ["get", "db", "tls"], ["get", "db", "-a", "ada"], ["get", "/ada"], ["get", ""],
        ["get", "-s", "mail", "--passcode-fd", "3"], ["get", "--", "-s", "mail"],
        ["help", "get"], ["get", "-s", "mail", "--label", "x"], ["get", "--serv", "mail"],
    ])
    func `command lines that can't be parsed directly are left to ArgumentParser`(
        _ arguments: [String]
    ) {
        #expect(DirectGet.request(arguments) == nil)
    }
}
