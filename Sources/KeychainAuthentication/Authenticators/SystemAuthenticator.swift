// SystemAuthenticator: asks the user at the terminal of the process or with a prompter.
// TerminalAuthenticator: asks at a terminal.
//   (1) The terminal or the prompter is chosen again for each prompt, because a process can lose
//       its terminal.
//   (2) This package supports no biometric hardware.
//   (3) The terminal shows one prompt at a time, even if several threads ask. A prompt that waits
//       for its turn can also be canceled.

#if !canImport(Darwin)

import Foundation
import Glibc
package import KeychainCrypto
import Synchronization

package struct SystemAuthenticator: Authenticator {
    /// The environment variable with the path or name of the prompter to use instead of the
    /// terminal or the default prompter.
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

    /// The authenticator to use. If the environment specifies a prompter, only that prompter is
    /// used, because the user does not want to be asked elsewhere. Otherwise, the terminal is used
    /// or, if the process has no terminal or is in the terminal's background, a prompter on the
    /// display. `nil` if none of these can be used.
    package var authenticator: (any Authenticator)? {
        if let named = environment[Self.pinentryVariable], !named.isEmpty {
            return pinentry(named)
        }
        if terminal.canAsk { return terminal }
        let displays = ["WAYLAND_DISPLAY", "DISPLAY"].compactMap { environment[$0] }
        return displays.contains { !$0.isEmpty } ? pinentry("pinentry") : nil
    }

    /// The prompter with the given path, or with the given name on PATH, whose relative entries are
    /// ignored. `nil` if it does not exist or can't be executed, or if this process has more rights
    /// than its caller.
    private func pinentry(_ name: String) -> PinentryAuthenticator? {
        // A program with elevated privileges must not execute a file that its less privileged
        // caller chooses.
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
    /// The path of the terminal, or `nil` for the controlling terminal.
    private let path: String?

    /// - Parameter path: The path of a terminal, or `nil` for the controlling terminal of the
    ///   process.
    package init(path: String? = nil) {
        self.path = path
    }

    private static let oneAtATime = Mutex(())
    /// The interval at which a waiting prompt checks whether it is its turn, in milliseconds.
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
            // Another prompt is open. Wait for an interruption, until it is time to try again.
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
            // Control-C must have its usual effect. If the program continues after the signal, the
            // prompt counts as canceled.
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
