// SystemAuthenticator: whichever way there is to ask the person at this system, and the first of
// them, the terminal that the process belongs to.
//   (1) The way is looked for anew for each question: a process can lose its terminal.
//   (2) There is no biometric hardware that this package could use.
//   (3) The terminal is asked one question at a time, whichever threads ask. A question that waits
//       for its turn can be taken back too.

#if !canImport(Darwin)

import Foundation
import Glibc
package import KeychainCrypto
import Synchronization

package struct SystemAuthenticator: Authenticator {
    /// The prompter to use in place of terminal and search, a path or a name.
    package static let pinentryVariable = "KEYCHAIN_PINENTRY"

    private let environment: [String: String]
    private let terminal: TerminalAuthenticator

    package init(
        _ environment: [String: String] = ProcessEnvironment.variables,
        terminal: TerminalAuthenticator = TerminalAuthenticator()
    ) {
        self.environment = environment
        self.terminal = terminal
    }

    package var canAsk: Bool { authenticator != nil }

    package func ask(_ question: Question, until interruption: Interruption) -> Answer {
        authenticator?.ask(question, until: interruption) ?? .unavailable
    }

    /// A prompter that was named is used or nothing is: a user who names one doesn't want to be
    /// asked elsewhere. Then the terminal, then a prompter on the display.
    package var authenticator: (any Authenticator)? {
        if let named = environment[Self.pinentryVariable], !named.isEmpty {
            return pinentry(named)
        }
        if terminal.canAsk { return terminal }
        let displays = ["WAYLAND_DISPLAY", "DISPLAY"].compactMap { environment[$0] }
        return displays.contains { !$0.isEmpty } ? pinentry("pinentry") : nil
    }

    /// A prompter by its path, or by a name that is looked for on PATH. nil: it isn't there.
    private func pinentry(_ name: String) -> PinentryAuthenticator? {
        // A caller with fewer rights than the program doesn't choose what it runs.
        guard !ProcessEnvironment.hasRightsOfOthers else { return nil }
        let candidates =
            if name.contains("/") {
                [name]
            } else {
                (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
                    .filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
            }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
            .map { PinentryAuthenticator(program: $0, environment: environment) }
    }
}

// MARK: - The terminal

package struct TerminalAuthenticator: Authenticator {
    /// nil: the controlling terminal.
    private let path: String?

    /// - Parameter path: A terminal by name; nil: the one that the process belongs to.
    package init(path: String? = nil) {
        self.path = path
    }

    private static let oneAtATime = Mutex(())
    /// How often a question that waits looks whether it is its turn, in milliseconds.
    private static let turnInterval: Int32 = 50

    package var canAsk: Bool {
        guard let terminal = open() else { return false }
        return path != nil || terminal.isForeground
    }

    package func ask(_ question: Question, until interruption: Interruption) -> Answer {
        while true {
            let line = Self.oneAtATime.withLockIfAvailable { _ -> Terminal.HiddenLine? in
                if interruption.isInterrupted { return .interrupted }
                guard let terminal = open() else { return nil }
                if question.complaint.isEmpty {
                    terminal.show(question.introduction + "\n")
                } else {
                    terminal.show(question.complaint + "\n")
                }
                return terminal.readHiddenLine(question.label + ": ", until: interruption)
            }
            if let line { return answer(line) }
            // Another question is open. No descriptor: a wait for the interruption alone.
            if case .interrupted = Descriptor.wait(
                for: nil, until: interruption, milliseconds: Self.turnInterval)
            {
                return .interrupted
            }
        }
    }

    private func answer(_ line: Terminal.HiddenLine?) -> Answer {
        switch line {
        case .line(let bytes): return .entered(bytes)
        case .ended: return .cancelled
        case .signalled:
            // What Control-C does at any other time. A program that goes on took it for a
            // "no" to the question.
            raise(SIGINT)
            return .cancelled
        case .interrupted: return .interrupted
        case nil: return .unavailable
        }
    }

    private func open() -> Terminal? {
        if let path { Terminal(path: path) } else { Terminal() }
    }
}

#endif
