// Dialogues with the user at a terminal.

import Foundation
import Glibc
import KeychainCore
import KeychainEngine
import Testing

@Suite struct `At a terminal` {
    private func set(_ home: TestHome, _ secret: String, _ account: String = "ada") throws {
        let outcome = try home.run("printf '\(secret)' | keychainctl set -s mail -a \(account)")
        try #require(outcome.ending == .exit(0), "\(outcome.errors)")
    }

    /// Sets a passcode with a low cost of key derivation, for tests.
    private func setPasscode(_ home: TestHome, _ passcode: String) throws {
        let engine = try KeychainEngine.open(
            directory: home.path + "/.local/share/keychain", options: .testing)
        defer { engine.close() }
        try engine.setPasscode(SecretBytes(copying: Array(passcode.utf8)))
    }

    @Test func `a secret is requested twice and never echoed`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail", "-a", "ada")
        try dialogue.expect("Secret: ")
        #expect(!dialogue.isEchoing)
        try dialogue.type("tiger\r")
        try dialogue.expect("Secret again: ")
        try dialogue.type("tiger\r")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown == "Secret: \nSecret again: \n")
        #expect(dialogue.isEchoing)
        #expect(try home.run("keychainctl get -s mail -a ada").output == "tiger")
    }

    @Test func `a crash prints no backtrace, which would show registers and memory`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(
            home, "set", "-s", "mail",
            variables: ["SWIFT_BACKTRACE": "enable=yes,color=no,interactive=no,output-to=stderr"])
        try dialogue.expect("Secret: ")
        try dialogue.type("tiger\r")
        try dialogue.expect("Secret again: ")
        kill(dialogue.process, SIGSEGV)
        #expect(try dialogue.end() == .signal(SIGSEGV))
        #expect(dialogue.shown == "Secret: \nSecret again: ")
    }

    @Test func `an empty secret that is entered twice isn't stored`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        try dialogue.expect("Secret: ")
        try dialogue.type("\r")
        try dialogue.expect("Secret again: ")
        try dialogue.type("\r")
        #expect(try dialogue.end() == .exit(1))
        #expect(try home.run("keychainctl get -s mail").ending == .exit(3))
    }

    @Test func `a secret is requested again if the two entries differ`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        try dialogue.expect("Secret: ")
        try dialogue.type("tiger\r")
        try dialogue.expect("Secret again: ")
        try dialogue.type("tigre\r")
        try dialogue.expect("The entries don't match. Try again.\nSecret: ")
        try dialogue.type("lion\r")
        try dialogue.expect("Secret again: ")
        try dialogue.type("lion\r")
        #expect(try dialogue.end() == .exit(0))
        #expect(try home.run("keychainctl get -s mail").output == "lion")
    }

    @Test func `if the two entries differ three times, the command fails`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        for attempt in 1...3 {
            try dialogue.expect(
                attempt == 1 ? "Secret: " : "The entries don't match. Try again.\nSecret: ")
            try dialogue.type("tiger\r")
            try dialogue.expect("Secret again: ")
            try dialogue.type("tigre\r")
        }
        try dialogue.expect("The entries didn't match three times. Nothing was changed.")
        #expect(try dialogue.end() == .exit(1))
        #expect(dialogue.shown.components(separatedBy: "Try again.").count == 3)
        #expect(try home.run("keychainctl get -s mail").ending == .exit(3))
    }

    @Test func `backspace deletes a whole character, and Control-U the whole entry`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        try dialogue.expect("Secret: ")
        try dialogue.type("wrong\u{15}tigeré\u{7F}x\u{8}\r")
        try dialogue.expect("Secret again: ")
        try dialogue.type("tiger\r")
        #expect(try dialogue.end() == .exit(0))
        #expect(try home.run("keychainctl get -s mail").output == "tiger")
    }

    @Test func `Control-C at a hidden prompt ends the program and turns the echo on again`()
        throws
    {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        try dialogue.expect("Secret: ")
        try dialogue.type("tig\u{3}")
        #expect(try dialogue.end() == .signal(SIGINT))
        #expect(dialogue.isEchoing)
        #expect(try home.run("keychainctl list").output == "")
    }

    @Test func `Control-D at a hidden prompt changes nothing`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        try dialogue.expect("Secret: ")
        try dialogue.type("\u{4}")
        #expect(try dialogue.end() == .exit(1))
        #expect(
            dialogue.shown.hasSuffix(
                "keychainctl: The input ended without an answer. Nothing was changed.\n"))
    }

    @Test func `a process that waits for a secret can't dump core`() throws {
        let home = try TestHome()
        let dialogue = try Dialogue(home, "set", "-s", "mail")
        try dialogue.expect("Secret: ")
        let limits = try String(
            contentsOfFile: "/proc/\(dialogue.process)/limits", encoding: .utf8)
        let line = try #require(
            limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(line.split(separator: " ").dropFirst(4).first == "0")
    }

    @Test func `a secret is shown with a final newline at a terminal`() throws {
        let home = try TestHome()
        try set(home, "tiger")
        let dialogue = try Dialogue(home, "get", "-s", "mail")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown == "tiger\n")
        try set(home, "line\\n")
        let lined = try Dialogue(home, "get", "-s", "mail")
        #expect(try lined.end() == .exit(0))
        #expect(lined.shown == "line\n")
        // A variation selector, which is part of many emoji, is also shown.
        try set(home, "\\342\\235\\244\\357\\270\\217")
        let joined = try Dialogue(home, "get", "-s", "mail")
        #expect(try joined.end() == .exit(0))
        #expect(joined.shown == "❤️\n")
    }

    @Test(arguments: ["a\\033]0;title\\007", "\\377\\376", "back\\010", "\\302\\233m", "cr\\r"])
    func `a secret with control characters is shown at a terminal only on request`(
        _ secret: String
    ) throws {
        let home = try TestHome()
        try set(home, secret)
        let dialogue = try Dialogue(home, "get", "-s", "mail")
        #expect(try dialogue.end() == .exit(1))
        #expect(dialogue.shown.hasPrefix("keychainctl: The secret is not plain text."))
        let raw = try Dialogue(home, "get", "-s", "mail", "--raw")
        #expect(try raw.end() == .exit(0))
        #expect(try raw.shown == home.run("keychainctl get -s mail").output)
    }

    @Test func `the passcode is requested for a locked item, and again after a wrong passcode`()
        throws
    {
        let home = try TestHome()
        try set(home, "tiger")
        try setPasscode(home, "1234")
        try expectPasscode(
            home, for: "mail", secret: "tiger",
            otherwise: "keychainctl: The item is locked with the passcode.")
    }

    @Test func `the passcode proves presence, and is requested again only after a wrong passcode`()
        throws
    {
        let home = try TestHome()
        try GuardedItems.add(to: home)
        try expectPasscode(
            home, for: "bank", secret: "the secret of bank",
            otherwise: "keychainctl: The item requires the passcode, and none was entered.")
    }

    /// Expects a prompt for the passcode 1234, and another prompt after a wrong passcode. If the
    /// user cancels the prompt, or prompts aren't allowed, the secret isn't shown.
    private func expectPasscode(
        _ home: TestHome, for service: String, secret: String, otherwise reason: String,
        _ source: SourceLocation = #_sourceLocation
    ) throws {
        let dialogue = try Dialogue(home, "get", "-s", service)
        try dialogue.expect("Passcode of the keychain: ")
        #expect(!dialogue.isEchoing, sourceLocation: source)
        try dialogue.type("4321\r")
        try dialogue.expect("The passcode is wrong.\nPasscode of the keychain: ")
        try dialogue.type("1234\r")
        #expect(try dialogue.end() == .exit(0), sourceLocation: source)
        #expect(
            dialogue.shown.hasSuffix("Passcode of the keychain: \n\(secret)\n"),
            sourceLocation: source)

        let cancelled = try Dialogue(home, "get", "-s", service)
        try cancelled.expect("Passcode of the keychain: ")
        try cancelled.type("\u{4}")
        #expect(try cancelled.end() == .exit(4), sourceLocation: source)

        let silent = try Dialogue(home, "get", "-s", service, "--no-prompt")
        #expect(try silent.end() == .exit(4), sourceLocation: source)
        #expect(silent.shown.hasPrefix(reason), sourceLocation: source)
    }

    @Test func `an application password is requested, and again after a wrong password`() throws {
        let home = try TestHome()
        try GuardedItems.add(to: home)
        let dialogue = try Dialogue(home, "get", "-s", "safe")
        try dialogue.expect("Application password of the item: ")
        #expect(!dialogue.isEchoing)
        try dialogue.type("wrong\r")
        try dialogue.expect("Passcode of the keychain: ")
        try dialogue.type("1234\r")
        try dialogue.expect("The application password is wrong.\n")
        try dialogue.expect("Application password of the item: ")
        try dialogue.type("battery staple\r")
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown.hasSuffix("\nthe secret of safe\n"))

        let refused = try Dialogue(home, "get", "-s", "vault")
        for attempt in 1...3 {
            try refused.expect("Application password of the item: ")
            try refused.type("\(attempt)\r")
        }
        #expect(try refused.end() == .exit(4))
        #expect(refused.shown.contains("keychainctl: The application password of the item"))

        let cancelled = try Dialogue(home, "get", "-s", "vault")
        try cancelled.expect("Application password of the item: ")
        try cancelled.type("\u{4}")
        #expect(try cancelled.end() == .exit(4))
        let silent = try Dialogue(home, "get", "-s", "vault", "--no-prompt")
        #expect(try silent.end() == .exit(4))
    }

    @Test func `a recovery code isn't asked for with --no-prompt`() throws {
        let home = try TestHome()
        try set(home, "tiger")
        let silent = try Dialogue(home, "recover", "--recovery-code", "--no-prompt")
        #expect(try silent.end() == .exit(4))
        #expect(
            silent.shown
                == "keychainctl: Provide the recovery code through a file descriptor: see --help.\n"
        )
        let asking = try Dialogue(home, "recover", "--recovery-code")
        try asking.expect("Recovery code: ")
        try asking.type("\u{4}")
        #expect(try asking.end() == .exit(4))
    }

    @Test func `a passcode is changed and removed in a dialogue`() throws {
        let home = try TestHome()
        try setPasscode(home, "1234")
        let kept = try home.run(
            """
            printf tiger | keychainctl set -s mail --accessible when-passcode-set \
            --passcode-fd 3 3<<'END'
            1234
            END
            """)
        #expect(kept.ending == .exit(0), "\(kept.errors)")

        let change = try Dialogue(home, "passcode", "change", "--weak")
        try change.expect("Current passcode: ")
        try change.type("1234\r")
        try change.expect("New passcode: ")
        try change.type("5678\r")
        try change.expect("New passcode again: ")
        try change.type("5678\r")
        #expect(try change.end() == .exit(0))

        let refused = try Dialogue(home, "passcode", "remove")
        try refused.expect("Current passcode: ")
        try refused.type("5678\r")
        try refused.expect("1 item of class when-passcode-set-this-device-only will be deleted")
        try refused.expect("to continue: ")
        try refused.type("yes\r")
        #expect(try refused.end() == .exit(1))

        let remove = try Dialogue(home, "passcode", "remove")
        try remove.expect("Current passcode: ")
        try remove.type("5678\r")
        try remove.expect("to continue: ")
        try remove.type("remove\r")
        try remove.expect("The passcode was removed. Deleted 1 item.")
        #expect(try remove.end() == .exit(0))
    }

    @Test func `all items of a class are deleted only after a confirmation`() throws {
        let home = try TestHome()
        try set(home, "tiger")
        try set(home, "lion", "bob")
        let refused = try Dialogue(home, "delete", "--all-items", "--class", "generic")
        try refused.expect("Every generic password will be deleted: 2 items.\n")
        try refused.expect("Type “delete 2” to continue: ")
        try refused.type("delete\r")
        try refused.expect("keychainctl: Not confirmed. Nothing was done.")
        #expect(try refused.end() == .exit(1))
        let agreed = try Dialogue(home, "delete", "--all-items", "--class", "generic")
        try agreed.expect("to continue: ")
        try agreed.type("delete 2\r")
        try agreed.expect("Deleted 2 items.")
        #expect(try agreed.end() == .exit(0))
        #expect(try home.run("keychainctl list").output == "")
    }

    @Test func `a check shows its progress`() throws {
        let home = try TestHome()
        try set(home, "tiger")
        let dialogue = try Dialogue(home, "check")
        try dialogue.expect("checked 1 of 1 item")
        try dialogue.expect("1 item checked: 1 intact, 0 damaged, 0 locked.")
        #expect(try dialogue.end() == .exit(0))
    }

    /// The script writes the first part of a character or a line end, then pauses, so that the test
    /// has read this part before the second part arrives.
    @Test func `the test terminal joins the two parts of a divided character or line end`() throws {
        let home = try TestHome()
        let script = #"""
            stty -onlcr
            printf '\303'
            sleep 0.3
            printf '\251\r'
            sleep 0.3
            printf '\n!'
            """#
        let dialogue = try Dialogue(home, program: "/bin/sh", ["-c", script])
        #expect(try dialogue.end() == .exit(0))
        #expect(dialogue.shown == "\u{E9}\n!")
    }

    /// Copies a keychain with a database of version 1 into the home, which has no keychain yet.
    private func putOldKeychain(_ name: String, in home: TestHome) throws {
        let files = FileManager.default
        let fixture = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
            .appending(path: "KeychainSQLiteTests/Fixtures/database-v1/\(name)")
        let folder = home.path + "/.local/share/keychain"
        try files.createDirectory(
            atPath: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        for file in try files.contentsOfDirectory(at: fixture, includingPropertiesForKeys: nil) {
            let bytes = try Data(contentsOf: file)
            try #require(
                files.createFile(
                    atPath: folder + "/" + file.lastPathComponent, contents: bytes,
                    attributes: [.posixPermissions: 0o600]))
        }
    }

    @Test(arguments: ["list", "check", "convert"])
    func `a conversion shows its progress only at a terminal`(command: String) throws {
        let home = try TestHome()
        try putOldKeychain("plain", in: home)
        let dialogue = try Dialogue(home, command)
        try dialogue.expect("converted 0 of 3 items\r\u{1B}[Kconverted 3 of 3 items\r\u{1B}[K")
        _ = try dialogue.end()
        #expect(!dialogue.shown.contains("\u{1B}[K\r\u{1B}[K"))

        let other = try TestHome()
        try putOldKeychain("plain", in: other)
        #expect(try !other.run("keychainctl \(command)").errors.contains("converted 0"))
    }
}
