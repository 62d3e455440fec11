import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `An item named by one word` {
    // The cases follow the rules at the head of ItemName.swift.
    @Test(
        arguments: [
            ("db/prod", "db", "prod"), ("https://example.org/ada", "https://example.org", "ada"),
            ("tls", "tls", nil), ("tls/", "tls", nil),
            ("https://example.org/", "https://example.org", nil),
            ("db%2Fprod", "db/prod", nil), ("db/eu%2fprod", "db", "eu/prod"),
            ("/etc/app/key", "/etc/app", "key"),
            ("100%25/a", "100%", "a"), ("100%/a", "100%", "a"), ("a%20b/c", "a%20b", "c"),
            ("%252F", "%2F", nil), ("%", "%", nil), ("%2", "%2", nil), ("é/ß", "é", "ß"),
            ("a/\u{338}b", "a", "\u{338}b"), ("a b/c d", "a b", "c d"),
        ] as [(String, String, String?)])
    func `the last slash in a name separates service and account`(
        _ text: String, _ service: String, _ account: String?
    ) throws {
        let name = try #require(ItemName(text))
        #expect(Array(name.service.utf8) == Array(service.utf8))
        #expect(name.account.map { Array($0.utf8) } == account.map { Array($0.utf8) })
        #expect(name.description == text)
        let query = name.query(in: "team")
        #expect(query.itemClass == .genericPassword && query.accessGroup == "team")
    }

    @Test(
        arguments: [
            ("db", "prod", "db/prod"), ("db", "", "db"), ("a/b", "", "a/b/"),
            ("a/b", "c/d", "a/b/c%2Fd"),
            ("https://example.org", "ada", "https://example.org/ada"),
            ("100%", "5%", "100%/5%"), ("%2F", "%25", "%252F/%2525"), ("%", "2F", "%/2F"),
            ("é", "%2f/", "é/%252f%2F"), ("a\n", "$(x)", "a\n/$(x)"),
        ])
    func `the name that is shown for an item identifies that item`(
        _ service: String, _ account: String, _ word: String
    ) throws {
        #expect(ItemName.text(service: service, account: account) == word)
        let name = try #require(ItemName(word))
        #expect(name.service == service && name.account ?? "" == account)
    }

    // The rows follow the comment of `NameTree.parts`.
    @Test(
        arguments: [
            ("", []), ("/", ["/"]), ("//", ["//"]), ("a", ["a"]), ("a/", ["a", "/"]),
            ("a//", ["a", "//"]), ("a/b", ["a", "b"]), ("a//b", ["a", "/b"]),
            ("/etc/app", ["/etc", "app"]), ("//a", ["//a"]),
            ("https://example.org", ["https://example.org"]),
            ("https://example.org/", ["https://example.org", "/"]),
            ("https://example.org/ada", ["https://example.org", "ada"]),
            ("https://", ["https://"]), ("https:///", ["https:///"]),
            ("file:///etc", ["file:///etc"]),
        ] as [(String, [String])])
    func `a tree splits a name at slashes, and drops only one slash between two parts`(
        _ place: String, _ parts: [String]
    ) {
        #expect(NameTree.parts(of: place) == parts)
    }

    @Test func `an item without a service has no name on the command line`() {
        #expect(ItemName.text(service: "", account: "ada") == nil)
    }

    @Test(arguments: ["", "/", "/ada"])
    func `a name without a service is invalid`(_ text: String) {
        #expect(ItemName(text) == nil)
    }
}
