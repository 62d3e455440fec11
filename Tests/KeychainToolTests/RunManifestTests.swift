import Testing

@testable import KeychainTool

@Suite struct `A manifest of the command run` {
    private func read(_ text: String) throws -> [String] {
        try RunManifest(Array(text.utf8), named: "m").variables.map { name, value in
            switch value {
            case .text(let text): "\(name) text \(text)"
            case .secret(let item): "\(name) secret \(item)"
            case .file(let item): "\(name) file \(item)"
            }
        }
    }

    // The cases cover rules (1) to (3) at the head of RunManifest.swift.
    @Test(
        arguments: [
            ("", []), ("\n \t\n# A=b\n  # x", []),
            ("A=keychain:db/prod", ["A secret db/prod"]),
            ("export A=keychain:db/prod\r\nB=1\r\n", ["A secret db/prod", "B text 1"]),
            ("TLS = \"keychain-file:tls\"", ["TLS file tls"]),
            ("  A  =  b c  # remark", ["A text b c"]), ("A=b#c", ["A text b#c"]),
            ("A=#c", ["A text "]),
            ("A=", ["A text "]), ("A=''", ["A text "]), ("A=b=c", ["A text b=c"]),
            ("A='$HOME \"x\" \\n # y' # z", ["A text $HOME \"x\" \\n # y"]),
            ("A=\"a\\nb\\tc\\\\d\\\"e\\$f\\r\"", ["A text a\nb\tc\\d\"e$f\r"]),
            ("A=$HOME", ["A text $HOME"]), ("A=keychainx", ["A text keychainx"]),
            ("\u{FEFF}A=b", ["A text b"]), ("A.b-c_1=x", ["A.b-c_1 text x"]),
            ("export=x", ["export text x"]), ("A='keychain:a b/c'", ["A secret a b/c"]),
            ("A=keychain:https://example.org/ada", ["A secret https://example.org/ada"]),
        ] as [(String, [String])])
    func `a manifest line defines one variable, unless it is empty or a comment`(
        _ text: String, _ variables: [String]
    ) throws {
        #expect(try read(text) == variables)
    }

    @Test(arguments: [
        ("A", 1, "The “=” is missing. Write NAME=VALUE."),
        ("A=1\n=x", 2, "The text before the “=” is not a valid variable name."),
        ("\n\n1A=x", 3, "The text before the “=” is not a valid variable name."),
        ("A B=x", 1, "The text before the “=” is not a valid variable name."),
        ("é=x", 1, "The text before the “=” is not a valid variable name."),
        ("A=x\n-hunter2==", 2, "The text before the “=” is not a valid variable name."),
        ("A='hunter2", 1, "The closing quote is missing."),
        ("A=\"hunter2\nB=1", 1, "The closing quote is missing."),
        ("A='hunter2' hunter3", 1, "There is text after the closing quote."),
        ("A=\"hunter2\\x\"", 1, "In double quotes, a backslash must be followed by"),
        ("A=1\nB=2\nA=hunter2", 3, "A is already set in line 1."),
        ("A=keychain:", 1, "The service is missing. Write keychain:SERVICE/ACCOUNT."),
        ("A=keychain:/ada", 1, "The service is missing."),
        ("A=keychain://db/prod", 1, "The service is missing."),
        ("A=keychain-file:", 1, "The service is missing. Write keychain-file:SERVICE/ACCOUNT."),
        ("A=hun\0ter2", 1, "The line is not UTF-8 text."),
    ])
    func `the error for an invalid manifest line states the line's number`(
        _ text: String, _ line: Int, _ problem: String
    ) throws {
        let failure = try #require(throws: ControlFailure.self) { try read(text) }
        #expect(failure.message.hasPrefix("m:\(line): \(problem)"), "\(failure.message)")
        #expect(failure.message.hasSuffix(" Nothing was started."))
        #expect(!failure.message.contains("hunter"))
        #expect(failure.status == .failure)
    }

    @Test func `the error for a manifest line that isn't text states the line's number`() throws {
        let failure = try #require(throws: ControlFailure.self) {
            try RunManifest(Array("A=1\n".utf8) + [0x42, 0x3D, 0xFF], named: "m")
        }
        #expect(failure.message.hasPrefix("m:2: The line is not UTF-8 text."))
    }
}
