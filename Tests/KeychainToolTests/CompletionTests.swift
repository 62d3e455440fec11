// Completion of stored names, by the shells themselves. A name is untrusted: completing it runs
// nothing, and the word that a shell makes of it is the name.

import Foundation
import Glibc
import Testing

@Suite struct `Completion in a shell` {
    /// What a name can do to a shell that takes it for more than text.
    private static let hostile = [
        "a b/$(touch ran)", "a`touch ran`/c\"d", "it's/x", "q;touch ran&r|s/*?[x]{a,b}!$HOME\\z",
        "https://example.org/ada", "https://example.org/eva", "db/prod", "é ü/ß", "<(touch ran)/x",
        "w!!/x",
    ]
    /// What no line shows as it is.
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

    @Test func `has the names that a line can hold, and no others`() throws {
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

    /// Types a command line, and gives the last word that the command gets.
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

    /// A function of the name of the program, which shows its last word.
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
            // No name that an open quote of bash doesn't hold as it is.
            ("bash", "\"a b\t\"", "a b"), ("bash", "'it\t'", "it"),
        ] as [(String, String, String)])
    func `makes one word of a name`(_ shell: String, _ keys: String, _ name: String) throws {
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

    @Test func `gives fish the names as they are`() throws {
        let home = try home()
        let outcome = try home.run(
            "fish -c 'source ~/script.fish; complete -C \"keychainctl get \"; echo ==; "
                + "complete -C \"keychainctl mv db/prod https\"; echo ==; "
                + "complete -C \"keychainctl get --service \"; complete -C \"keychainctl status \"'"
        )
        #expect(
            outcome.output.split(separator: "\n").map(String.init)
                == Self.hostile.sorted() + [
                    "==", "https://example.org/ada", "https://example.org/eva", "==",
                ], "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: home.path + "/ran"))
    }
}
