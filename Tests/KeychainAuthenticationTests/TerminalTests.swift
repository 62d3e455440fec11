// Prompts at a terminal, with the test in place of the user.

import Foundation
import KeychainCrypto
import Testing

@testable import KeychainAuthentication

/// An answer in a form that can be compared.
enum Said: Equatable {
    case entered(String)
    case cancelled
    case interrupted
    case unavailable

    init(_ answer: Answer) {
        self =
            switch answer {
            case .entered(let bytes): .entered(String(decoding: bytes.plainBytes, as: UTF8.self))
            case .cancelled: .cancelled
            case .interrupted: .interrupted
            case .unavailable: .unavailable
            }
    }
}

@Suite struct `Asking at a terminal` {
    @Test func `the passcode prompt shows the reason and never echoes the answer`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        #expect(authenticator.canAsk)
        let answer = Elsewhere {
            Said(authenticator.ask(Question(.passcode, reason: "read your mail"), until: .init()))
        }
        let shown = try terminal.expect("Passcode of the keychain: ")
        #expect(shown.contains(": read your mail\r\n"))
        #expect(!terminal.isEchoing)
        terminal.type("tigeré\u{7F}s\r")
        #expect(try answer.value() == .entered("tigers"))
        #expect(terminal.isEchoing)
        // The line ends, and no part of the answer was shown.
        #expect(try terminal.expect("\r\n") == "\r\n")
    }

    @Test func `after a wrong answer the prompt shows the error instead of the reason`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        let answer = Elsewhere {
            Said(
                authenticator.ask(
                    Question(.applicationPassword, reason: "why", problem: .wrong),
                    until: .init()))
        }
        #expect(
            try terminal.expect("Password of the item: ")
                == "The password is wrong.\r\nPassword of the item: ")
        terminal.type("x\r")
        #expect(try answer.value() == .entered("x"))
    }

    @Test func `arrow and function keys add nothing to the answer`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        let answer = Elsewhere { Said(authenticator.ask(Question(.passcode), until: .init())) }
        try terminal.expect("keychain: ")
        // The keys Up, Delete, Control-F5, F1, and F1 of the Linux console.
        terminal.type("t\u{1B}[Ai\u{1B}[3~g\u{1B}[15;5~e\u{1B}OPr\u{1B}[[As\r")
        #expect(try answer.value() == .entered("tigers"))
    }

    @Test func `what is typed after the Escape key is part of the answer`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        let answer = Elsewhere { Said(authenticator.ask(Question(.passcode), until: .init())) }
        try terminal.expect("keychain: ")
        terminal.type("a\u{1B}")
        try terminal.expect("\u{7}")
        terminal.type("[b\r")
        #expect(try answer.value() == .entered("a[b"))
    }

    @Test func `Control-D declines the prompt`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        let answer = Elsewhere { Said(authenticator.ask(Question(.passcode), until: .init())) }
        try terminal.expect("keychain: ")
        terminal.type("\u{4}")
        #expect(try answer.value() == .cancelled)
        #expect(terminal.isEchoing)
    }

    @Test func `Control-C ends the prompt and is reported as a signal`() throws {
        let terminal = try PseudoTerminal()
        let path = terminal.path
        let isSignalled = Elsewhere {
            guard let device = Terminal(path: path) else { return false }
            if case .signalled = device.readHiddenLine("? ") { return true }
            return false
        }
        try terminal.expect("? ")
        terminal.type("tig\u{3}")
        #expect(try isSignalled.value())
        #expect(terminal.isEchoing)
    }

    @Test func `a canceled prompt ends, and the terminal echoes again`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        let interruption = Interruption()
        let answer = Elsewhere {
            Said(authenticator.ask(Question(.passcode), until: interruption))
        }
        try terminal.expect("keychain: ")
        terminal.type("half")
        interruption.interrupt()
        #expect(try answer.value() == .interrupted)
        #expect(terminal.isEchoing)
    }

    @Test func `a prompt that waits for its turn can be canceled`() throws {
        let terminal = try PseudoTerminal()
        let authenticator = TerminalAuthenticator(path: terminal.path)
        let first = Elsewhere { Said(authenticator.ask(Question(.passcode), until: .init())) }
        try terminal.expect("keychain: ")
        let interruption = Interruption()
        let isStarted = DispatchSemaphore(value: 0)
        let second = Elsewhere {
            isStarted.signal()
            return Said(authenticator.ask(Question(.passcode), until: interruption))
        }
        try #require(isStarted.wait(timeout: .now() + 60) == .success)
        // This is normally enough time for the second prompt to begin waiting for its turn.
        usleep(50_000)
        interruption.interrupt()
        #expect(try second.value() == .interrupted)
        terminal.type("tigers\r")
        #expect(try first.value() == .entered("tigers"))
        // The second prompt was never shown.
        #expect(try terminal.expect("\r\n") == "\r\n")
    }

    @Test func `control characters in the reason become spaces, and a long reason is cut`() {
        let question = Question(.passcode, reason: "a\u{1B}]0;title\u{7}b\nc\u{9B}d\u{202E}e")
        #expect(question.introduction.hasSuffix(": a ]0;title b c d e"))
        let long = Question(.passcode, reason: String(repeating: "x", count: 10_000))
        #expect(long.introduction.count < 1000)
    }

    @Test func `without a terminal the user can't be prompted`() {
        let authenticator = TerminalAuthenticator(path: "/nonexistent/terminal")
        #expect(!authenticator.canAsk)
        #expect(Said(authenticator.ask(Question(.passcode), until: .init())) == .unavailable)
    }
}
