// Completion of stored names, performed by the shells themselves. Names are untrusted: the
// completion of a name must not execute anything, and the resulting shell word must be exactly the
// name.

import Foundation
import Glibc
import Testing

@Suite struct `Completion in a shell` {
    /// Names that completion offers. Most of these names have characters that shells interpret.
    private static let hostile = [
        "a b/$(touch ran)", "a`touch ran`/c\"d", "it's/x", "q;touch ran&r|s/*?[x]{a,b}!$HOME\\z",
        "https://example.org/ada", "https://example.org/eva", "db/prod", "é ü/ß", "<(touch ran)/x",
        "w!!/x",
    ]
    /// Names that completion doesn't offer: they contain a character that a terminal interprets, or
    /// begin with a dash or a tilde.
    private static let unfit = ["new\nline/x", "esc\u{1B}[2J/x", "tab\tx/y", "-x/y", "~root/x"]

    private func home() throws -> TestHome {
        let home = try TestHome()
        for name in Self.hostile + Self.unfit {
            let slash = try #require(name.lastIndex(of: "/"))
            let parts = [name[..<slash], name[name.index(after: slash)...]].map {
                "'" + $0.replacingOccurrences(of: "'", with: "'\\''") + "'"
            }
            let outcome = try home.run(
                "printf x | keychainctl set --service=\(parts[0]) --account=\(parts[1])")
            try #require(outcome.ending == .exit(0), "\(outcome.errors)")
        }
        let script = "for s in bash zsh fish; do keychainctl completions $s >script.$s; done"
        try #require(try home.run(script).ending == .exit(0))
        return home
    }

    @Test
    func `completion offers every printable name without a leading dash or tilde`()
        throws
    {
        let home = try home()
        let outcome = try home.run("keychainctl ---names")
        #expect(outcome.output.split(separator: "\n").map(String.init) == Self.hostile.sorted())
        #expect(outcome.errors.isEmpty)
        let empty = try TestHome()
        for command in [
            "keychainctl ---names", "KEYCHAIN_SERVICE=/nothing/there keychainctl ---names",
            "KEYCHAIN_DIRECTORY=relative keychainctl ---names",
        ] {
            let outcome = try empty.run(command)
            #expect(outcome.output.isEmpty && outcome.errors.isEmpty, "\(command)")
        }
        #expect(!FileManager.default.fileExists(atPath: empty.path + "/.local"))
    }

    /// Types a command line in a shell.
    /// - Returns: The last argument that the command gets.
    private func word(
        after keys: String, in shell: String, _ home: TestHome
    ) throws -> String? {
        let dialogue = try Dialogue(home, program: "/usr/bin/env", [shell, "-i"])
        try dialogue.expect("READY")
        try dialogue.type("keychainctl get \(keys)\r")
        try dialogue.expect("OVER")
        try dialogue.type("exit\r")
        _ = try dialogue.end()
        return try? String(contentsOfFile: home.path + "/word", encoding: .utf8)
    }

    /// A shell function with the program's name. The function passes requests for names on to the
    /// program, and otherwise writes its last argument to a file.
    private static let stand = """
        keychainctl() {
            case $1 in
                ---names) command keychainctl "$@" ;;
                *) for word; do :; done; printf %s "$word" >~/word; echo OVER ;;
            esac
        }
        PS1=READY

        """

    @Test(
        arguments: [
            ("bash", "a\\ \t", "a b/$(touch ran)"), ("zsh", "a\\ \t", "a b/$(touch ran)"),
            ("bash", "a\\`\t", "a`touch ran`/c\"d"), ("zsh", "a\\`\t", "a`touch ran`/c\"d"),
            ("bash", "it\t", "it's/x"), ("zsh", "it\t", "it's/x"),
            ("bash", "q\t", "q;touch ran&r|s/*?[x]{a,b}!$HOME\\z"),
            ("zsh", "q\t", "q;touch ran&r|s/*?[x]{a,b}!$HOME\\z"),
            ("bash", "w\t", "w!!/x"), ("zsh", "w\t", "w!!/x"),
            ("bash", "https://example.org/a\t", "https://example.org/ada"),
            ("zsh", "https://example.org/a\t", "https://example.org/ada"),
            ("bash", "--json db\t", "db/prod"), ("zsh", "--json db\t", "db/prod"),
            ("bash", "-a db\t", "db"), ("zsh", "-a db\t", "db"),
            ("bash", "\"db\t", "db/prod"), ("zsh", "'a b\t", "a b/$(touch ran)"),
            // After an open quotation mark, bash completes only names that need no quotes.
            ("bash", "\"a b\t\"", "a b"), ("bash", "'it\t'", "it"),
        ] as [(String, String, String)])
    func `completion in the shell turns a name into exactly one word`(
        _ shell: String, _ keys: String, _ name: String
    ) throws {
        let home = try home()
        let script =
            shell == "bash"
            ? "bind 'set enable-bracketed-paste off'; source ~/script.bash\n"
            : "autoload -Uz compinit; compinit -u -D; source ~/script.zsh\n"
        try (script + Self.stand).write(
            toFile: home.path + "/.\(shell)rc", atomically: true, encoding: .utf8)
        #expect(try word(after: keys, in: shell, home) == name)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/ran"))
    }

    @Test func `completion in fish offers the names unchanged`() throws {
        let home = try home()
        let outcome = try home.run(
            "fish -c 'source ~/script.fish; complete -C \"keychainctl get \"; echo ==; "
                + "complete -C \"keychainctl mv db/prod https\"; echo ==; "
                + "complete -C \"keychainctl history db\"; "
                + "complete -C \"keychainctl purge db\"; echo ==; "
                + "complete -C \"keychainctl get --service \"; complete -C \"keychainctl status \"'"
        )
        #expect(
            outcome.output.split(separator: "\n").map(String.init)
                == Self.hostile.sorted() + [
                    "==", "https://example.org/ada", "https://example.org/eva", "==",
                    "db/prod", "db/prod", "==",
                ], "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: home.path + "/ran"))
    }
}
