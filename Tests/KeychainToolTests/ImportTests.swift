import KeychainCore
import Testing

@testable import KeychainTool

@Suite struct `Files of other programs` {
    private func read(_ source: ImportSource, _ bytes: some Sequence<UInt8>) throws -> [String] {
        try source.items(in: Array(bytes), named: "f", service: "s").map {
            "\($0.name)=\($0.secret)"
        }
    }

    // The formats are from git-credential-store(1), the manual of GNU inetutils, curl's manual
    // (netrc), and the comment at the head of RunManifest.swift.
    @Test(
        arguments: [
            (.env, "A=b\nexport C='d e'\nX=keychain:db", ["s A=b", "s C=d e"]),
            (.gitCredentials, "", []),
            (
                .gitCredentials, "https://ada:p%40ss%3A@example.org:8443/x%20y\r\n\n# r\n",
                ["example.org:8443/x y ada=p@ss:"]
            ),
            (.gitCredentials, "https://a:b@[::1]\nhttps://a:b@[::1]", ["[::1] a=b"]),
            // A port may be empty (RFC 3986, section 3.2.3).
            (.gitCredentials, "https://a:b@c:\nhttps://a:b@[::1]:/x", ["c a=b", "[::1]/x a=b"]),
            (.csv, "url,username,password\nhttps://c:/,a,b", ["c a=b"]),
            (.netrc, "machine m login ada password x", ["m ada=x"]),
            (.netrc, "machine m\n  login ada\n  password\n  #x # end", ["m ada=#x"]),
            (.netrc, "# r\nmachine m password \"a \\\"b\\\\\\n\" account z", ["m=a \"b\\\n"]),
            (
                .netrc, "machine m login a password x\nmacdef init\nmachine y\n\nmachine n login b",
                ["m a=x"]
            ),
            (
                .netrc, "macdef init machine \"y\nmachine z\n\nmachine n login b password x",
                ["n b=x"]
            ),
            (.netrc, "machine m\u{1B} login a password x", ["m\\u{1b} a=x"]),
        ] as [(ImportSource, String, [String])])
    func `secrets in other programs' files are imported`(
        _ source: ImportSource, _ text: String, _ items: [String]
    ) throws {
        #expect(try read(source, text.utf8) == items)
    }

    @Test(
        arguments: [
            (.env, "A=1\nB='hunter2", 2), (.env, "A=1\nA=hunter2", 2),
            (.gitCredentials, "https://a:b@c\nhunter2", 2),
            (.gitCredentials, "https://a:hunter2%4@c", 1),
            (.gitCredentials, "https://a:hunter2%00@c", 1),
            (.gitCredentials, "https://hunter2@c", 1), (.gitCredentials, "https://a:hunter2@", 1),
            (.gitCredentials, "https://a:hunter2@c:99999", 1),
            (.gitCredentials, "https://a:b@c\nhttps://a:hunter2@c", 2),
            (.netrc, "machine m password", 1), (.netrc, "password hunter2", 1),
            (.netrc, "machine m\npassword hun ter2", 2),
            (.netrc, "machine m password \"hunter2", 1),
            (.netrc, "default login a password hunter2", 1), (.netrc, "\nmachine m hun\0ter2", 2),
        ] as [(ImportSource, String, Int)])
    func `the error for an invalid line of an imported file states its number, not its secret`(
        _ source: ImportSource, _ text: String, _ line: Int
    ) throws {
        let failure = try #require(throws: ControlFailure.self) { try read(source, text.utf8) }
        #expect(failure.message.hasPrefix("f:\(line): "), "\(failure.message)")
        #expect(failure.message.hasSuffix(" Nothing was imported."))
        #expect(!failure.message.contains("hun") && !failure.message.contains("ter2"))
    }

    @Test(arguments: ImportSource.allCases)
    func `an imported file that isn't text is refused`(_ source: ImportSource) {
        #expect(throws: ControlFailure.self) { try read(source, [0x0A, 0xFF]) }
    }
}
