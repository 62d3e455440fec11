// PinentryTests: prompts through pinentry, for which a shell script stands in, and the choice of
// the prompter.

import Foundation
import KeychainCrypto
import Testing

@testable import KeychainAuthentication

/// A script in place of pinentry. It gives the answer that the test defines, and records the lines
/// that it receives.
private final class FakePinentry {
    let folder: String
    var program: String { folder + "/pinentry" }

    /// `answer` is the shell command that responds to GETPIN.
    init(_ answer: String, greeting: String = "OK Pleased to meet you") throws {
        folder = NSTemporaryDirectory() + "pinentry-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let script = """
            #!/bin/sh
            echo $$ > '\(folder)/process'
            echo '\(greeting)'
            while read -r line; do
                printf '%s\\n' "$line" >> '\(folder)/lines'
                case "$line" in
                OPTION*) echo 'ERR 83886254 Unknown option <Pinentry>' ;;
                GETPIN) \(answer) ;;
                BYE) echo OK closing; exit 0 ;;
                *) echo OK ;;
                esac
            done
            """
        try #require(
            FileManager.default.createFile(
                atPath: program, contents: Data(script.utf8),
                attributes: [.posixPermissions: 0o700]))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    var authenticator: PinentryAuthenticator {
        PinentryAuthenticator(program: program, environment: ["PATH": "/usr/bin:/bin"])
    }

    func ask(_ question: Question = Question(.passcode)) -> Said {
        Said(authenticator.ask(question, until: Interruption()))
    }

    var lines: [String] {
        get throws {
            try String(contentsOfFile: folder + "/lines", encoding: .utf8)
                .split(separator: "\n").map(String.init)
        }
    }

    /// Whether the script is still running.
    var isRunning: Bool {
        guard
            let text = try? String(contentsOfFile: folder + "/process", encoding: .utf8),
            let process = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))
        else { return false }
        return kill(process, 0) == 0
    }
}

// Serialized: a script that was just written can't be executed while a child process of another
// test has it open for writing.
@Suite(.serialized) struct `Asking through pinentry` {
    @Test func `pinentry receives the texts to show, and its answer is decoded`() throws {
        let pinentry = try FakePinentry(
            "printf 'S BUTTON_INFO close\\nD 50%%25%%0Asure%%20é\\nOK\\n'")
        let question = Question(
            .passcode, reason: "100% of\nyour mail", problem: .wrong, cancelTitle: "No%")
        #expect(pinentry.ask(question) == .entered("50%\nsure é"))
        let lines = try pinentry.lines.filter { !$0.hasPrefix("OPTION ") }
        #expect(
            lines.filter { !$0.hasPrefix("SETDESC ") } == [
                "SETTITLE Keychain", "SETPROMPT Passcode of the keychain:",
                "SETERROR The passcode is wrong.", "SETCANCEL No%25", "GETPIN", "BYE",
            ])
        let description = try #require(lines.first { $0.hasPrefix("SETDESC ") })
        #expect(description.hasSuffix(": 100%25 of your mail"))
        #expect(!pinentry.isRunning)
    }

    @Test func `an answer that pinentry sends in several lines is joined`() throws {
        let pinentry = try FakePinentry("printf 'D one \\nD two\\nOK\\n'")
        #expect(pinentry.ask() == .entered("one two"))
    }

    @Test func `entering nothing is reported as an empty answer`() throws {
        #expect(try FakePinentry("echo OK").ask() == .entered(""))
    }

    @Test(arguments: [83_886_179, 83_886_278, 83_886_142, 99])
    func `a canceled or timed-out prompt is reported as canceled`(_ code: Int) throws {
        let pinentry = try FakePinentry("echo 'ERR \(code) Operation cancelled <Pinentry>'")
        #expect(pinentry.ask() == .cancelled)
    }

    @Test(arguments: [
        "echo 'ERR 83918950 Inappropriate ioctl for device <Pinentry>'", "echo ERR",
        "echo 'ERR 99999999999999999999'", "exit 1", "echo nonsense", "echo OKAY",
        "printf 'D half%%2\\nOK\\n'", "printf 'D %%zz\\nOK\\n'",
        "printf 'D %01100d\\nOK\\n' 0", "printf 'D secret'; exit 0",
    ])
    func `an error or a protocol violation of pinentry is reported as unavailable`(
        _ answer: String
    ) throws {
        #expect(try FakePinentry(answer).ask() == .unavailable)
    }

    @Test func `an invalid greeting is reported as unavailable`() throws {
        let pinentry = try FakePinentry("printf 'D x\\nOK\\n'", greeting: "HELLO")
        #expect(pinentry.ask() == .unavailable)
    }

    @Test func `a prompt through a missing program is reported as unavailable`() {
        let authenticator = PinentryAuthenticator(
            program: "/nonexistent/pinentry", environment: [:])
        #expect(Said(authenticator.ask(Question(.passcode), until: .init())) == .unavailable)
    }

    @Test func `pinentry ends if the program interrupts the prompt`() throws {
        let pinentry = try FakePinentry("exec sleep 600")
        let authenticator = pinentry.authenticator
        let interruption = Interruption()
        let answer = Elsewhere {
            Said(authenticator.ask(Question(.passcode), until: interruption))
        }
        // The prompt is open once the script has read `GETPIN`.
        let deadline = Date(timeIntervalSinceNow: 60)
        while Date() < deadline, (try? pinentry.lines.contains("GETPIN")) != true {
            Thread.sleep(forTimeInterval: 0.01)
        }
        interruption.interrupt()
        #expect(try answer.value() == .interrupted)
        #expect(!pinentry.isRunning)
    }

    @Test func `a pinentry that closes its connection but doesn't exit is killed`() throws {
        let pinentry = try FakePinentry("printf 'D x\\nOK\\n'; exec sleep 600 <&- >&-")
        let authenticator = pinentry.authenticator
        let answer = Elsewhere { Said(authenticator.ask(Question(.passcode), until: .init())) }
        #expect(try answer.value() == .entered("x"))
        #expect(!pinentry.isRunning)
    }

    @Test func `a long text is shortened to at most 900 bytes`() throws {
        for text in ["%", "é", "👩‍👩‍👧‍👦"] {
            let line = Assuan.encoded(String(repeating: text, count: 2000))
            #expect(line.utf8.count <= 900)
            #expect(line.utf8.count > 800)
        }
    }

    // The Assuan manual, section "Client requests", says that carriage returns, line feeds and
    // percent signs are encoded.
    @Test func `a line break or a percent sign is encoded, even before a combining accent`() {
        for (text, line) in [
            ("100%", "100%25"), ("a\r\nb", "a%0D%0Ab"), ("%\u{301}0A", "%25\u{301}0A"),
            ("é\u{7F}👩‍👩‍👧", "é%7F👩‍👩‍👧"),
        ] {
            #expect(Assuan.encoded(text) == line)
        }
    }

    // MARK: Choosing the prompter

    private let noTerminal = TerminalAuthenticator(path: "/nonexistent/terminal")

    @Test func `without a terminal or a display, the user can't be prompted`() {
        let system = SystemAuthenticator(["PATH": "/usr/bin:/bin"], terminal: noTerminal)
        #expect(!system.canAsk)
        #expect(Said(system.ask(Question(.passcode), until: .init())) == .unavailable)
        #expect(system.biometry == .notAvailable)
    }

    @Test func `an explicitly chosen prompter is used even if there is a terminal`() throws {
        let pinentry = try FakePinentry("printf 'D named\\nOK\\n'")
        let terminal = try PseudoTerminal()
        let system = SystemAuthenticator(
            [SystemAuthenticator.pinentryVariable: pinentry.program],
            terminal: TerminalAuthenticator(path: terminal.path))
        #expect(Said(system.ask(Question(.passcode), until: .init())) == .entered("named"))
    }

    @Test func `if the explicitly chosen prompter is missing, no other prompter is used`() throws {
        let terminal = try PseudoTerminal()
        let system = SystemAuthenticator(
            [SystemAuthenticator.pinentryVariable: "/nonexistent/pinentry", "DISPLAY": ":0"],
            terminal: TerminalAuthenticator(path: terminal.path))
        #expect(!system.canAsk)
    }

    @Test func `a terminal is preferred to a prompter on the display`() throws {
        let pinentry = try FakePinentry("printf 'D window\\nOK\\n'")
        let terminal = try PseudoTerminal()
        let environment = ["PATH": "relative::\(pinentry.folder)", "WAYLAND_DISPLAY": "wayland-0"]
        let system = SystemAuthenticator(
            environment, terminal: TerminalAuthenticator(path: terminal.path))
        #expect(system.authenticator is TerminalAuthenticator)
        let windowed = SystemAuthenticator(environment, terminal: noTerminal)
        #expect(Said(windowed.ask(Question(.passcode), until: .init())) == .entered("window"))
    }
}
