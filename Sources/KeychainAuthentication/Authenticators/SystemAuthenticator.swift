// SystemAuthenticator: whichever way there is to ask the person at this system.
//   (1) Looked at anew for each question: a process can lose its terminal.
//   (2) There is no biometric hardware that this package could use.

#if !canImport(Darwin)

import Foundation
import KeychainCrypto

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

#endif
