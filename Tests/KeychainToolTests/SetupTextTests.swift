// SetupTextTests: the text of other programs' files that `setup` changes.
// The formats are those of Python's configparser and of RFC 8259.

import Testing

@testable import KeychainTool

@Suite struct `Settings in files of other programs` {
    private static let line = (name: "keyring-provider", value: "subprocess")

    private func added(
        _ text: String, replacing: Bool = false
    ) throws(TextProblem) -> TextChange? {
        try SectionedText(text).setting(Self.line, in: "global", replacing: replacing)
    }

    @Test(
        arguments: [
            ("", "[global]\nkeyring-provider = subprocess\n"),
            ("# own\n", "# own\n[global]\nkeyring-provider = subprocess\n"),
            ("[global]\n", "[global]\nkeyring-provider = subprocess\n"),
            (
                "[install]\nuser = yes\n\n[global]\ntimeout = 5\n",
                "[install]\nuser = yes\n\n[global]\nkeyring-provider = subprocess\ntimeout = 5\n"
            ),
            ("[a]\nb = c", "[a]\nb = c\n[global]\nkeyring-provider = subprocess\n"),
            (
                "[a]\r\nb: c\r\n",
                "[a]\r\nb: c\r\n[global]\r\nkeyring-provider = subprocess\r\n"
            ),
            // A value on several lines, one of which looks like a setting.
            (
                "[global]\nfind-links =\n    keyring-provider = x\n  # own\n    y\n",
                "[global]\nkeyring-provider = subprocess\nfind-links =\n"
                    + "    keyring-provider = x\n  # own\n    y\n"
            ),
            (
                "  [global]  ; own\n   a = b\n",
                "  [global]  ; own\n   keyring-provider = subprocess\n   a = b\n"
            ),
        ])
    func `setup adds one setting, and removal keeps all other settings`(
        _ text: String, _ expected: String
    ) throws {
        let change = try #require(try added(text))
        #expect(change.text == expected)
        #expect(try added(change.text) == nil)
        let back = try SectionedText(change.text).removing(Self.line, from: "global")
        // A final newline that `setup` added remains. An empty section is removed.
        let newline = text.isEmpty || text.utf8.last == 10 ? "" : "\n"
        let emptied = text == "[global]\n" ? "" : text + newline
        #expect(back?.text == emptied)
        #expect(try SectionedText(emptied).removing(Self.line, from: "global") == nil)
    }

    @Test func `a setting with a different value is replaced only on request`() throws {
        let text = "[global]\nindex-url = x\nKeyring_Provider:\n    import\nretries = 1\n"
        #expect(throws: TextProblem.otherValue("\nimport", line: 3)) { try added(text) }
        let change = try added(text, replacing: true)
        #expect(
            change?.text == "[global]\nindex-url = x\nkeyring-provider = subprocess\nretries = 1\n")
        #expect(
            change?.shown == [
                "  - 3: Keyring_Provider:", "  - 4: import", "  + 3: keyring-provider = subprocess",
            ])
        #expect(try SectionedText(text).removing(Self.line, from: "global") == nil)
    }

    @Test(
        arguments: [
            ("a = b\n", 1), ("[global]\nword\n", 2), ("[a]\n[b]\n\n[a]\n", 4), ("[]\n", 1),
            ("[a]\nx = 1\nX: 2\n", 3), ("[a]\n= 1\n", 2), ("[a\n", 1),
        ])
    func `text that configparser refuses is refused`(_ text: String, _ line: Int) {
        #expect(throws: TextProblem.notUnderstood(line: line)) { try added(text) }
    }

    // MARK: JSON

    private func stored(
        _ text: String, replacing: Bool = false
    ) throws(TextProblem) -> TextChange? {
        try ObjectText(text).setting("credsStore", to: "keychain", replacing: replacing)
    }

    @Test(
        arguments: [
            ("{}", "{\n\t\"credsStore\": \"keychain\"\n}", 2),
            ("{ }\n", "{\n\t\"credsStore\": \"keychain\"\n}\n", 2),
            (#"{"a":1}"#, #"{"a":1,"credsStore": "keychain"}"#, 1),
            (
                "{\n  \"a\": {\"credsStore\": \"x\"},\n  \"b\": [1.50, \"}\\\"\"]\n}\n",
                "{\n  \"a\": {\"credsStore\": \"x\"},\n  \"b\": [1.50, \"}\\\"\"],\n"
                    + "  \"credsStore\": \"keychain\"\n}\n", 4
            ),
            (#" { "a" : null } "#, #" { "a" : null, "credsStore": "keychain" } "#, 1),
            (
                #"{"a": "é\u00e9", "b": -1e5}"#,
                #"{"a": "é\u00e9", "b": -1e5,"credsStore": "keychain"}"#, 1
            ),
        ])
    func `setup adds one JSON member, and removal keeps all other members`(
        _ text: String, _ expected: String, _ line: Int
    ) throws {
        let change = try #require(try stored(text))
        #expect(change.text == expected)
        #expect(change.shown == ["  + \(line): \"credsStore\": \"keychain\""])
        #expect(try stored(change.text) == nil)
        let back = try #require(
            try ObjectText(change.text).removing("credsStore", "keychain")?.text)
        #expect(text.contains("\"") ? back == text : back.filter { !$0.isWhitespace } == "{}")
        #expect(try ObjectText(back).removing("credsStore", "keychain") == nil)
    }

    @Test func `a JSON member with a different value is replaced only on request`() throws {
        for text in [#"{"credsStore":"pass","a":1}"#, #"{"creds\u0053tore": "pass" ,"a":1}"#] {
            #expect(throws: TextProblem.otherValue("pass", line: 1)) { try stored(text) }
            let change = try #require(try stored(text, replacing: true))
            #expect(change.text.filter { $0 != " " } == #"{"credsStore":"keychain","a":1}"#)
            #expect(
                try ObjectText(change.text).removing("credsStore", "keychain")?.text
                    == #"{"a":1}"#)
        }
        #expect(throws: TextProblem.otherValue("", line: 1)) { try stored(#"{"credsStore":7}"#) }
    }

    @Test(
        arguments: [
            "", "[]", "null", "7", "{", "{\"a\":}", "{} {}", "{\"a\":1,}", "{'a':1}", "{\"a\" 1}",
            #"{"a":1,"a":2}"#, "{\"credsStore\":\"x\"", "{\"a\": tru}",
        ])
    func `text that isn't a single JSON object with distinct names is refused`(_ text: String) {
        #expect(throws: TextProblem.notUnderstood(line: 1)) { try stored(text) }
    }
}
